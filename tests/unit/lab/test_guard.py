"""The guard alone: each disturbance against an otherwise sound measurement."""

from dataclasses import replace
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from longlook.lab.guard import CounterReading, findings, limits, observe, together

BEFORE = CounterReading(monotonic_s=10.0, busy_ticks=1000, idle_ticks=5000, steal_ticks=10, dropped=3, udp_errors=2)
AFTER = CounterReading(monotonic_s=11.0, busy_ticks=1080, idle_ticks=5119, steal_ticks=11, dropped=3, udp_errors=2)
DIRECTION = {"arrived": 1000, "delivered": 990, "queued": 1, "dropped_loss": 4, "dropped_queue": 5, "late_over_1ms": 0}
ROUTER = {"max_gap_ns": 400_000, "max_late_ns": 300_000, "ring_drops": 0, "fifo": 1, "log_lost": 0}
SUMMARY: dict[str, Any] = {"up": DIRECTION, "down": DIRECTION, "guard": ROUTER}


def direction(**changes: int) -> dict[str, Any]:
    return {**SUMMARY, "down": {**DIRECTION, **changes}}


def router(**changes: int) -> dict[str, Any]:
    return {**SUMMARY, "guard": {**ROUTER, **changes}}


DISTURBANCES: dict[str, tuple[CounterReading, dict[str, Any], str]] = {
    "books": (AFTER, direction(arrived=1001), "do not add up"),
    "ring": (AFTER, router(ring_drops=1), "missed 1 packets"),
    "log": (AFTER, router(log_lost=2), "lacks 2 records"),
    "overflow": (AFTER, direction(arrived=1002, dropped_overflow=2), "no room for 2"),
    "oversize": (AFTER, direction(arrived=1001, dropped_oversize=1), "an offload is on"),
    "checksums": (AFTER, router(unfinished_checksums=1), "an offload is on"),
    "late": (AFTER, direction(late_over_1ms=20), "20 packets (1.01%) left the link more than 1 ms late"),
    "gap": (AFTER, router(max_gap_ns=11_000_000), "did not run for 11.0 ms"),
    "losses outside": (replace(AFTER, dropped=4), SUMMARY, "1 packets were lost outside"),
    "receive buffer": (replace(AFTER, udp_errors=5), SUMMARY, "3 received datagrams"),
    "steal": (replace(AFTER, steal_ticks=60), SUMMARY, "took 20.1% of the CPU"),
    "saturation": (replace(AFTER, busy_ticks=1199, idle_ticks=5001), SUMMARY, "busy 99.0% of the time"),
}


def test_a_sound_measurement_has_no_findings() -> None:
    assert findings(observe(BEFORE, AFTER, SUMMARY)) == []


@pytest.mark.parametrize("name", list(DISTURBANCES))
def test_disturbance(name: str) -> None:
    after, summary, reason = DISTURBANCES[name]
    (found,) = findings(observe(BEFORE, after, summary, own_cpu_s=0.5))
    assert reason in found.reason
    assert found.hint


def test_a_frequency_that_changes_matters_to_a_client_with_a_share_of_a_cpu_alone(snapshot: SnapshotAssertion) -> None:
    observed = observe(replace(BEFORE, cpu_mhz=3000.0), replace(AFTER, cpu_mhz=2400.0), SUMMARY)
    assert findings(observed) == []
    (found,) = findings(observed, limits(limited_client=True))
    assert found.reason == snapshot
    steady = observe(replace(BEFORE, cpu_mhz=3000.0), replace(AFTER, cpu_mhz=2950.0), SUMMARY)
    assert findings(steady, limits(limited_client=True)) == []
    assert "cpu_mhz" not in observe(replace(BEFORE, cpu_mhz=3000.0), AFTER, SUMMARY)


def test_one_late_packet_of_few_is_no_finding() -> None:
    few = {**DIRECTION, "arrived": 10, "delivered": 10, "queued": 0, "dropped_loss": 0, "dropped_queue": 0}
    observed = observe(BEFORE, AFTER, {"up": few, "down": {**few, "late_over_1ms": 1}, "guard": ROUTER})
    assert observed["late_share"] == 0.05
    assert findings(observed) == []


def test_busy_cpus_do_not_matter_to_a_trial_that_needs_little_of_them() -> None:
    after = replace(AFTER, busy_ticks=1199, idle_ticks=5001)
    assert findings(observe(BEFORE, after, SUMMARY, own_cpu_s=0.1)) == []


def test_a_trial_that_keeps_the_cpus_busy_alone_is_sound() -> None:
    after = replace(AFTER, busy_ticks=1199, idle_ticks=5001)
    assert findings(observe(BEFORE, after, SUMMARY, own_cpu_s=0.9)) == []


def test_a_short_interval_proves_nothing_about_the_cpu() -> None:
    after = replace(AFTER, monotonic_s=10.1, busy_ticks=1020, idle_ticks=5000)
    assert findings(observe(BEFORE, after, SUMMARY, own_cpu_s=0.05)) == []


def test_without_a_summary_nothing_is_divided_by_zero() -> None:
    assert observe(BEFORE, BEFORE, {})["late_share"] == 0.0


def test_several_links_are_judged_as_one() -> None:
    assert together([SUMMARY]) is SUMMARY
    assert together([SUMMARY, {}]) == {}
    joined = together([SUMMARY, router(max_gap_ns=11_000_000, fifo=0)])
    assert joined["down"]["arrived"] == 2 * DIRECTION["arrived"]
    assert (joined["guard"]["max_gap_ns"], joined["guard"]["fifo"]) == (11_000_000, 0)
    (found,) = findings(observe(BEFORE, AFTER, joined))
    assert "did not run for 11.0 ms" in found.reason
