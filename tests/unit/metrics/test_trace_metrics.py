"""Metrics of traces on events written by hand, the answers worked out; none without traces."""

import pytest

from longlook.core import registry
from longlook.timeline.normalise.trial import needs_events
from longlook.timeline.timeline import Timeline, table_of_rows
from tests.data.events import events_of, row

MS = 1_000_000
FLOW = "udp a b"
TRACED = (
    *("declared_lost", "spurious_losses", "time_in_recovery", "time_application_limited", "server_min_rtt"),
    *("server_srtt", "retransmitted"),
)


def load() -> Timeline:
    """A load from 0 to 100 ms."""
    common = {"vantage": "client", "flow": FLOW, "priming": False, "name": "/"}
    return Timeline(
        table_of_rows(
            [
                {"time_ns": 0, "kind": "request_sent", **common},
                {"time_ns": 100 * MS, "kind": "object_done", **common},
            ]
        )
    )


def traced() -> Timeline:
    sent = [row(number * MS, "packet_sent", flow=FLOW, packet_number=number) for number in range(40)]
    return load().with_events(
        events_of(
            row(0, "state", flow=FLOW, source="derived", name="slow_start"),
            row(0, "metrics", flow=FLOW, min_rtt_ns=0, srtt_ns=None),
            *sent,
            row(40 * MS, "metrics", flow=FLOW, min_rtt_ns=36 * MS, srtt_ns=40 * MS),
            row(50 * MS, "packet_lost", flow=FLOW, packet_number=3),
            row(50 * MS, "packet_lost", flow=FLOW, packet_number=4),
            row(50 * MS, "packet_spurious", flow=FLOW, source="link", name="link", packet_number=4, value=0.01),
            row(50 * MS, "state", flow=FLOW, source="derived", name="recovery"),
            row(60 * MS, "state", flow=FLOW, source="derived", name="application_limited"),
            row(85 * MS, "state", flow=FLOW, source="derived", name="congestion_avoidance"),
            row(80 * MS, "metrics", flow=FLOW, min_rtt_ns=35 * MS, srtt_ns=70 * MS),
            row(120 * MS, "packet_lost", flow=FLOW, packet_number=5),
        )
    )


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("declared_lost", 100 * 2 / 40),
        ("spurious_losses", 50.0),
        ("time_in_recovery", 10.0),
        ("time_application_limited", 25.0),
        ("server_min_rtt", 35.0),
        ("server_srtt", (40 * 40 + 20 * 70) / 60),
        ("retransmitted", None),  # no records of the kernel
    ],
)
def test_the_value_is_that_worked_out(name: str, expected: float | None) -> None:
    found = registry.get("metrics", name).measure(traced())
    assert found == (None if expected is None else pytest.approx(expected))


@pytest.mark.parametrize("name", TRACED)
def test_without_traces_there_is_no_value(name: str) -> None:
    assert registry.get("metrics", name).measure(load()) is None
    assert needs_events([name])


def test_metrics_of_the_timeline_need_no_events() -> None:
    assert not needs_events(["page_load_time", "throughput"])


def test_timeouts_are_probes_and_what_follows_them() -> None:
    rows = events_of(
        row(0, "state", flow=FLOW, source="qlog", name="slow_start"),
        row(20 * MS, "state", flow=FLOW, source="derived", name="loss_probe"),
        row(50 * MS, "state", flow=FLOW, source="derived", name="timeout"),
        row(60 * MS, "state", flow=FLOW, source="qlog", name="slow_start"),
        row(100 * MS, "packet_sent", flow=FLOW, packet_number=1),
    )
    measure = registry.get("metrics", "time_in_timeouts").measure
    assert measure(load().with_events(rows)) == pytest.approx(40.0)
    assert measure(load()) is None


def over_tcp(*losses: dict[str, int], priming: bool = False) -> Timeline:
    """A load over the kernel's TCP with a loss, whose connections have these counts in the metadata."""
    rows = events_of(
        row(50 * MS, "packet_lost", source="tcp", flow="tcp a b", name="fast_retransmit", value=1.0),
        row(50 * MS, "packet_spurious", source="link", flow="tcp a b", name="link", packet_number=4, value=0.01),
    )
    connections = [{"priming": priming, "losses": each} for each in losses]
    return load().with_events(rows.with_metadata({"sources": {"tcp/server.tcptrace": {"connections": connections}}}))


def test_of_tcp_segments_count_that_the_link_saw_again() -> None:
    measure = registry.get("metrics", "spurious_losses").measure
    counts = {"declared": 6, "spurious": 1, "lost_at_link": 5}
    assert measure(over_tcp(counts)) == pytest.approx(100 / 6)
    assert measure(over_tcp(counts, {"declared": 2, "spurious": 1})) == pytest.approx(100 * 2 / 8)
    assert measure(over_tcp(counts, priming=True)) is None
    assert measure(over_tcp({"declared": 0, "spurious": 0})) is None


@pytest.mark.parametrize(
    ("name", "expected"),
    [("time_application_limited", None), ("time_in_slow_start", None), ("time_in_recovery", 10.0)],
)
def test_an_unknown_state_is_not_none_of_a_state(name: str, expected: float | None) -> None:
    rows = events_of(
        row(0, "state", flow=FLOW, source="derived", name="unknown"),
        row(50 * MS, "state", flow=FLOW, source="derived", name="recovery"),
        row(60 * MS, "state", flow=FLOW, source="derived", name="unknown"),
        row(100 * MS, "packet_sent", flow=FLOW, packet_number=1),
    )
    assert registry.get("metrics", name).measure(load().with_events(rows)) == expected
