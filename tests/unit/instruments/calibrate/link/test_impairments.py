"""Judging the laws beyond the basic ones: packets that obey pass, packets of a law beside it do not."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from longlook.instruments.calibrate.link.catalogue import CASES, IMPAIRMENTS
from longlook.instruments.calibrate.link.check import LIVE, VIRTUAL, QuantityCheck, Times
from longlook.instruments.calibrate.link.laws import (
    Bursts,
    Case,
    Displacement,
    Doubling,
    Gilbert,
    ObservedPackets,
    RandomDelay,
    runs_of,
)
from longlook.instruments.calibrate.link.queues import ControlledDelay, EarlyDrop, FairShare, Opportunities, VaryingRate


def case_of(kind: type, **wanted: Any) -> Case:
    """The first case of a law with these settings."""
    return next(
        case
        for case in IMPAIRMENTS
        if isinstance(case.law, kind) and all(getattr(case.law, name) == value for name, value in wanted.items())
    )


def sent(case: Case) -> Times:
    return np.array(case.schedule.offsets_ns(), dtype=float)


def observed(case: Case, received_ns: Times, times: NDArray[np.int64] | None) -> ObservedPackets:
    once = np.ones(case.schedule.count, dtype=np.int64)
    return ObservedPackets(sent(case), received_ns, once if times is None else times)


def judged(case: Case, received_ns: Times, times: NDArray[np.int64] | None = None) -> dict[str, bool]:
    return {check.quantity: check.passed for check in case.checks(observed(case, received_ns, times))}


def gilbert(case: Case, p: float, r: float) -> Times:
    random = np.random.default_rng(3)
    bad, lost = random.random() < p / (p + r), []
    for draw in random.random(case.schedule.count):
        lost.append(bad)
        bad = draw < p if not bad else draw >= r
    return np.where(lost, np.nan, sent(case))


def test_loss_in_two_states() -> None:
    case = case_of(Gilbert)
    assert all(judged(case, gilbert(case, 0.01, 0.25)).values())
    assert judged(case, gilbert(case, 0.02, 0.5)) == {"packets lost": True, "mean length of a burst": False}
    independent = np.where(np.random.default_rng(3).random(case.schedule.count) < 0.0385, np.nan, sent(case))
    assert not judged(case, independent)["mean length of a burst"]


def bursts(case: Case, p: float, length: int) -> Times:
    random, left, lost = np.random.default_rng(3), 0, []
    for draw in random.random(case.schedule.count):
        left = length if left == 0 and draw < p else left
        lost.append(left > 0)
        left = max(0, left - 1)
    return np.where(lost, np.nan, sent(case))


def test_bursts_of_one_length() -> None:
    case = case_of(Bursts)
    assert all(judged(case, bursts(case, 0.002, 5)).values())
    assert not judged(case, bursts(case, 0.0025, 4))["bursts of another length"]
    assert not judged(case, bursts(case, 0.006, 5))["packets lost"]


def test_runs_are_counted_without_one_that_the_end_cuts() -> None:
    lost = np.array([1, 1, 0, 1, 0, 0, 1, 1, 1], dtype=bool)
    assert runs_of(lost).tolist() == [2, 1]
    assert runs_of(np.zeros(4, dtype=bool)).tolist() == []


def draws(case: Case, law: str) -> Times:
    assert isinstance(case.law, RandomDelay)
    random, count, wide = np.random.default_rng(3), case.schedule.count, case.law.deviation_ns
    offsets = {
        "normal": lambda: random.normal(0, wide, count),
        "pareto": lambda: (random.pareto(3, count) + 1 - 1.5) / np.sqrt(0.75) * wide,
        "uniform": lambda: random.uniform(-wide * np.sqrt(3), wide * np.sqrt(3), count),
    }
    return sent(case) + case.law.mean_ns + offsets[law]()


@pytest.mark.parametrize("law", ["normal", "pareto"])
def test_jitter_of_a_law(law: str) -> None:
    case = case_of(RandomDelay, law=law, correlation=0.0)
    assert all(judged(case, draws(case, law)).values())
    assert judged(case, draws(case, "uniform")) == {"mean delay": True, "distance from the law": False}


def test_correlated_jitter() -> None:
    case = case_of(RandomDelay, correlation=0.8)
    assert isinstance(case.law, RandomDelay)
    random, score, scores = np.random.default_rng(3), 0.0, []
    for draw in random.normal(0, 1, case.schedule.count):
        score = 0.8 * score + 0.6 * draw
        scores.append(score)
    assert all(judged(case, sent(case) + case.law.mean_ns + np.array(scores) * case.law.deviation_ns).values())
    assert not judged(case, draws(case, "normal"))["correlation of neighbours"]


def test_doubling() -> None:
    case = case_of(Doubling)
    times = 1 + (np.random.default_rng(3).random(case.schedule.count) < 0.05).astype(np.int64)
    assert all(judged(case, sent(case), times).values())
    assert not judged(case, sent(case), np.ones_like(times))["packets that came twice"]
    times[7] = 3
    assert not judged(case, sent(case), times)["packets that came more often"]


def displaced(case: Case, depth: int) -> Times:
    chosen = np.random.default_rng(3).random(case.schedule.count) < 0.05
    return sent(case) + np.where(chosen, depth * case.schedule.period_ns, 0)


def test_displacement() -> None:
    case = case_of(Displacement)
    assert all(judged(case, displaced(case, 3)).values())
    assert judged(case, displaced(case, 2)) == {"packets displaced": True, "places, median": False}


def carried(case: Case, steps: tuple[tuple[int, int], ...]) -> Times:
    """Microsecond by microsecond, where the judge integrates in closed form."""
    leaving, now_ns, left = [], 0.0, float(case.size_bytes * 8)
    while len(leaving) < case.schedule.count:
        rate = next(rate_bps for at_ns, rate_bps in reversed(steps) if at_ns <= now_ns)
        step_ns = min(1_000.0, left / rate * 1e9)
        now_ns, left = now_ns + step_ns, left - step_ns * rate / 1e9
        if left <= 1e-6:
            leaving.append(now_ns)
            left = float(case.size_bytes * 8)
    return np.array(leaving)


def test_a_rate_that_varies() -> None:
    case = case_of(VaryingRate)
    assert isinstance(case.law, VaryingRate)
    received_ns = carried(case, case.law.steps)
    assert all(judged(case, received_ns).values())
    assert not all(judged(case, received_ns + 20_000).values())


def test_opportunities() -> None:
    case = case_of(Opportunities)
    ms = [1, 4, 4, 5, 9, 12, 12, 13]
    received_ns = np.concatenate([np.array(ms) * 1e6 + period * 16e6 for period in range(case.schedule.count // 8)])
    assert all(judged(case, received_ns).values())
    assert not all(judged(case, received_ns + 1e6).values())


def test_codel_drops_faster_and_faster() -> None:
    """The k-th drop follows the one before by interval/√k; until the first, the delay has been high for an interval."""
    case = case_of(ControlledDelay)
    assert isinstance(case.law, ControlledDelay)
    delays_ns = case.law.delays_ns(case.size_bytes, sent(case))
    lost = np.flatnonzero(np.isnan(delays_ns))
    before = delays_ns[lost[0] - 1]
    assert case.law.interval_ns / 2 < before < case.law.interval_ns
    left_ns = sent(case)[lost - 1] + delays_ns[lost - 1]
    gaps_ms = np.diff(left_ns)[:20] / 1e6
    expected_ms = 100 / np.sqrt(np.arange(1, 21))
    assert np.all(np.abs(gaps_ms - expected_ms) < 2 * 1.2)


def test_a_codel_that_drops_nothing_fails() -> None:
    case = case_of(ControlledDelay)
    assert isinstance(case.law, ControlledDelay)
    assert all(judged(case, sent(case) + case.law.delays_ns(case.size_bytes, sent(case))).values())
    lazy = replace(case.law, interval_ns=10**12)
    assert not any(judged(case, sent(case) + lazy.delays_ns(case.size_bytes, sent(case))).values())


def test_shares_of_flows() -> None:
    case = case_of(FairShare)
    packet_ns, leaving, held = 1_200_000, np.full(case.schedule.count, np.nan), ([], [])  # type: ignore[var-annotated]
    arrivals, now_ns, number = sent(case), 0, 0
    while now_ns < 3_000_000_000:
        while number < len(arrivals) and arrivals[number] <= now_ns:
            held[case.flow(number)].append(number)
            number += 1
        turn = now_ns // packet_ns % 2
        queue = held[turn] or held[1 - turn]
        now_ns += packet_ns
        if queue:
            leaving[queue.pop(0)] = now_ns
    assert all(judged(case, leaving).values())
    leaving[[case.flow(one) == 1 and one % 8 == 3 for one in range(case.schedule.count)]] = np.nan
    assert not any(judged(case, leaving).values())


def test_red_settles_where_enough_is_dropped() -> None:
    """A deterministic queue with RED's dice: an independent way to the mean."""
    case = case_of(EarlyDrop)
    random = np.random.default_rng(3)
    free_ns, average, since, left = 0.0, 0.0, -1, []
    received_ns = np.full(case.schedule.count, np.nan)
    for number, now_ns in enumerate(sent(case)):
        queue = sum(1500 for at_ns in left[-200:] if at_ns > now_ns)
        average += 0.002 * (queue - average)
        p = min(1.0, max(0.0, 0.2 * (average - 30_000) / 60_000))
        since += 1
        if average >= 30_000 and random.random() < p / max(1e-9, 1 - since * p):
            since = 0
            continue
        free_ns = max(free_ns, float(now_ns)) + 1_200_000
        left.append(free_ns)
        received_ns[number] = free_ns
    assert all(judged(case, received_ns).values())
    assert not judged(case, received_ns + 10e6)["mean delay"]


def test_every_case_has_its_own_name_and_all_its_checks_if_nothing_arrives() -> None:
    assert len({case.name for case in CASES}) == len(CASES)
    for case in CASES:
        nothing = np.array([], dtype=float)
        found = case.checks(ObservedPackets(nothing, nothing, np.ones(0, dtype=np.int64)))
        assert found
        assert all(check.value is None and not check.passed and check.reason for check in found)


@pytest.mark.parametrize("late", [VIRTUAL, LIVE])
def test_lateness_spares_what_it_says(late: Any) -> None:
    values = np.zeros(10_000)
    values[:5] = 1e9
    assert (late.largest(values) == 0) == (late is LIVE)


def test_a_check_without_a_value_has_not_passed() -> None:
    assert not QuantityCheck("x", "", 0.0, 1.0, "reason", None).passed
