"""Congestion windows of flows that compete, on events written by hand, the answers worked out."""

from typing import Any

import pytest

from longlook.core import registry
from longlook.timeline.timeline import Timeline, table_of_rows
from longlook.timeline.windows import (
    Rises,
    WindowOverLoad,
    rises_over_load,
    share_of_first_group,
    share_of_rises,
    windows_over_load,
)
from tests.data.events import events_of, row

MS = 1_000_000
QUIC, TCP, SECOND_TCP = (f"udp 10.8.0.{n}:40000 10.8.0.{n + 1}:443" for n in (1, 3, 5))
WINDOWS = {QUIC: (20_000, 40_000, 30_000), TCP: (20_000, 10_000, 15_000), SECOND_TCP: (20_000, 20_000, 20_000)}
"""Flow → its window from 0, 25 and 50 ms on, until the load ends at 100 ms."""


def flow(name: str, address: str) -> dict[str, Any]:
    group = name.partition("-")[0]
    times = {"began_ns": 0, "ended_ns": 100 * MS, "ended_by_itself": False}
    return {"name": name, "group": group, "cross": False, "client_address": "", "server_address": address, **times}


def competing(*flows: dict[str, Any], traced: tuple[str, ...], rtt_ns: int | None = None) -> Timeline:
    facts = {"flows": list(flows), "window_ns": [0, 100 * MS], "capacity": None, "rtt_ns": rtt_ns}
    rows = [
        row(at * MS, "metrics", flow=name, cwnd_bytes=cwnd_bytes)
        for name in traced
        for at, cwnd_bytes in zip((0, 25, 50), WINDOWS[name], strict=True)
    ]
    return Timeline(table_of_rows([])).with_metadata({"competition": facts}).with_events(events_of(*rows))


SUBJECT, OTHER, THIRD = flow("quic", "10.8.0.2"), flow("tcp-1", "10.8.0.4"), flow("tcp-2", "10.8.0.6")


def test_a_window_has_its_mean_and_what_it_climbed() -> None:
    assert windows_over_load(competing(SUBJECT, OTHER, traced=(QUIC, TCP))) == [
        WindowOverLoad(QUIC, 0.25 * 20_000 + 0.25 * 40_000 + 0.5 * 30_000, 20_000),
        WindowOverLoad(TCP, 0.25 * 20_000 + 0.25 * 10_000 + 0.5 * 15_000, 5_000),
    ]


def test_the_share_is_of_both_windows() -> None:
    timeline = competing(SUBJECT, OTHER, traced=(QUIC, TCP))
    assert registry.get("metrics", "window_share").measure(timeline) == pytest.approx(100 * 30 / (30 + 15))
    assert registry.get("metrics", "window_growth_share").measure(timeline) == pytest.approx(100 * 20 / (20 + 5))
    assert registry.get("metrics", "congestion_window").measure(timeline) == pytest.approx(45)


def test_rises_are_counted_once_a_round_trip() -> None:
    timeline = competing(SUBJECT, OTHER, traced=(QUIC, TCP), rtt_ns=20 * MS)
    # At 0, 20, 40, 60, 80 and 100 ms: 20, 20, 40, 30, 30, 30 KB and 20, 20, 10, 15, 15, 15 KB.
    assert rises_over_load(timeline) == {QUIC: Rises(20.0, 20_000.0), TCP: Rises(20.0, 5_000.0)}
    assert registry.get("metrics", "window_rise_frequency_share").measure(timeline) == pytest.approx(50)
    assert registry.get("metrics", "window_slope_share").measure(timeline) == pytest.approx(80)


def test_a_window_that_never_rises_has_no_part_in_the_rises() -> None:
    timeline = competing(SUBJECT, THIRD, traced=(QUIC, SECOND_TCP), rtt_ns=20 * MS)
    assert share_of_rises(timeline, steepness=False) == 100
    assert share_of_rises(timeline, steepness=True) == 100


def test_where_the_round_trip_varies_or_a_flow_has_no_window_there_are_no_rises() -> None:
    assert share_of_rises(competing(SUBJECT, OTHER, traced=(QUIC, TCP)), steepness=True) is None
    assert share_of_rises(competing(SUBJECT, OTHER, traced=(QUIC,), rtt_ns=20 * MS), steepness=True) is None
    assert share_of_rises(Timeline(table_of_rows([])), steepness=False) is None


def test_of_several_flows_the_mean_counts_so_that_alike_is_half() -> None:
    timeline = competing(SUBJECT, OTHER, THIRD, traced=(QUIC, TCP, SECOND_TCP))
    assert share_of_first_group(timeline, grown=False) == pytest.approx(100 * 30 / (30 + 17.5))


@pytest.mark.parametrize(
    "timeline",
    [
        competing(SUBJECT, traced=(QUIC,)),
        competing(SUBJECT, OTHER, traced=(QUIC,)),
        competing(SUBJECT, OTHER, THIRD, traced=(QUIC, TCP)),
        Timeline(table_of_rows([])),
    ],
    ids=["no competitor", "a flow without a trace", "one of two without", "no load"],
)
def test_without_every_window_there_is_no_share(timeline: Timeline) -> None:
    assert share_of_first_group(timeline, grown=False) is None
    assert share_of_first_group(timeline, grown=True) is None
