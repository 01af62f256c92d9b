"""Metrics of the server's window and states, on events written by hand."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from longlook.core import registry
from longlook.timeline.events import Events
from longlook.timeline.normalise import normalise_trial
from longlook.timeline.timeline import Timeline
from tests.data import trials
from tests.data.trials import connection, fetched, server_connection
from tests.unit.timeline.export.test_export import table_of

MS = 1_000_000


@pytest.fixture
def load(tmp_path: Path) -> Timeline:
    """A load that takes 100 ms."""
    trials.write_lines(tmp_path / "client.jsonl", [connection(40000, 0, 10), fetched("/", 0, 20, 100)])
    trials.write_lines(tmp_path / "server.jsonl", [server_connection(40000, 1)])
    return normalise_trial(tmp_path, trials.TRIAL, trials.run())


def measured(load: Timeline, rows: Sequence[tuple[float, dict[str, Any]]]) -> dict[str, float | None]:
    """Rows at milliseconds since the load began."""
    first_ns, last_ns = load.load_window_ns() or (0, 0)
    assert last_ns - first_ns == 100 * MS
    table = table_of([{"source": "qlog", **row, "time_ns": first_ns + round(at * MS)} for at, row in rows])
    timeline = load.with_events(Events(table))
    names = (
        "congestion_window",
        "slow_start_exit",
        "time_in_slow_start",
        "time_in_congestion_avoidance",
        "time_in_congestion_avoidance_maxed",
    )
    return {name: registry.get("metrics", name).measure(timeline) for name in names}


def window(cwnd_bytes: int | None) -> dict[str, Any]:
    return {"kind": "metrics", "cwnd_bytes": cwnd_bytes}


def state(name: str) -> dict[str, Any]:
    return {"kind": "state", "name": name}


def test_a_window_counts_for_as_long_as_it_is_held(load: Timeline) -> None:
    rows = [(0, window(None)), (0, window(10_000)), (25, window(30_000)), (50, window(20_000)), (100, window(99_000))]
    assert measured(load, rows)["congestion_window"] == pytest.approx(0.25 * 10 + 0.25 * 30 + 0.5 * 20)


def test_slow_start_ends_with_the_window_before_the_state_after_it(load: Timeline) -> None:
    rows = [
        (0, state("slow_start")),
        (0, window(10_000)),
        (20, window(40_000)),
        (25, state("application_limited")),
        (30, window(45_000)),
        (50, state("recovery")),
        (50, window(22_500)),
        (60, state("congestion_avoidance")),
        (90, state("congestion_avoidance_maxed")),
        (100, state("congestion_avoidance")),
    ]
    found = measured(load, rows)
    assert found["slow_start_exit"] == 45.0
    assert found["time_in_slow_start"] == pytest.approx(25.0)
    assert found["time_in_congestion_avoidance"] == pytest.approx(30.0)
    assert found["time_in_congestion_avoidance_maxed"] == pytest.approx(10.0)


def test_a_load_that_ends_in_slow_start_has_no_end_of_it(load: Timeline) -> None:
    rows = [(0, window(10_000)), (0, state("slow_start")), (100, window(99_000))]
    assert measured(load, rows)["slow_start_exit"] is None


def test_without_traces_nothing_is_known(load: Timeline) -> None:
    for name in ("congestion_window", "slow_start_exit"):
        assert registry.get("metrics", name).measure(load) is None
