"""Nothing of a file is lost without a word: joined files, packets of unknown type, frames and counts of old stacks."""

import json
from pathlib import Path
from typing import Any

import pytest

from longlook.timeline.decode import decode_trace
from tests.data.decoded import (
    FIXTURES,
    NETLOGS,
    QLOGS,
    acked,
    decode_bytes,
    document,
    event,
    lines,
    packet,
    rows,
    sequence,
    unpacked,
)


def trace(*events: Any, **members: Any) -> dict[str, Any]:
    return {"vantage_point": {"type": "server"}, **members, "events": list(events)}


FIRST = trace(packet(1, "sent", 0), packet(9, "received", 0, acked([0])), common_fields={"ODCID": "aa01"})
SECOND = trace(packet(2, "sent", 0), title="behind", vantage_point={"type": "client"}, common_fields={"ODCID": "bb02"})


def joined_header(odcid: str, vantage: str) -> dict[str, Any]:
    point = {"vantage_point": {"type": vantage}, "common_fields": {"ODCID": odcid}}
    return {"qlog_version": "0.3", "qlog_format": "NDJSON", "trace": point}


@pytest.mark.parametrize("between", [b"", b"\n", b" \r\n\n"])
def test_documents_behind_each_other_are_all_read(tmp_path: Path, between: bytes) -> None:
    content = document(FIRST) + between + document(SECOND, qlog_version="draft-02")
    table, account = decode_bytes(tmp_path, content)
    assert rows(table, "packet_sent", "time_ns", "connection", "vantage") == [
        (1_000_000, 0, "server"),
        (2_000_000, 1, "client"),
    ]
    assert [entry["connection_id"] for entry in account["connections"]] == ["aa01", "bb02"]
    assert (account["read"], account["truncated"], account["bytes"]) == (3, False, len(content))


@pytest.mark.parametrize("container", [sequence, lines])
def test_sequences_behind_each_other_are_all_read(tmp_path: Path, container: Any) -> None:
    parts = [
        container(
            packet(time, "sent", 0), packet(time + 1, "received", 0, acked([0])), header=joined_header(odcid, end)
        )
        for time, odcid, end in ((1, "aa01", "server"), (5, "bb02", "client"))
    ]
    table, account = decode_bytes(tmp_path, b"".join(parts))
    assert rows(table, "packet_acked", "connection", "vantage") == [(0, "server"), (1, "client")]
    assert [entry["connection_id"] for entry in account["connections"]] == ["aa01", "bb02"]
    assert (account["read"], account["skipped"]) == (4, {})


def test_a_document_with_a_sequence_behind_it_is_read_whole(tmp_path: Path) -> None:
    table, account = decode_bytes(tmp_path, document(FIRST) + b"\n" + lines(packet(7, "sent", 0)))
    assert rows(table, "packet_sent", "time_ns", "connection") == [(1_000_000, 0), (7_000_000, 1)]
    assert (account["read"], account["skipped"]) == (3, {})


@pytest.mark.parametrize(("rest", "reason"), [(b"end of file", "behind the document"), (b"[1]", "behind the document")])
def test_what_follows_a_document_and_is_none_is_said(tmp_path: Path, rest: bytes, reason: str) -> None:
    whole = document(FIRST)
    _, account = decode_bytes(tmp_path, whole + b"\n" + rest)
    assert (account["skipped"], account["truncated"], account["bytes"]) == ({reason: 1}, True, len(whole) + 1)
    assert account["warnings"] == [{"line": 2, "offset": len(whole) + 1, "problem": f"skipped: {reason}"}]


def test_an_object_behind_a_document_that_is_no_qlog_is_skipped(tmp_path: Path) -> None:
    _, account = decode_bytes(tmp_path, document(FIRST) + b'\n{"a": 1}\n')
    assert (account["read"], account["skipped"]) == (2, {"neither a qlog nor an event of one": 1})


def test_an_ack_in_a_packet_of_unknown_type_is_for_the_one_space_that_sent(tmp_path: Path) -> None:
    fields = ["relative_time", "CATEGORY", "EVENT_TYPE", "TRIGGER", "DATA"]
    ack = {"frame_type": "ACK", "acked_ranges": [["4", "5"]]}
    events = [
        *([str(number), "TRANSPORT", "PACKET_SENT", "LINE", plain("1RTT", number)] for number in (4, 5, 6)),
        ["9", "TRANSPORT", "PACKET_RECEIVED", "LINE", {**plain("UNKNOWN", 1), "frames": [ack]}],
    ]
    table, account = decode_bytes(tmp_path, document(trace(*events, event_fields=fields), qlog_version="draft-00"))
    assert rows(table, "packet_acked", "packet_number", "space", "acked_bytes") == [
        (4, "1rtt", 1350),
        (5, "1rtt", 2700),
    ]
    assert account["frames_ignored"] == {}


def plain(kind: str, number: int) -> dict[str, Any]:
    return {"packet_type": kind, "header": {"packet_number": str(number), "packet_size": 1350}}


def test_an_ack_that_may_be_for_several_spaces_is_counted_and_contradicts(tmp_path: Path) -> None:
    sent = [packet(time, "sent", time, kind="handshake" if time < 6 else "1RTT") for time in range(12)]
    answers = [packet(20, "received", 0, acked([0, 11]), kind="unknown")]
    table, account = decode_bytes(tmp_path, sequence(*sent, *answers))
    assert rows(table, "packet_acked", "packet_number") == []
    assert account["frames_ignored"] == {"ack in a packet of unknown type": 1}
    assert [found["check"] for found in account["implausible"]] == ["acked_none"]


def test_acknowledgements_of_packets_that_were_not_sent_are_a_contradiction(tmp_path: Path) -> None:
    table, account = decode_bytes(tmp_path, sequence(packet(0, "sent", 3), packet(9, "received", 0, acked([2, 8]))))
    assert rows(table, "packet_acked", "packet_number") == [3]
    assert [found["check"] for found in account["implausible"]] == ["acked_unsent"]


def test_frames_without_a_row_are_counted_by_kind(tmp_path: Path) -> None:
    frames = [{"frame_type": kind} for kind in ("ping", "crypto", "ping", "stream")] + [{}]
    _, account = decode_bytes(tmp_path, sequence(packet(0, "sent", 0, *frames), packet(1, "received", 0, *frames)))
    counts = {"ping": 4, "crypto": 2, "stream without id or length": 2, "(without a type)": 2}
    assert account["frames_ignored"] == counts


def test_frames_in_capitals_are_the_same(tmp_path: Path) -> None:
    stream = {"frame_type": "STREAM", "id": "3", "offset": "5", "length": 40}
    table, account = decode_bytes(tmp_path, sequence(packet(0, "received", 0, stream)))
    assert rows(table, "stream_data", "stream", "value", "size_bytes") == [(3, 5.0, 40)]
    assert account["frames_ignored"] == {}


def test_mvfsts_counts(tmp_path: Path) -> None:
    events = [
        event(1, "quic:packet_lost", largest_lost_packet_num=9, lost_bytes=2504, lost_packets=2),
        event(2, "loss:packets_lost", largest_lost_packet_num=12, lost_bytes=1252, lost_packets=1),
        event(3, "quic:loss_timer_updated", largest_sent=3, alarm_count=1, outstanding_packets=1, type="pto"),
        event(4, "loss:loss_alarm", largest_sent=3, alarm_count=2, outstanding_packets=1, type="loss timeout"),
        event(5, "quic:congestion_state_updated", app_limited="app limited"),
        event(6, "quic:congestion_state_updated", app_limited="app unlimited"),
        event(7, "metric_update:congestion_metric_update", bytes_in_flight=2400, current_cwnd=14000, state="cubic"),
    ]
    table, account = decode_bytes(tmp_path, sequence(*events))
    assert rows(table, "packet_lost", "value", "size_bytes", "packet_number") == [(2.0, 2504, None), (1.0, 1252, None)]
    assert rows(table, "loss_timer", "name", "detail") == [("expired", "pto"), ("expired", "loss timeout")]
    assert rows(table, "pto", "time_ns") == [3_000_000]
    assert rows(table, "app_limited", "value") == [1.0, 0.0]
    assert rows(table, "metrics", "cwnd_bytes", "in_flight_bytes") == [(14000, 2400)]
    assert (account["read"], account["ignored"], account["skipped"]) == (len(events), {}, {})


def events_of(content: bytes) -> int:
    """How many events a file holds, counted without the decoder."""
    text = content.lstrip(b"\x1e\xef\xbb\xbf").decode()
    if (end := text.find("\n")) > 0 and not any(f'"{key}"' in text[:end] for key in ("traces", "constants")):
        return sum(bool(line.strip("\x1e \r\n")) for line in text[end:].split("\n"))
    whole = json.loads(text)
    if "constants" in whole:
        return len(whole["events"])
    return sum(len(each["events"]) for each in whole["traces"])


WHOLE = [
    path
    for path in sorted([*QLOGS.glob("*.gz"), *NETLOGS.glob("*.gz"), *(FIXTURES / "states").glob("*.gz")])
    if not path.name.startswith("quiche-0.10")  # cut off in mid-event
]


@pytest.mark.parametrize("path", WHOLE, ids=lambda path: path.name)
def test_read_ignored_and_skipped_are_all_events_of_the_file(path: Path) -> None:
    _, account = decode_trace(path, "server")
    counted = account["read"] + sum(account["ignored"].values()) + sum(account["skipped"].values())
    assert counted == events_of(unpacked(path))


def test_joined_fixtures_lose_no_event(tmp_path: Path) -> None:
    parts = [path for path in WHOLE if path.name.startswith(("aioquic", "caddy", "quic-go-0.65"))]
    _, account = decode_bytes(tmp_path, b"\n".join(unpacked(path) for path in parts))
    counted = account["read"] + sum(account["ignored"].values()) + sum(account["skipped"].values())
    assert len(parts) == 4
    assert counted == sum(events_of(unpacked(path)) for path in parts)
