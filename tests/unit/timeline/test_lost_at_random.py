"""The packets of a load that its links lost at random: by hand, and in the logs of two trials in virtual time."""

import json
import tarfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from longlook.core import Link, Run, Trial, codec
from longlook.timeline import random_losses
from longlook.timeline.normalise import normalise_trial
from longlook.timeline.normalise.link_log import read_link_log
from longlook.timeline.timeline import Timeline, table_of_rows
from tests.data import trials
from tests.data.link_rows import FLOW, MS, crossed, load_with

FIXTURES = Path(__file__).parents[2] / "fixtures" / "trials"
READ = {"present": True, "read": 1, "ignored": {}, "skipped": {}}
MISSING = {**READ, "present": False, "read": 0}


def packet(sequence: int, at_ms: float = 10, **fields: Any) -> dict[str, Any]:
    return {**crossed("down", at_ms, at_ms + 5), "sequence": sequence, "detail": None, **fields}


def lost(sequence: int, at_ms: float = 10, **fields: Any) -> dict[str, Any]:
    return packet(sequence, at_ms, **{"kind": "packet_dropped", "name": "loss", **fields})


def counted(*packets: dict[str, Any], sources: Any = None, **facts: Any) -> int | None:
    """The losses of a load from 0 to 1,000 ms."""
    metadata = {"sources": {"link.bin": READ} if sources is None else sources, **facts}
    return random_losses(load_with(*packets).with_metadata(metadata))


def test_packets_that_random_stages_dropped_count_in_both_directions() -> None:
    assert counted() == 0
    assert counted(packet(0), lost(1), lost(2, direction="up"), lost(3, name="gilbert_elliott")) == 3
    assert counted(lost(0, name="burst_loss"), lost(0, direction="up")) == 2


@pytest.mark.parametrize("reason", ["queue", "aqm", "loss_index", "loss_trace", "surgery", "mtu", "police"])
def test_what_a_queue_or_a_rule_of_the_path_dropped_does_not_count(reason: str) -> None:
    assert counted(lost(0, name=reason), lost(1)) == 1


def test_only_packets_that_arrived_during_the_load_count() -> None:
    assert counted(lost(0, -0.001), lost(1, 0), lost(2, 1000), lost(3, 1000.001)) == 2
    before = {**packet(4, -1, detail="a bit flipped"), "time_ns": 10 * MS}
    assert counted(before) == 0


def test_packets_of_priming_connections_and_of_cross_traffic_do_not_count() -> None:
    assert counted(lost(0, priming=True), lost(1)) == 1
    flows = [{"server_address": "10.0.0.2", "cross": False}, {"server_address": "10.0.0.3", "cross": True}]
    ours, others = "tcp 10.0.0.1:4000 10.0.0.2:443", "udp 10.0.0.1:4001 10.0.0.3:443"
    competition = {"flows": flows, "window_ns": [0, 20 * MS]}
    rows = [lost(0, flow=ours), lost(1, flow=others), lost(2, 30, flow=ours), lost(3, flow=None)]
    assert counted(*rows, competition=competition) == 2


def test_a_packet_with_a_flipped_bit_is_lost_to_its_receiver() -> None:
    assert counted(packet(0, detail="a bit flipped"), packet(1, detail="congestion experienced marked")) == 1
    assert counted(packet(0, detail="congestion experienced marked; a bit flipped")) == 1
    assert counted(lost(0, name="queue", detail="a bit flipped")) == 0


def test_a_packet_is_lost_once_and_only_if_no_copy_came_through_whole() -> None:
    assert counted(lost(0), packet(0, detail="copy 1")) == 0
    assert counted(lost(0), lost(0, detail="copy 1")) == 1
    assert counted(lost(0), packet(0, detail="a bit flipped; copy 1")) == 1
    assert counted(lost(0), packet(0, direction="up")) == 1
    assert counted(packet(0, detail="a bit flipped"), packet(1)) == 1


def test_the_losses_of_each_link_of_a_path_count() -> None:
    logs = {"link.bin": READ, "link-behind.bin": READ, "link-second.bin": READ}
    rows = [lost(0), packet(0, vantage="behind"), lost(1, vantage="behind"), lost(1, detail="over the second link")]
    assert counted(*rows, sources=logs) == 3


@pytest.mark.parametrize(
    "sources",
    [
        {},
        {"client.jsonl": READ},
        {"link.bin": MISSING},
        {"link.bin": READ, "link-behind.bin": MISSING},
        {"link.bin": {**READ, "read": 0, "skipped": {"unreadable: PacketLogError: cut off": 1}}},
    ],
)
def test_nothing_is_known_without_the_log_of_each_link(sources: dict[str, Any]) -> None:
    assert counted(lost(0), sources=sources) is None


def test_a_log_whose_last_record_is_cut_off_counts() -> None:
    assert counted(lost(0), sources={"link.bin": {**READ, "skipped": {"record cut off at the end": 1}}}) == 1


def test_a_load_that_never_ended_has_no_losses() -> None:
    begun = {"time_ns": 0, "kind": "request_sent", "vantage": "client", "flow": FLOW, "priming": False, "name": "/"}
    timeline = Timeline(table_of_rows([begun, lost(0)])).with_metadata({"sources": {"link.bin": READ}})
    assert random_losses(timeline) is None


def test_the_log_of_a_further_link_is_needed_where_the_trial_has_one(tmp_path: Path) -> None:
    trials.write_lines(tmp_path / "client.jsonl", [trials.connection(40000, 0, 9), trials.fetched("/", 0, 20, 90)])
    down = [trials.packet(50, 51), trials.packet(60, None, verdict=2, stage=0, sequence=1)]
    trials.write_link_log(tmp_path / "link.bin", trials.records(down))
    alone = trials.TRIAL
    assert random_losses(normalise_trial(tmp_path, alone, trials.RUN)) == 1
    routed = replace(alone, further={"behind": Link((), ())})
    assert random_losses(normalise_trial(tmp_path, routed, trials.RUN)) is None
    (tmp_path / "link.bin").write_bytes(b"LLLINK1\n")
    assert random_losses(normalise_trial(tmp_path, alone, trials.RUN)) is None


def unpacked(name: str, folder: Path) -> tuple[Trial, Run]:
    with tarfile.open(FIXTURES / f"{name}.tar.gz") as archive:
        archive.extractall(folder, filter="data")
    trial, run = (json.loads((folder / file).read_text()) for file in ("trial.json", "run.json"))
    return codec.decode(Trial, trial), codec.decode(Run, run)


def by_hand(folder: Path, primed: Sequence[int]) -> tuple[int, int, int]:
    """All random losses of the log, of priming connections' ports, and after the last object, from the raw files."""
    log = read_link_log(folder / "link.bin")
    dropped = log.records[log.records["verdict"] == log.header["verdicts"]["dropped_loss"]]
    lines = [json.loads(line) for line in (folder / "client.jsonl").read_text().splitlines()]
    end_unix_ns = max(line["t_end_ns"] for line in lines if line["event"] == "object")
    is_primed = np.isin(dropped["client_port"], primed)
    late = dropped["arrival_ns"].astype(np.int64) + log.unix_minus_monotonic_ns > end_unix_ns
    return len(dropped), int(is_primed.sum()), int((late & ~is_primed).sum())


@pytest.mark.parametrize(
    ("name", "primed", "expected"), [("0rtt-loss-8pct", [56153], (8, 3, 0)), ("tcp-loss-8pct", [], (6, 0, 2))]
)
def test_a_real_trial_counts_neither_its_priming_connection_nor_what_came_after_the_load(
    name: str, primed: list[int], expected: tuple[int, int, int], tmp_path: Path
) -> None:
    trial, run = unpacked(name, tmp_path)
    every, of_priming, after = by_hand(tmp_path, primed)
    assert (every, of_priming, after) == expected
    assert sum(counters["dropped_loss"] for counters in run.link.values()) == every
    assert random_losses(normalise_trial(tmp_path, trial, run)) == every - of_priming - after
    (tmp_path / "link.bin").unlink()
    assert random_losses(normalise_trial(tmp_path, trial, run)) is None
