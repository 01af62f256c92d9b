"""Multipath QUIC: packet numbers, acknowledgements, windows and round trips of each path, by every way to name one."""

from pathlib import Path
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from tests.data.decoded import acked, decode_bytes, document, event, packet, rows, sequence


def on(path: int, event: dict[str, Any]) -> dict[str, Any]:
    """The event of a packet whose header names its path, and whose pair of addresses has a name."""
    event["data"]["header"]["path_id"] = path
    return {**event, "tuple": f"pair {path}"}


def path_ack(path: int, *ranges: Any) -> dict[str, Any]:
    return {**acked(*ranges), "frame_type": "path_ack", "path_id": path}


def metrics(time: float, pair: int, rtt_ms: float, window: int) -> dict[str, Any]:
    update = {"smoothed_rtt": rtt_ms, "latest_rtt": rtt_ms, "congestion_window": window}
    return {**event(time, "quic:recovery_metrics_updated", **update), "tuple": f"pair {pair}"}


TWO_PATHS = [
    *(on(path, packet(number, "sent", number, length=1000 + path)) for number in range(3) for path in (0, 7)),
    on(0, packet(30, "received", 0, path_ack(0, [0, 2]), path_ack(7, [0, 1]))),
    metrics(30.1, 0, 27.5, 12_000),
    metrics(30.2, 7, 80.5, 24_000),
    metrics(50, 0, 27.5, 13_000),
    on(7, event(60, "quic:packet_lost", header={"packet_type": "1RTT", "packet_number": 2}, trigger="time_threshold")),
]


def test_each_path_has_packet_numbers_of_its_own(tmp_path: Path) -> None:
    table, account = decode_bytes(tmp_path, sequence(*TWO_PATHS))
    assert rows(table, "packet_acked", "path", "packet_number", "size_bytes", "acked_bytes") == [
        (0, 0, 1000, 1000),
        (0, 1, 1000, 2000),
        (0, 2, 1000, 3000),
        (7, 0, 1007, 4007),
        (7, 1, 1007, 5014),
    ]
    assert rows(table, "packet_lost", "path", "packet_number", "size_bytes") == [(7, 2, 1007)]
    assert account["connections"][0]["paths"] == [0, 7]
    assert (account["read"], account["warnings"], account.get("implausible")) == (len(TWO_PATHS), [], None)


def test_each_path_has_numbers_of_its_own_sender(tmp_path: Path) -> None:
    table, _ = decode_bytes(tmp_path, sequence(*TWO_PATHS))
    assert rows(table, "metrics", "path", "srtt_ns", "cwnd_bytes") == [
        (0, 27_500_000, 12_000),
        (7, 80_500_000, 24_000),
        (0, 27_500_000, 13_000),
    ]


def test_the_path_may_be_a_place_of_the_event(tmp_path: Path) -> None:
    def row(time: int, path: int, category: str, name: str, data: Any) -> list[Any]:
        return [time, path, category, name, data]

    def sent(time: int, path: int, size: int) -> list[Any]:
        data = {"packet_type": "1RTT", "header": {"packet_number": 0, "packet_size": size}, "frames": []}
        return row(time, path, "transport", "packet_sent", data)

    answer = {"packet_type": "1RTT", "header": {"packet_number": 0}, "frames": [path_ack(1, [0]), path_ack(0, [0])]}
    trace = {
        "vantage_point": {"type": "server"},
        "configuration": {"time_units": "us"},
        "event_fields": ["relative_time", "path_id", "category", "event", "data"],
        "events": [sent(0, 0, 1300), sent(9, 1, 1200), row(25_000, 0, "transport", "packet_received", answer)],
    }
    table, _ = decode_bytes(tmp_path, document(trace, qlog_version="draft-00"))
    assert rows(table, "packet_acked", "path", "size_bytes") == [(1, 1200), (0, 1300)]


def test_a_migrated_connection_keeps_its_packet_numbers(tmp_path: Path) -> None:
    events = [on(number // 3, packet(number, "sent", number)) for number in range(6)]
    table, account = decode_bytes(tmp_path, sequence(*events, packet(20, "received", 0, acked([0, 5]))))
    assert rows(table, "packet_acked", "packet_number") == [0, 1, 2, 3, 4, 5]
    assert "implausible" not in account


def test_a_trace_that_names_no_path_has_none(tmp_path: Path) -> None:
    pair = {**packet(0, "sent", 0), "tuple": "pair 0"}
    table, account = decode_bytes(tmp_path, sequence(pair, packet(9, "received", 0, acked([0]))))
    assert rows(table, "packet_acked", "path") == [None]
    assert "paths" not in account["connections"][0]


def test_numbers_of_paths_that_no_event_names_are_a_contradiction(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    mixed = [packet(number, "sent", number // 2) for number in range(20)]
    _, account = decode_bytes(tmp_path, sequence(*mixed))
    (found,) = account["implausible"]
    assert found["check"] == "sent_twice"
    assert found["problem"] == snapshot


@pytest.mark.parametrize("paths", [4097, 5000])
def test_too_many_paths_are_skipped_and_counted(tmp_path: Path, paths: int) -> None:
    events = [on(path, packet(path, "sent", 0)) for path in range(1, paths + 1)]
    _, account = decode_bytes(tmp_path, sequence(*events))
    assert account["skipped"] == {"too many paths in one file": paths - 4096}
    assert account["read"] == 4096
