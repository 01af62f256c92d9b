"""The theory of each law, how far a sound emulator may be from it and why, and the measured values.

Tolerances of random quantities are 99.9 % intervals of their sampling distribution: the draws are seeded, so a sound
link is inside them always or never, and was inside when its seed was chosen.
"""

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from longlook.instruments.calibrate.link import impairments, marking
from longlook.instruments.calibrate.link.cases import (
    Bernoulli,
    Bottleneck,
    Case,
    Coupled,
    DropTail,
    Overtaking,
    Propagation,
    Schedule,
    UniformDelay,
)
from longlook.instruments.calibrate.link.check import (
    BINOMIAL,
    CONFIDENCE,
    SAMPLING,
    VIRTUAL,
    QuantityCheck,
    Times,
    WakeUpDelay,
    Z,
)

RATE_SHARE = 1e-4
_PAIRS_NEEDED = 50  # for the normal approximation of their number

_LOSING = (DropTail, Coupled, *impairments.LOSING)
"""Laws that lose packets and whose own check counts the losses."""


def checks(
    case: Case,
    sent_ns: Times,
    received_ns: Times,
    times: NDArray[np.int64] | None = None,
    late: WakeUpDelay = VIRTUAL,
    marked: NDArray[np.bool_] | None = None,
) -> list[QuantityCheck]:
    """Return all checks of a case's law, from its packets in the order of sending.

    `received_ns` is when each first arrived (NaN: never), `times` how often, `marked` whether with a mark (ECN). If
    nothing can be measured, the checks have no value.
    """
    law = case.law
    came = ~np.isnan(received_ns)
    whole = len(came) == case.schedule.count
    if isinstance(law, Bernoulli | impairments.Lossy):
        pass  # all may be lost
    elif isinstance(law, _LOSING):
        whole = whole and bool(came.any())
    else:
        whole = whole and bool(came.all())
    if not whole:
        came = np.ones(case.schedule.count, dtype=bool)
        sent_ns = np.array(case.schedule.offsets_ns(), dtype=np.float64)
        received_ns = sent_ns + np.arange(case.schedule.count)
    if isinstance(law, marking.MARKING):
        found = list(marking.judged(case, sent_ns, received_ns, marked if whole else None))
    else:
        found = list(_judged(case, sent_ns, received_ns, came, times, late))
    return found if whole else [_unmeasured(check) for check in found]


def _judged(
    case: Case,
    sent_ns: Times,
    received_ns: Times,
    came: NDArray[np.bool_],
    times: NDArray[np.int64] | None,
    late: WakeUpDelay,
) -> Iterator[QuantityCheck]:
    found: Iterator[QuantityCheck]
    match case.law:
        case Bottleneck() as law:
            found = _bottleneck(law, case.size_bytes, case.schedule, received_ns, late)
        case Propagation() as law:
            found = _propagation(law, received_ns - sent_ns, late)
        case DropTail() as law:
            found = _drop_tail(law, case.size_bytes, case.schedule, (received_ns - sent_ns)[came], late)
        case Bernoulli() as law:
            found = _bernoulli(law, ~came)
        case UniformDelay() as law:
            found = _uniform(law, received_ns - sent_ns, late)
        case Overtaking() as law:
            found = _overtaking(law, received_ns)
        case _:
            found = impairments.judged(case, sent_ns, received_ns, times, late)
    return found


def _unmeasured(check: QuantityCheck) -> QuantityCheck:
    return QuantityCheck(check.quantity, check.unit, check.theory, check.tolerance, check.reason, None)


def _bottleneck(
    law: Bottleneck, size_bytes: int, schedule: Schedule, received_ns: Times, late: WakeUpDelay
) -> Iterator[QuantityCheck]:
    packet_ns = size_bytes * 8e9 / law.rate_bps
    gaps_ns = np.diff(received_ns)
    mean_bps = size_bytes * 8e9 * (schedule.count - 1) / (received_ns[-1] - received_ns[0])
    mbit = law.rate_bps / 1e6
    reason = "0.01 %: a late first or last packet of 120 ms at 100 Mbit/s is 0.008 %"
    yield QuantityCheck("rate", "Mbit/s", mbit, mbit * RATE_SHARE, reason, float(mean_bps) / 1e6)
    worst_ns = late.largest(np.abs(gaps_ns - packet_ns))
    yield QuantityCheck(f"{late.word} error of a gap", "µs", 0.0, late.most_ns / 1e3, late.reason, worst_ns / 1e3)


def _propagation(law: Propagation, spent_ns: Times, late: WakeUpDelay) -> Iterator[QuantityCheck]:
    delay_ms = law.delay_ns / 1e6
    median_ms = float(np.median(spent_ns)) / 1e6
    yield QuantityCheck("median delay", "ms", delay_ms, late.median_ns / 1e6, late.median_reason, median_ms)
    largest_ms = late.largest(spent_ns) / 1e6
    yield QuantityCheck(f"{late.word} delay", "ms", delay_ms, late.most_ns / 1e6, late.reason, largest_ms)


def _drop_tail(
    law: DropTail, size_bytes: int, schedule: Schedule, spent_ns: Times, late: WakeUpDelay
) -> Iterator[QuantityCheck]:
    """A queue that more than fills stays full but for the packet that left last.

    So when the last packet is sent, at t, the link has sent ⌊t/T⌋ packets, T the time of one, and holds as many as
    fit, n. A packet that takes the place of one that left φ before leaves nT − φ after it came: as soon as the queue
    is full, the longest delay is that of the smallest φ.
    """
    packet_ns = size_bytes * 8e9 / law.rate_bps
    held = law.queue_bytes // size_bytes
    last_ns = (schedule.count - 1) * schedule.period_ns
    through = held + math.floor(last_ns / packet_ns)
    reason = "one may come as another leaves"
    yield QuantityCheck("packets through", "", float(through), 1.0, reason, float(len(spent_ns)))
    came_ns = np.arange(schedule.count) * schedule.period_ns
    full_ns = came_ns[np.argmax(np.arange(1, schedule.count + 1) - came_ns // packet_ns >= held)]
    left_ns = np.arange(1, math.floor(last_ns / packet_ns) + 1) * packet_ns
    phase_ns = np.min(-left_ns[(left_ns >= full_ns) & (left_ns <= last_ns - schedule.period_ns)] % schedule.period_ns)
    longest_ms = (held * packet_ns - float(phase_ns)) / 1e6
    found = late.largest(spent_ns) / 1e6 if len(spent_ns) else None
    yield QuantityCheck("longest delay", "ms", longest_ms, late.most_ns / 1e6, late.reason, found)


def _bernoulli(law: Bernoulli, lost: NDArray[np.bool_]) -> Iterator[QuantityCheck]:
    count, p = len(lost), law.probability
    mean = count * p
    low, high = stats.binom.interval(CONFIDENCE, count, p)
    reason = BINOMIAL
    yield QuantityCheck("packets lost", "", mean, float(max(high - mean, mean - low)), reason, float(np.sum(lost)))
    pairs = (count - 1) * p**2
    if pairs >= _PAIRS_NEEDED:
        # Neighbouring pairs share a packet, so they are correlated: Var = Σ p²(1−p²) + 2 Σ (p³−p⁴).
        spread = math.sqrt((count - 1) * p**2 * (1 - p**2) + 2 * (count - 2) * (p**3 - p**4))
        together = float(np.sum(lost[1:] & lost[:-1]))
        yield QuantityCheck("neighbours both lost", "", pairs, Z * spread, "99.9 % interval if independent", together)


def _uniform(law: UniformDelay, spent_ns: Times, late: WakeUpDelay) -> Iterator[QuantityCheck]:
    count, width_ns = len(spent_ns), law.high_ns - law.low_ns
    middle_ns, spread_ns = (law.low_ns + law.high_ns) / 2, width_ns / math.sqrt(12)
    mean_tolerance_ns = Z * spread_ns / math.sqrt(count)
    yield QuantityCheck(
        "mean delay", "ms", middle_ns / 1e6, mean_tolerance_ns / 1e6, SAMPLING, float(np.mean(spent_ns)) / 1e6
    )
    # Var(s²) ≈ σ⁴ (κ − 1)/n with kurtosis κ = 9/5 of the uniform law, and s is its root: σ √((κ − 1)/4n).
    sd_tolerance_ns = Z * spread_ns * math.sqrt(0.8 / 4 / count)
    sd_ns = float(np.std(spent_ns, ddof=1))
    yield QuantityCheck("standard deviation", "ms", spread_ns / 1e6, sd_tolerance_ns / 1e6, SAMPLING, sd_ns / 1e6)
    distance = float(stats.kstest(spent_ns, stats.uniform(law.low_ns, width_ns).cdf).statistic)
    allowed, reason = late.distance(count, 1 / width_ns)
    yield QuantityCheck("distance from the law", "", 0.0, allowed, reason, distance)
    outside = (spent_ns < law.low_ns) | (spent_ns > law.high_ns + late.most_ns)
    spared = math.ceil(late.spared * count)
    yield QuantityCheck(
        "packets out of range", "", 0.0, spared, f"{spared or 'none'}; {late.reason}", float(np.sum(outside))
    )


def _overtaking(law: Overtaking, received_ns: Times) -> Iterator[QuantityCheck]:
    """For independent U, V uniform over [0, w]: P(V + s < U) = (1 − s/w)²/2."""
    pairs = received_ns.reshape(-1, 2)
    p = (1 - law.spacing_ns / law.width_ns) ** 2 / 2
    low, high = stats.binom.interval(CONFIDENCE, len(pairs), p)
    tolerance = max(high / len(pairs) - p, p - low / len(pairs))
    share = float(np.mean(pairs[:, 1] < pairs[:, 0]))
    yield QuantityCheck("share overtaken", "", p, float(tolerance), BINOMIAL, share)
