"""Where two trials part: the first packet, and where logs are the same the first file; whole runs trial by trial."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from syrupy.assertion import SnapshotAssertion

from longlook.cli.show.diff import difference_lines, summary
from longlook.core import codec
from longlook.core.errors import InputError
from longlook.run.diff import TrialDifference, compare, compare_trials
from tests.data.trials import (
    MS,
    T0,
    TRIAL,
    connection,
    fetched,
    packet,
    records,
    run,
    server_connection,
    write_lines,
    write_link_log,
)

Packets = Sequence[Mapping[str, int]]
PACKETS: Packets = [packet(10.0 + number, 30.0 + number, sequence=number) for number in range(12)]


def leave(folder: Path, packets: Packets = PACKETS, name: str = TRIAL.id, **changes: Any) -> Path:
    """A finished trial's folder."""
    folder.mkdir(parents=True)
    write_link_log(folder / "link.bin", records(packets))
    write_lines(folder / "client.jsonl", [connection(40000, 0, 20), fetched("/a", 9, 35, 41, local="10.8.0.1:40000")])
    write_lines(folder / "server.jsonl", [server_connection(40000, 12)])
    trial = replace(TRIAL, id=name)
    (folder / "trial.json").write_text(json.dumps(codec.encode(trial)))
    (folder / "run.json").write_text(json.dumps(codec.encode(run(trial_id=name, **changes))))
    return folder


def changed(number: int, **fields: int) -> Packets:
    return [{**each, **fields} if place == number else each for place, each in enumerate(PACKETS)]


def diff(tmp_path: Path, packets: Packets, context: int = 2, **changes: Any) -> TrialDifference:
    return compare_trials(leave(tmp_path / "a"), leave(tmp_path / "b", packets, **changes), context)


def shown(left: Path, right: Path, columns: int = 200) -> str:
    out = Console(file=StringIO(), width=columns)
    for part in difference_lines(compare(left, right, 2), left, right, columns):
        out.print(part)
    assert isinstance(out.file, StringIO)
    return out.file.getvalue()


def test_the_same_trial_is_identical(tmp_path: Path) -> None:
    found = diff(tmp_path, PACKETS)
    assert found.identical
    assert shown(tmp_path / "a", tmp_path / "b") == "identical\n"


@pytest.mark.parametrize(
    ("fields", "columns", "text"),
    [
        ({"size_bytes": 1200}, ("size_bytes",), "packet 5 (down, 15.000000 ms) differs in size"),
        ({"verdict": 2, "departure_ns": 0, "due_ns": 0}, ("due_ns", "departure_ns", "verdict"), "departure, fate"),
        ({"direction": 0}, ("direction",), "differs in way"),
        ({"client_port": 40001}, ("client_port",), "differs in port"),
        ({"transport_sequence": 9}, ("transport_sequence",), "differs in TCP sequence"),
    ],
)
def test_the_first_packet_that_differs(
    tmp_path: Path, fields: dict[str, int], columns: tuple[str, ...], text: str
) -> None:
    found = diff(tmp_path, changed(5, **fields))
    assert found.first is not None
    assert found.first.index == 5
    assert found.first.pair.columns == columns
    assert [pair.index for pair in found.first.around] == [3, 4, 5, 6, 7]
    assert text in summary(found)
    assert found.files == ("link.bin",)


def test_order_is_that_of_arrival_not_of_the_file(tmp_path: Path) -> None:
    # A packet that left later stands later in the log, but its change came first.
    late = packet(8.0, 90.0, sequence=99)
    found = diff(tmp_path, [*PACKETS, late])
    assert found.first is not None
    assert found.first.index == 0
    assert found.first.time_ns == 8 * MS
    assert found.packets == (12, 13)


def test_a_log_that_ends_earlier(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    found = diff(tmp_path, PACKETS[:9], context=1)
    assert found.first is not None
    assert found.first.index == 9
    assert (found.first.pair.left is not None, found.first.pair.right) == (True, None)
    assert [pair.index for pair in found.first.around] == [8, 9, 10]
    assert summary(found) == snapshot


def test_another_port_is_not_another_behaviour(tmp_path: Path) -> None:
    packets = [{**each, "client_port": 41000} for each in changed(7, size_bytes=900)]
    found = diff(tmp_path, packets)
    assert found.first is not None
    assert found.behaviour is not None
    assert (found.first.index, found.behaviour.index) == (0, 7)
    only_ports = compare_trials(
        tmp_path / "a", leave(tmp_path / "c", [{**p, "client_port": 41000} for p in PACKETS]), 2
    )
    assert only_ports.behaviour is None


def test_times_count_from_each_trials_own_start(tmp_path: Path) -> None:
    later = [
        {**each, **{key: each[key] + 7 * MS for key in ("arrival_ns", "due_ns", "departure_ns")}} for each in PACKETS
    ]
    found = diff(tmp_path, later, started_unix_ns=T0 + 7 * MS)
    assert found.first is None
    assert found.files == ("link.bin", "run.json")
    assert "link.bin differs" in summary(found)


def test_what_both_ends_reported_then(tmp_path: Path) -> None:
    found = diff(tmp_path, changed(5, size_bytes=900))  # at 15 ms
    reported = [(event.time_ns / MS, event.vantage, event.text) for event in found.left_events]
    assert reported == [
        (9, "client", "object start /a"),
        (12, "server", "connection handshake 10.8.0.1:40000"),
        (20, "client", "connection handshake 10.8.0.1:40000"),
        (35, "client", "object first byte /a"),
    ]
    assert found.right_events == found.left_events


@pytest.mark.parametrize("columns", [200, 80])
def test_the_page_for_people(tmp_path: Path, columns: int) -> None:
    diff(tmp_path, changed(5, size_bytes=900))
    text = shown(tmp_path / "a", tmp_path / "b", columns)
    assert "the first of 12 packets that differs: packet 5" in text.replace("\n", " ")
    assert "900" in text
    assert "what client and server reported around 15.000000 ms" in text
    assert "quic round 4 (rate=10)" in text


def test_a_text_file_by_its_line(tmp_path: Path) -> None:
    left, right = leave(tmp_path / "a"), leave(tmp_path / "b")
    lines = (right / "client.jsonl").read_text().splitlines(keepends=True)
    (right / "client.jsonl").write_text(lines[0] + lines[1].replace('"status": 200', '"status": 404'))
    found = compare_trials(left, right, 2)
    assert found.first is None
    assert found.first_file is not None
    assert (found.first_file.name, found.first_file.line) == ("client.jsonl", 2)
    assert '"status": 404' in (found.first_file.right or "")
    assert "client.jsonl differs at line 2" in shown(left, right)


def test_a_line_more(tmp_path: Path) -> None:
    left, right = leave(tmp_path / "a"), leave(tmp_path / "b")
    with (right / "server.jsonl").open("a") as file:
        file.write('{"event": "bye"}\n')
    found = compare_trials(left, right, 2).first_file
    assert found is not None
    assert (found.name, found.line, found.left, found.right) == ("server.jsonl", 2, None, '{"event": "bye"}')
    assert "(no such line)" in shown(left, right)


def test_the_middle_of_a_long_line_is_shown(tmp_path: Path) -> None:
    left, right = leave(tmp_path / "a"), leave(tmp_path / "b")
    for folder, letter in ((left, "x"), (right, "y")):
        (folder / "client.stderr").write_text("a" * 5000 + letter + "b" * 5000 + "\n")
    found = compare_trials(left, right, 2).first_file
    assert found is not None
    assert (found.left or "").startswith("…")
    assert "y" in (found.right or "")
    assert len(found.right or "") < 400


def test_a_binary_file_by_its_byte(tmp_path: Path) -> None:
    left, right = leave(tmp_path / "a"), leave(tmp_path / "b")
    for folder, byte in ((left, b"\1"), (right, b"\2")):
        (folder / "extra.bin").write_bytes(b"\0" * 7 + byte)
    found = compare_trials(left, right, 2).first_file
    assert found is not None
    assert (found.name, found.byte, found.line) == ("extra.bin", 7, None)


def test_a_file_that_only_one_has(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    left, right = leave(tmp_path / "a"), leave(tmp_path / "b")
    (left / "keys.log").write_text("secret")
    assert summary(compare_trials(left, right, 2)) == snapshot


def test_what_is_derived_does_not_count(tmp_path: Path) -> None:
    left, right = leave(tmp_path / "a"), leave(tmp_path / "b")
    (left / "timeline.parquet").write_text("made from the rest")
    assert compare_trials(left, right, 2).identical


def test_a_damaged_log_is_reported_as_one(tmp_path: Path) -> None:
    left, right = leave(tmp_path / "a"), leave(tmp_path / "b")
    (right / "link.bin").write_bytes(b"nonsense")
    found = compare_trials(left, right, 2)
    assert "not a packet log" in (found.damage or "")
    assert found.files == ("link.bin",)
    assert "cannot be compared" in shown(left, right)


def test_a_log_without_packets(tmp_path: Path) -> None:
    found = diff(tmp_path, [])
    assert found.first is not None
    assert found.first.index == 0


def test_runs_are_compared_trial_by_trial(tmp_path: Path) -> None:
    for name, packets in (("a", PACKETS), ("b", changed(5, size_bytes=900))):
        leave(tmp_path / name / "trials" / "1", name="1")
        leave(tmp_path / name / "trials" / "2", packets, name="2")
        leave(tmp_path / name / "trials" / f"3{name}", name=f"3{name}")
        (tmp_path / name / "manifest.json").write_text("{}")
    found = compare(tmp_path / "a", tmp_path / "b", 2)
    assert [(trial.trial_id, trial.identical) for trial in found.trials] == [("1", True), ("2", False)]
    assert (found.only_left, found.only_right) == (1, 1)
    text = shown(tmp_path / "a", tmp_path / "b")
    assert "1 of 2 trials differ" in text
    assert "not compared: 1 trials only in" in text
    assert compare(tmp_path / "a", tmp_path / "a", 2).differing == []


def test_what_cannot_be_compared_is_refused(tmp_path: Path) -> None:
    trial = leave(tmp_path / "trial")
    for name in ("first", "second"):
        leave(tmp_path / name / "trials" / name, name=name)
        (tmp_path / name / "manifest.json").write_text("{}")
    with pytest.raises(InputError, match="neither a trial's folder"):
        compare(trial, tmp_path, 2)
    with pytest.raises(InputError, match=r"a trial folder, .* a run folder"):
        compare(trial, tmp_path / "first", 2)
    with pytest.raises(InputError, match="no finished trial in common"):
        compare(tmp_path / "first", tmp_path / "second", 2)
    (trial / "run.json").write_text("{")
    with pytest.raises(InputError, match=r"run\.json"):
        compare(trial, trial, 2)
