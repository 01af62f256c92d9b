"""Packets of a link add up exactly, or what does not is reported."""

from pathlib import Path
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from longlook.timeline.normalise.link_log import PacketLog, conservation, read_link_log
from tests.data import trials

NONE = {"arrived": 0, "copied": 0, "delivered": 0, "queued": 0, "dropped_loss": 0, "dropped_queue": 0}
NOTHING = {**NONE, "arrived_bytes": 0, "delivered_bytes": 0}
PACKETS = [
    trials.packet_2(1, 2, sequence=0, flow=0),
    trials.packet_2(1, 3, sequence=0, copy=1, flow=0),
    trials.packet_2(2, None, sequence=1, verdict=2, flow=0),
    trials.packet_2(3, None, sequence=2, verdict=1, flow=0),
    trials.packet_2(3, None, sequence=2, verdict=1, flow=0),
]
DOWN = {
    **NONE,
    "arrived": 3,
    "copied": 2,
    "delivered": 2,
    "queued": 2,
    "dropped_loss": 1,
    "arrived_bytes": 3750,
    "delivered_bytes": 2500,
}


def log_of(folder: Path, packets: list[dict[str, Any]]) -> PacketLog:
    trials.write_link_log(folder / "link.bin", trials.records(packets, trials.RECORD_2))
    return read_link_log(folder / "link.bin")


def test_what_adds_up(tmp_path: Path) -> None:
    log = log_of(tmp_path, PACKETS)
    assert conservation(log, {"up": NOTHING, "down": DOWN}) == []
    assert conservation(log) == []


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"delivered": 1}, ["delivered is 1 in the summary and 2 in the log", "arrived + copied is 5"]),
        ({"delivered_bytes": 2501}, ["delivered_bytes is 2501 in the summary and 2500 in the log"]),
        ({"dropped_loss": 0, "dropped_queue": 1}, ["dropped_loss is 0", "dropped_queue is 1"]),
        ({"arrived": 4, "copied": 1}, ["arrived is 4", "copied is 1"]),
        ({"dropped_overflow": 1}, ["arrived + copied is 5, delivered + dropped + queued is 6"]),
    ],
)
def test_a_summary_that_says_something_else(tmp_path: Path, changes: dict[str, int], expected: list[str]) -> None:
    found = conservation(log_of(tmp_path, PACKETS), {"up": NOTHING, "down": {**DOWN, **changes}})
    assert len(found) == len(expected)
    for text in expected:
        assert any(text in sentence for sentence in found), text
    assert all(sentence.startswith("down: ") for sentence in found)


@pytest.mark.parametrize(
    ("number", "fields", "expected"),
    [
        (0, {"sequence": 7}, "are numbered from 0 to 7"),
        (2, {"sequence": 0, "verdict": 0, "copy": 1}, "1 fates came twice"),
        (2, {"verdict": 9}, "a verdict that the header does not name"),
        (0, {"departure_ns": 1}, "departure before the due time"),
        (0, {"due_ns": 1}, "due before the arrival"),
        (2, {"departure_ns": 1}, "a departure without being delivered"),
        (0, {"direction": 2}, "1 records have no direction"),
        (0, {"ip_version": 0}, "a flow without an address"),
    ],
)
def test_a_log_that_contradicts_itself(tmp_path: Path, number: int, fields: dict[str, int], expected: str) -> None:
    packets = [{**each, **fields} if place == number else each for place, each in enumerate(PACKETS)]
    assert any(expected in sentence for sentence in conservation(log_of(tmp_path, packets)))


def test_a_log_that_was_cut_off(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    log_of(tmp_path, PACKETS)
    path = tmp_path / "link.bin"
    path.write_bytes(path.read_bytes()[:-100])
    found = conservation(read_link_log(path), {"up": NOTHING, "down": DOWN})
    assert found[0] == snapshot
    assert found == snapshot


def test_logs_of_version_1(tmp_path: Path) -> None:
    trials.write_link_log(tmp_path / "link.bin", trials.records([trials.packet(1, 2, sequence=0)]))
    old = {name: count for name, count in NOTHING.items() if name != "copied"}
    down = {**old, "arrived": 1, "delivered": 1, "arrived_bytes": 1250, "delivered_bytes": 1250}
    assert conservation(read_link_log(tmp_path / "link.bin"), {"up": old, "down": down}) == []
