"""Theory of the laws beyond rate, delay, drop-tail, independent loss and uniform jitter."""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from longlook.instruments.calibrate.link.cases import (
    Bursts,
    Case,
    ControlledDelay,
    Displacement,
    Doubling,
    EarlyDrop,
    FairShare,
    Gilbert,
    Opportunities,
    RandomDelay,
    VaryingRate,
)
from longlook.instruments.calibrate.link.check import (
    BINOMIAL,
    CONFIDENCE,
    SAMPLING,
    QuantityCheck,
    Times,
    WakeUpDelay,
    Z,
)

Lossy = Gilbert | Bursts
"""Loss by chance, with a memory."""
LOSING = (ControlledDelay, FairShare, EarlyDrop)

_PARETO_SHAPE = 3.0
_RENEWAL = "99.9 % interval (normal) of a renewal process"
_SETTLED_NS = 2_000_000_000
_SHARE_TOLERANCE, _QUEUE_SHARE, _DROPS_TOLERANCE = 0.01, 0.1, 2.0


def judged(
    case: Case, sent_ns: Times, received_ns: Times, times: NDArray[np.int64] | None, late: WakeUpDelay
) -> Iterator[QuantityCheck]:
    """Yield the checks of a law of this module."""
    spent_ns, lost = received_ns - sent_ns, np.isnan(received_ns)
    found: Iterator[QuantityCheck]
    match case.law:
        case Gilbert() as law:
            found = _gilbert(law, lost)
        case Bursts() as law:
            found = _bursts(law, lost)
        case RandomDelay() as law:
            found = _random_delay(law, spent_ns, late)
        case Doubling() as law:
            found = _doubling(law, times if times is not None else np.ones(len(sent_ns), dtype=np.int64))
        case Displacement() as law:
            found = _displacement(law, case.schedule.period_ns, spent_ns, late)
        case VaryingRate() as law:
            found = _departures(_integral(law, case), received_ns - sent_ns[0], late)
        case Opportunities() as law:
            found = _departures(_moments(law, case), received_ns - sent_ns[0], late)
        case ControlledDelay() as law:
            found = _controlled(law, case, sent_ns, spent_ns, late)
        case FairShare() as law:
            found = _fair(law, case, sent_ns, received_ns)
        case EarlyDrop() as law:
            found = _early(law, case, sent_ns, spent_ns)
        case other:
            raise TypeError(f"no theory of {other}")
    return found


def runs_of(lost: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return the lengths of runs of lost packets, without one that the end cuts."""
    edges = np.flatnonzero(np.diff(np.concatenate(([0], lost.astype(np.int8)))))
    return np.diff(edges[: len(edges) // 2 * 2])[::2]


def _gilbert(law: Gilbert, lost: NDArray[np.bool_]) -> Iterator[QuantityCheck]:
    """The state is a Markov chain with eigenvalue λ = 1 − p − r: Var(losses) ≈ n π(1 − π)(1 + λ)/(1 − λ)."""
    count, p, r = len(lost), law.good_to_bad, law.bad_to_good
    share, memory = p / (p + r), 1 - p - r
    spread = math.sqrt(count * share * (1 - share) * (1 + memory) / (1 - memory))
    reason = "99.9 % interval (normal) of a Markov chain"
    yield QuantityCheck("packets lost", "", count * share, Z * spread, reason, float(np.sum(lost)))
    runs = runs_of(lost)
    expected = count * share * r
    tolerance = Z * math.sqrt(1 - r) / r / math.sqrt(expected)
    mean = float(np.mean(runs)) if len(runs) else None
    yield QuantityCheck("mean length of a burst", "", 1 / r, tolerance, "99.9 % interval of geometric lengths", mean)


def _bursts(law: Bursts, lost: NDArray[np.bool_]) -> Iterator[QuantityCheck]:
    """From one burst's begin to the next: a geometric number of packets, and L − 1 more."""
    count, p, length = len(lost), law.probability, law.packets
    cycle, variance = 1 / p + length - 1, (1 - p) / p**2
    tolerance = length * Z * math.sqrt(count * variance / cycle**3)
    yield QuantityCheck("packets lost", "", count / cycle * length, tolerance, _RENEWAL, float(np.sum(lost)))
    odd = float(np.sum(runs_of(lost) % length != 0)) if lost.any() else None
    yield QuantityCheck("bursts of another length", "", 0.0, 0.0, "none: a run is one burst or several", odd)


def _random_delay(law: RandomDelay, spent_ns: Times, late: WakeUpDelay) -> Iterator[QuantityCheck]:
    count, rho = len(spent_ns), law.correlation
    spread_ns = law.deviation_ns * math.sqrt((1 + rho) / (1 - rho) / count)
    mean_ms = float(np.mean(spent_ns)) / 1e6
    yield QuantityCheck("mean delay", "ms", law.mean_ns / 1e6, Z * spread_ns / 1e6, SAMPLING, mean_ms)
    if rho:
        # Bartlett: the first sample autocorrelation of such a process has variance (1 − ρ²)/n.
        tolerance = Z * math.sqrt((1 - rho**2) / count)
        varies = float(np.std(spent_ns)) > 0
        found = float(np.corrcoef(spent_ns[1:], spent_ns[:-1])[0, 1]) if varies else None
        yield QuantityCheck("correlation of neighbours", "", rho, tolerance, SAMPLING, found)
        return
    law_of_one: Any
    if law.law == "normal":
        law_of_one, density = stats.norm(law.mean_ns, law.deviation_ns), 1 / math.sqrt(2 * math.pi) / law.deviation_ns
    else:
        mean, variance = _PARETO_SHAPE / (_PARETO_SHAPE - 1), _PARETO_SHAPE / (_PARETO_SHAPE - 1) ** 2
        scale = law.deviation_ns / math.sqrt(variance / (_PARETO_SHAPE - 2))
        density = _PARETO_SHAPE / scale
        law_of_one = stats.pareto(_PARETO_SHAPE, loc=law.mean_ns - mean * scale, scale=scale)
    distance = float(stats.kstest(spent_ns, law_of_one.cdf).statistic)
    allowed, reason = late.distance(count, density)
    yield QuantityCheck("distance from the law", "", 0.0, allowed, reason, distance)


def _doubling(law: Doubling, times: NDArray[np.int64]) -> Iterator[QuantityCheck]:
    count, p = len(times), law.probability
    low, high = stats.binom.interval(CONFIDENCE, count, p)
    tolerance = float(max(high - count * p, count * p - low))
    yield QuantityCheck("packets that came twice", "", count * p, tolerance, BINOMIAL, float(np.sum(times == 2)))
    yield QuantityCheck(
        "packets that came more often", "", 0.0, 0.0, "none: a copy is not copied", float(np.sum(times > 2))
    )


def _displacement(law: Displacement, period_ns: int, spent_ns: Times, late: WakeUpDelay) -> Iterator[QuantityCheck]:
    """The k-th later packet comes k periods later; one that is chosen itself lets the others through."""
    count, p = len(spent_ns), law.probability
    chosen = spent_ns > period_ns / 2
    low, high = stats.binom.interval(CONFIDENCE, count, p)
    tolerance = float(max(high - count * p, count * p - low))
    yield QuantityCheck("packets displaced", "", count * p, tolerance, BINOMIAL, float(np.sum(chosen)))
    places = float(np.median(spent_ns[chosen])) / period_ns if chosen.any() else None
    yield QuantityCheck("places, median", "", float(law.depth), late.median_ns / period_ns, late.median_reason, places)


def _departures(due_ns: Times, came_ns: Times, late: WakeUpDelay) -> Iterator[QuantityCheck]:
    worst_us = late.largest(np.abs(came_ns - due_ns)) / 1e3
    yield QuantityCheck(f"{late.word} error of a departure", "µs", 0.0, late.most_ns / 1e3, late.reason, worst_us)


def _integral(law: VaryingRate, case: Case) -> Times:
    """Return when the integral of the rate has reached each packet's last bit."""
    starts_ns = np.array([at_ns for at_ns, _ in law.steps], dtype=np.float64)
    rates = np.array([rate_bps for _, rate_bps in law.steps], dtype=np.float64)
    carried = np.concatenate(([0.0], np.cumsum(np.diff(starts_ns) * rates[:-1] / 1e9)))
    bits = np.arange(1, case.schedule.count + 1) * case.size_bytes * 8.0
    step = np.searchsorted(carried, bits, side="left") - 1
    due_ns: Times = starts_ns[step] + (bits - carried[step]) / rates[step] * 1e9
    return due_ns


def _moments(law: Opportunities, case: Case) -> Times:
    number = np.arange(case.schedule.count)
    times_ns = np.array(law.times_ns, dtype=np.float64)
    due_ns: Times = times_ns[number % len(times_ns)] + number // len(times_ns) * law.period_ns
    return due_ns


def _controlled(
    law: ControlledDelay, case: Case, sent_ns: Times, spent_ns: Times, late: WakeUpDelay
) -> Iterator[QuantityCheck]:
    """Against the pseudocode of RFC 8289, packet by packet."""
    expected_ns = codel(law, case.size_bytes, sent_ns - sent_ns[0])
    lost = float(np.sum(np.isnan(expected_ns)))
    reason = "two: where a wake-up decides on which side of a time a packet falls"
    yield QuantityCheck("packets lost", "", lost, _DROPS_TOLERANCE, reason, float(np.sum(np.isnan(spent_ns))))
    middle_ms = float(np.nanmedian(expected_ns)) / 1e6
    tolerance_ms = (case.size_bytes * 8e9 / law.rate_bps + late.median_ns) / 1e6
    found_ms = float(np.nanmedian(spent_ns)) / 1e6
    yield QuantityCheck(
        "median delay", "ms", middle_ms, tolerance_ms, "one packet's time: one dropped earlier or later", found_ms
    )


def codel(law: ControlledDelay, size_bytes: int, sent_ns: Times) -> Times:
    """Delays of packets through CoDel as RFC 8289 writes it, NaN for those that it drops; transmission included."""
    packet_ns = size_bytes * 8e9 / law.rate_bps
    delays_ns = np.full(len(sent_ns), np.nan)
    free_ns, head = 0.0, 0
    above_ns = next_ns = 0.0
    dropping, drops, before = False, 0, 0

    def take(now_ns: float) -> tuple[int, bool]:
        """The packet at the head, and whether delays have been above the target for an interval."""
        nonlocal head, above_ns
        taken = head
        head += 1
        waits_more = head < len(sent_ns) and sent_ns[head] <= now_ns
        if now_ns - sent_ns[taken] < law.target_ns or not waits_more:
            above_ns = 0.0
            return taken, False
        if above_ns == 0.0:
            above_ns = now_ns + law.interval_ns
            return taken, False
        return taken, now_ns >= above_ns

    while head < len(sent_ns):
        now_ns = max(free_ns, float(sent_ns[head]))
        taken, high = take(now_ns)
        if dropping and not high:
            dropping = False
        while dropping and now_ns >= next_ns and head < len(sent_ns):
            drops += 1
            taken, high = take(now_ns)
            if not high:
                dropping = False
            else:
                next_ns += law.interval_ns / math.sqrt(drops)
        if not dropping and high and head < len(sent_ns):
            taken, _ = take(now_ns)
            dropping = True
            recent = drops - before
            drops = recent if recent > 1 and now_ns - next_ns < 16 * law.interval_ns else 1
            next_ns = now_ns + law.interval_ns / math.sqrt(drops)
            before = drops
        free_ns = now_ns + packet_ns
        delays_ns[taken] = free_ns - sent_ns[taken]
    return delays_ns


def _fair(law: FairShare, case: Case, sent_ns: Times, received_ns: Times) -> Iterator[QuantityCheck]:
    flow = np.array([case.flow(sequence) for sequence in range(len(sent_ns))])
    last_ns = sent_ns[-1]
    counted = (received_ns > sent_ns[0] + (last_ns - sent_ns[0]) / 4) & (received_ns < last_ns)
    share = float(np.mean(flow[counted] == 1)) if counted.any() else None
    yield QuantityCheck("share of the lighter flow", "", 0.5, _SHARE_TOLERANCE, "1 %: rounds of two packets", share)
    packet_ns = case.size_bytes * 8e9 / law.rate_bps
    carried = float(np.sum(counted)) * packet_ns / (last_ns - sent_ns[0]) / 0.75
    yield QuantityCheck("utilisation", "", 1.0, _SHARE_TOLERANCE, "1 %: a few packets at the edges", carried)


def _early(law: EarlyDrop, case: Case, sent_ns: Times, spent_ns: Times) -> Iterator[QuantityCheck]:
    """Load a times the rate: a share d = 1 − 1/a is dropped.

    RED spreads drops evenly: at probability p they are 1 to 1/p packets apart, (1 + 1/p)/2 on average, so
    d = 2p/(1 + p) and p = d/(2 − d). The mean queue is where RED's line has that p.
    """
    packet_ns = case.size_bytes * 8e9 / law.rate_bps
    dropped = 1 - case.schedule.period_ns / packet_ns
    settled = sent_ns - sent_ns[0] > _SETTLED_NS
    share = float(np.mean(np.isnan(spent_ns[settled])))
    yield QuantityCheck("share dropped", "", dropped, _SHARE_TOLERANCE, "1 %: the queue's own swing", share)
    p = dropped / (2 - dropped)
    queue_bytes = law.minimum_bytes + (law.maximum_bytes - law.minimum_bytes) * p / law.probability
    delay_ms = (queue_bytes + case.size_bytes) * 8e3 / law.rate_bps
    found = float(np.nanmean(spent_ns[settled])) / 1e6
    yield QuantityCheck(
        "mean delay", "ms", delay_ms, delay_ms * _QUEUE_SHARE, "10 %: the average lags behind the queue", found
    )
