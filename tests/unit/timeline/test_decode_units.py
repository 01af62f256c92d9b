"""Units of round trips: as the file declares them, as its own times show them, and contradictions that remain."""

import re
from pathlib import Path
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from tests.data.decoded import QLOGS, acked, decode_bytes, document, event, packet, rows, sequence, unpacked

RTT_S = 0.0304


def header(title: str | None, **trace: Any) -> dict[str, Any]:
    named = {} if title is None else {"title": title}
    return {"qlog_version": "0.3", **named, "trace": {"vantage_point": {"type": "client"}, **trace}}


def rounds(scale: float, *, frames: bool, guess: float | None = None) -> list[dict[str, Any]]:
    """Packets that are answered after 30.4 ms and a little more each, with round trips in seconds times `scale`."""
    events = []
    if guess is not None:
        events.append(event(0, "recovery:metrics_updated", smoothed_rtt=guess, latest_rtt=guess))
    for number in range(5):
        sent_ms, rtt_s = 50.0 * number, RTT_S + number / 1e4
        answer = [acked([0, number])] if frames else []
        events += [
            packet(sent_ms, "sent", number),
            packet(sent_ms + rtt_s * 1e3, "received", number, *answer),
            event(sent_ms + rtt_s * 1e3, "recovery:metrics_updated", latest_rtt=rtt_s * scale),
        ]
    return events


@pytest.mark.parametrize(("unit", "per_ms"), [("us", 1000), ("ms", 1), ("ns", 1_000_000)])
def test_a_declared_unit_is_that_of_round_trips_too(tmp_path: Path, unit: str, per_ms: int) -> None:
    updates = {"smoothed_rtt": 41 * per_ms, "min_rtt": 40 * per_ms, "latest_rtt": 43 * per_ms, "rtt_variance": per_ms}
    trace = {
        "vantage_point": {"type": "server"},
        "title": "picoquic",
        "configuration": {"time_units": unit},
        "event_fields": ["relative_time", "category", "event", "data"],
        "events": [[7 * per_ms, "recovery", "metrics_updated", updates]],
    }
    table, _ = decode_bytes(tmp_path, document(trace, qlog_version="draft-00"))
    columns = ("time_ns", "srtt_ns", "min_rtt_ns", "latest_rtt_ns", "rttvar_ns")
    assert rows(table, "metrics", *columns) == [(7_000_000, 41_000_000, 40_000_000, 43_000_000, 1_000_000)]


@pytest.mark.parametrize("title", [None, "a relay"])
def test_quinns_guess_is_recognised_under_any_title(tmp_path: Path, title: str | None) -> None:
    updates: list[dict[str, Any]] = [
        {"smoothed_rtt": 0.333, "latest_rtt": 0.333, "congestion_window": 12000},
        {"min_rtt": 0.0412, "smoothed_rtt": 0.0412, "latest_rtt": 0.0412},
    ]
    events = [event(42 * time, "recovery:metrics_updated", **update) for time, update in enumerate(updates)]
    table, account = decode_bytes(tmp_path, sequence(*events, header=header(title)))
    assert rows(table, "metrics", "srtt_ns") == [333_000_000, 41_200_000]
    assert "implausible" not in account


@pytest.mark.parametrize("frames", [True, False], ids=["by ACKs", "by arrivals"])
@pytest.mark.parametrize("guess", [None, 0.1, 0.333])
def test_seconds_are_recognised_by_the_times_of_packets(tmp_path: Path, guess: float | None, *, frames: bool) -> None:
    content = sequence(*rounds(1, frames=frames, guess=guess), header=header("a relay"))
    table, account = decode_bytes(tmp_path, content)
    read = [ns for ns in rows(table, "metrics", "latest_rtt_ns") if ns is not None]
    assert read[-5:] == [30_400_000, 30_500_000, 30_600_000, 30_700_000, 30_800_000]
    assert "implausible" not in account
    said = [warning["problem"] for warning in account["warnings"]]
    assert said == ([] if guess == 0.333 else [SECONDS])


SECONDS = "round trips are read as seconds: as milliseconds they contradict the times of the packets"


@pytest.mark.parametrize("title", ["quinn", "a relay"])
def test_a_guess_that_looks_like_seconds_is_corrected(tmp_path: Path, title: str) -> None:
    events = rounds(1000, frames=True, guess=0.333)
    table, account = decode_bytes(tmp_path, sequence(*events, header=header(title)))
    assert rows(table, "metrics", "latest_rtt_ns")[1:3] == [30_400_000, 30_500_000]
    assert "implausible" not in account
    assert ["read as milliseconds" in warning["problem"] for warning in account["warnings"]] == [True]


def test_a_declared_unit_that_contradicts_the_trace_is_kept_and_said(
    tmp_path: Path, snapshot: SnapshotAssertion
) -> None:
    trace = header("picoquic", configuration={"time_units": "ms"})
    table, account = decode_bytes(tmp_path, sequence(*rounds(1e6, frames=True), header=trace))
    assert rows(table, "metrics", "latest_rtt_ns")[0] == 30_400_000_000
    (found,) = account["implausible"]
    assert (found["check"], found["connection"]) == ("rtt_above_send_to_ack", 0)
    assert found["problem"] == snapshot


SAID = re.compile(rb'("(?:smoothed_rtt|latest_rtt|min_rtt|rtt_variance)": ?)([0-9][0-9.e-]*)')
WITH_ROUND_TRIPS = sorted(path for path in QLOGS.glob("*.gz"))
LOOPBACK_BYTES = 400_000


@pytest.mark.parametrize("path", WITH_ROUND_TRIPS, ids=lambda path: path.name)
def test_every_fixture_agrees_with_itself_and_not_in_another_unit(tmp_path: Path, path: Path) -> None:
    whole = unpacked(path)
    _, account = decode_bytes(tmp_path, whole)
    assert "implausible" not in account
    if path.name.startswith(("quinn", "ngtcp2")):
        return  # quinn's unit is found, whichever it is (above); ngtcp2's has whole ms, of which there are two, 0 and 2
    head = whole[:LOOPBACK_BYTES]
    longer = SAID.sub(lambda found: found[1] + repr(float(found[2]) * 1000).encode(), head)
    _, account = decode_bytes(tmp_path, longer)
    assert [found["check"] for found in account["implausible"]] == ["rtt_above_send_to_ack"]
    shorter = SAID.sub(lambda found: found[1] + f"{float(found[2]) / 1000:.9f}".encode(), head)
    _, account = decode_bytes(tmp_path, shorter)
    assert [found["check"] for found in account["implausible"]] == ["rtt_below_send_to_ack"]
