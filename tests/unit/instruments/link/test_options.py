"""`longlook link` without a link: options as a Link, the summary, lateness from a log, addresses, names."""

import json
import struct
from ipaddress import IPv4Network
from pathlib import Path
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion
from typer.testing import CliRunner

from longlook.cli import app
from longlook.core.errors import InputError, MachineError
from longlook.core.model import Stage
from longlook.instruments.link.command import _split, _with_json_file
from longlook.instruments.link.lateness import LatenessCounter
from longlook.instruments.link.options import Emulation, emulation, given_options
from longlook.instruments.link.run import working_configuration
from longlook.instruments.link.show import dropped_by, summarise, summary_lines
from longlook.outside import ends_of, free_subnet


def made(
    up: list[str] | None = None, down: list[str] | None = None, more: list[str] | None = None, **named: str
) -> Emulation:
    trace = named.pop("trace", None)
    return emulation(given_options(named, trace=trace, up=up or [], down=down or [], more=more or []))


def stage(stages: tuple[Stage, ...], kind: str) -> dict[str, Any]:
    (found,) = [stage for stage in stages if stage.kind == kind]
    return dict(found.parameters)


def test_options_become_stages_of_both_directions() -> None:
    link = made(rate="5mbit", rtt="36ms", queue="30KB", loss="1%").link
    for stages in (link.up, link.down):
        assert stage(stages, "rate")["rate_bps"] == 5_000_000
        assert stage(stages, "rate")["queue_bytes"] == 30_000
        assert stage(stages, "delay")["delay_ns"] == 18_000_000
        assert stage(stages, "loss")["probability"] == 0.01


def test_without_options_packets_pass_at_once(snapshot: SnapshotAssertion) -> None:
    quiet = made()
    assert "rate" not in {found.kind for found in (*quiet.link.up, *quiet.link.down)}
    assert stage(quiet.link.up, "delay")["delay_ns"] == 0
    assert quiet.shown == snapshot


def test_a_rate_alone_has_a_queue_of_a_hundred_packets() -> None:
    assert stage(made(rate="5mbit").link.up, "rate")["queue_bytes"] == 150_000


def test_directions_may_differ() -> None:
    link = made(rtt="20ms", up=["rate=1mbit"], down=["rate=20mbit", "loss=2%"]).link
    assert stage(link.up, "rate")["rate_bps"] == 1_000_000
    assert stage(link.down, "rate")["rate_bps"] == 20_000_000
    assert "loss" not in {found.kind for found in link.up}


def test_one_direction_may_be_unlimited() -> None:
    link = made(down=["rate=1mbit", "queue=30KB"]).link
    assert "rate" not in {found.kind for found in link.up}
    assert stage(link.down, "rate")["queue_bytes"] == 30_000


def test_a_packets_time_at_a_rate_that_one_direction_has() -> None:
    link = made(down=["rate=1mbit", "queue=30KB"], more=["access_delay=packet"]).link
    assert stage(link.down, "access")["max_ns"] == 12_000_000
    assert "access" not in {found.kind for found in link.up}


def test_settings_of_truth_and_of_one_direction_are_read() -> None:
    link = made(rtt="20ms", jitter="5ms", more=["jitter_reorders=true", "up.loss=3%"]).link
    assert stage(link.down, "jitter")["reorder"] is True
    assert stage(link.up, "loss")["probability"] == 0.03


def test_surgery_is_of_one_direction(snapshot: SnapshotAssertion) -> None:
    found = made(**{"surgery.down": "drop 30 - 32;forgive 12"}, more=["surgery.up=hold 4 1ms"])
    assert stage(found.link.down, "surgery") == {"forgive": ((12, 12),), "drop": ((30, 32),)}
    assert stage(found.link.up, "surgery") == {"hold": ((4, 4, 1_000_000),)}
    assert found.shown == snapshot


def test_a_preset_gives_the_missing_settings() -> None:
    link = made(preset="wolsing2019-dsl", loss="1%").link
    assert stage(link.down, "rate")["rate_bps"] == 25_000_000
    assert stage(link.up, "loss")["probability"] == 0.01


def test_a_trace_is_the_rate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LONGLOOK_CACHE", str(tmp_path / "cache"))
    trace = tmp_path / "cell.trace"
    trace.write_text("1\n2\n4\n")
    made_of_it = made(rtt="20ms", queue="30KB", trace=str(trace))
    assert stage(made_of_it.link.up, "rate")["rate_bps"]
    assert f"rate trace({trace})" in made_of_it.shown


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"rate": "fast"}, "--rate fast: not a rate"),
        ({"rate": "0mbit"}, "--rate 0mbit: "),
        ({"queue": "30KB"}, "--queue needs a rate"),
        ({"more": ["aqm=codel"]}, "--set aqm needs a rate"),
        ({"more": ["access_delay=packet"]}, "--set access_delay packet needs a rate"),
        ({"rate": "steps(0s 5mbit, 1s 1mbit"}, "--rate steps(0s 5mbit, 1s 1mbit: steps(… is not closed"),
        ({"jitter": "5ms"}, "--jitter: "),
        ({"preset": "langley2017-usa"}, "--rate: missing (preset langley2017-usa gives none"),
        ({"up": ["rate"]}, "--up rate: not KEY=VALUE"),
        ({"up": ["rtt=1ms"]}, "--up rtt: unknown; allowed: rate, "),
        ({"more": ["jiter=1ms"]}, "did you mean 'jitter'?"),
        ({"rate": "1mbit", "more": ["rate=2mbit"]}, "--set rate sets network.rate again, after --rate"),
        ({"rate": "1mbit", "queue": "100B"}, "--queue: smaller than one packet"),
        ({"surgery.down": "forgve 3"}, "--surgery-down forgve 3: 'forgve' is no operation on packets"),
        ({"surgery.up": "drop 1", "more": ["surgery.up=off"]}, "--set surgery.up sets network.surgery.up again, after"),
        ({"trace": "/nonexistent"}, "--trace (/nonexistent): /nonexistent: cannot be read"),
    ],
)
def test_bad_input_names_its_option(arguments: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError) as raised:
        made(**arguments)
    assert words in raised.value.message


def test_a_command_is_distinguished_from_options_and_subcommands() -> None:
    assert _split(["--rate", "1mbit", "--", "a", "--", "b"]) == (["--rate", "1mbit"], ["a", "--", "b"])
    assert _split(["describe"]) == (["describe"], None)
    assert _with_json_file(["--json", "--", "x", "--json"]) == ["--json=-", "--", "x", "--json"]
    assert _with_json_file(["--json", "file", "--", "x"]) == ["--json", "file", "--", "x"]
    assert _with_json_file(["--rate", "1mbit", "--json"]) == ["--rate", "1mbit", "--json=-"]
    assert _with_json_file(["presets", "--json"]) == ["presets", "--json"]


def test_help_shows_options_and_subcommands() -> None:
    shown = CliRunner().invoke(app, ["link", "--help"], env={"COLUMNS": "200"}).output
    for word in ("--rate", "--up", "--isolated", "describe", "presets", "export", "[-- COMMAND [ARGS]...]", "Examples"):
        assert word in shown


def log_of(records: list[tuple[int, int]]) -> bytes:
    """A packet log with due and departure times alone, each record with 16 bytes that nobody asks for."""
    fields = [
        {"name": name, "type": "<u8", "offset": offset, "unit": "ns"}
        for name, offset in (("due_ns", 16), ("departure_ns", 24))
    ]
    header = json.dumps({"version": 9, "record_bytes": 32, "fields": fields}).encode()
    body = b"".join(struct.pack("<16xQQ", due, departure) for due, departure in records)
    return b"LLLINK9\n" + struct.pack("<I", len(header)) + header + body


@pytest.mark.parametrize("piece_bytes", [1, 7, 100, 1 << 20])
def test_lateness_does_not_depend_on_the_pieces(piece_bytes: int) -> None:
    log = log_of([(1000, 1000 + late) for late in range(1, 101)] + [(0, 0), (5000, 0)])
    counter = LatenessCounter()
    for start in range(0, len(log), piece_bytes):
        counter.add(log[start : start + piece_bytes])
    found = counter.result()
    assert found is not None
    assert (found.packets, found.max_ns) == (100, 100)
    assert found.p50_ns == pytest.approx(50, rel=0.023)
    assert found.p99_ns == pytest.approx(99, rel=0.023)


def test_without_packets_or_with_a_foreign_file_there_is_no_lateness() -> None:
    for data in (b"", log_of([(0, 0)])[:20], b"no log at all, but long enough", log_of([])):
        counter = LatenessCounter()
        counter.add(data)
        assert counter.result() is None


def test_latenesses_of_zero_are_zero() -> None:
    counter = LatenessCounter()
    counter.add(log_of([(10, 10)] * 5))
    found = counter.result()
    assert found is not None
    assert (found.p50_ns, found.p99_ns, found.max_ns) == (0.0, 0.0, 0)


UP = {"arrived": 10, "delivered": 8, "delivered_bytes": 8_000, "dropped_loss": 2, "dropped_queue": 0, "queued": 0}
DOWN = {**UP, "arrived": 2_000, "delivered": 1_998, "dropped_loss": 0, "dropped_new_law": 2, "max_queue_bytes": 30_000}
ROUTER: dict[str, Any] = {"up": UP, "down": DOWN, "guard": {"fifo": 1, "max_gap_ns": 200_000}}


def test_the_summary_counts_whatever_reasons_there_are(snapshot: SnapshotAssertion) -> None:
    summary = summarise(ROUTER, None, 2.0, 3)
    assert summary["up"]["mean_rate_bps"] == 32_000
    assert dropped_by(summary["down"]) == {"new_law": 2}
    lines = summary_lines(summary)
    assert lines[0] == snapshot
    assert lines[1] == snapshot
    assert lines[2] == snapshot
    assert lines[3].endswith("longest gap 0.20 ms, real-time priority")
    assert len(lines) == 4


def test_the_summary_tells_how_much_of_surgery_was_done(snapshot: SnapshotAssertion) -> None:
    counters = {"surgery_named": 4, "surgery_forgiven": 1, "dropped_surgery": 2, "surgery_held": 0}
    lines = summary_lines(summarise({**ROUTER, "up": {**UP, **counters}}, None, 2.0, 0))
    assert lines[1] == snapshot
    assert "surgery" not in lines[2]


@pytest.mark.parametrize(
    ("router", "words"),
    [
        ({**ROUTER, "guard": {"fifo": 0}}, "no real-time priority"),
        ({**ROUTER, "guard": {"fifo": 1, "max_gap_ns": 20_000_000}}, "stood still for 20.0 ms"),
        ({**ROUTER, "guard": {"fifo": 1, "ring_drops": 3}}, "3 packets never reached the link"),
        ({**ROUTER, "down": {**DOWN, "late_over_1ms": 50}}, "50 of 2,006 packets left more than 1 ms late"),
        ({**ROUTER, "down": {**DOWN, "dropped_oversize": 1}}, "1 packet too large"),
        ({}, "without its counters"),
    ],
)
def test_the_summary_says_what_to_doubt(router: dict[str, Any], words: str) -> None:
    (doubt,) = summarise(router, None, 1.0, 0)["doubts"]
    assert words in doubt


def test_addresses_are_free_ones() -> None:
    def free(*taken: str) -> str:
        return str(free_subnet([IPv4Network(text) for text in taken]))

    assert free() == "100.64.0.0/30"
    assert free("100.64.0.0/30", "100.64.0.5/32") == "100.64.0.8/30"
    assert free("100.64.0.0/16") == "100.65.0.0/30"
    assert free("100.64.0.0/10", "10.0.0.0/8") == "198.18.0.0/30"
    assert [str(end) for end in ends_of(IPv4Network("100.64.0.4/30"))] == ["100.64.0.5", "100.64.0.6"]
    with pytest.raises(MachineError, match="is routed here already"):
        free("0.0.0.0/1", "128.0.0.0/1")


def test_names_need_a_server_that_is_not_on_loopback(tmp_path: Path) -> None:
    own, upstream = tmp_path / "resolv.conf", tmp_path / "upstream"
    own.write_text("nameserver 10.0.0.1\nnameserver 127.0.0.1\n")
    assert working_configuration(own, upstream) == (None, "")
    own.write_text("# stub\nnameserver 127.0.0.53\n")
    assert "only loopback servers" in working_configuration(own, upstream)[1]
    upstream.write_text("nameserver 10.0.0.1\n")
    assert working_configuration(own, upstream) == (upstream, "")
