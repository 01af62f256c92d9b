"""What theory says of each law, how far a sound emulator may be from it and why, and what packets say.

Tolerances of random quantities are 99.9 % intervals of their sampling distribution: the draws are seeded, so a sound
link is inside them always or never, and was inside when its seed was chosen.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from longlook.calibration.cases import (
    Bernoulli,
    Bottleneck,
    Case,
    DropTail,
    Overtaking,
    Propagation,
    Schedule,
    UniformDelay,
)

CONFIDENCE = 0.999
_Z = float(stats.norm.isf((1 - CONFIDENCE) / 2))

LATENESS_NS = 10_000
"""A packet leaves when the router has been woken and has read the clock, at 256 ns of virtual time a reading.

Once a second it first relates the monotonic clock to the wall clock, by 30 readings: 7.7 µs.
"""
MEDIAN_LATENESS_NS = 3_000
RATE_SHARE = 1e-4
_PAIRS_NEEDED = 50  # for the normal approximation of their number

_LATE = "wake-ups of the router: 10 µs at most"
_SAMPLING = "99.9 % interval of the sample"

Times = NDArray[np.float64]
"""Nanoseconds; NaN: never."""


@dataclass(frozen=True)
class Check:
    """A quantity: the theory's value, how far from it is allowed and why, and the measured value, None without one."""

    quantity: str
    unit: str
    theory: float
    tolerance: float
    reason: str
    value: float | None

    @property
    def passed(self) -> bool:
        """Whether the measured value is within the tolerance; to 1e-9 of it, for sums of floats."""
        return self.value is not None and abs(self.value - self.theory) <= self.tolerance * (1 + 1e-9)


def checks(case: Case, sent_ns: Times, received_ns: Times) -> list[Check]:
    """Everything that a case's law says, against its packets in the order of sending."""
    law, schedule = case.law, case.schedule
    came = ~np.isnan(received_ns)
    whole = bool(came.all()) and len(came) == schedule.count
    match law:
        case Bottleneck():
            found = _bottleneck(law, case.size_bytes, schedule, received_ns)
        case Propagation():
            found = _propagation(law, received_ns - sent_ns)
        case DropTail():
            whole = bool(came.any())  # the law loses packets
            found = _drop_tail(law, case.size_bytes, schedule, (received_ns - sent_ns)[came])
        case Bernoulli():
            whole = len(came) == schedule.count
            found = _bernoulli(law, ~came)
        case UniformDelay():
            found = _uniform(law, received_ns - sent_ns)
        case Overtaking():
            found = _overtaking(law, received_ns)
    return list(found) if whole else [_unmeasured(check) for check in found]


def _unmeasured(check: Check) -> Check:
    return Check(check.quantity, check.unit, check.theory, check.tolerance, check.reason, None)


def _bottleneck(law: Bottleneck, size_bytes: int, schedule: Schedule, received_ns: Times) -> Iterator[Check]:
    packet_ns = size_bytes * 8e9 / law.rate_bps
    gaps_ns = np.diff(received_ns)
    mean_bps = size_bytes * 8e9 * (schedule.count - 1) / (received_ns[-1] - received_ns[0])
    mbit = law.rate_bps / 1e6
    reason = "0.01 %: a late first or last packet of 120 ms at 100 Mbit/s is 0.008 %"
    yield Check("rate", "Mbit/s", mbit, mbit * RATE_SHARE, reason, float(mean_bps) / 1e6)
    worst_ns = float(np.max(np.abs(gaps_ns - packet_ns)))
    yield Check("largest error of a gap", "µs", 0.0, LATENESS_NS / 1e3, _LATE, worst_ns / 1e3)


def _propagation(law: Propagation, spent_ns: Times) -> Iterator[Check]:
    delay_ms = law.delay_ns / 1e6
    reason = "half a dozen readings of the clock, 256 ns each, sender's included"
    yield Check("median delay", "ms", delay_ms, MEDIAN_LATENESS_NS / 1e6, reason, float(np.median(spent_ns)) / 1e6)
    yield Check("largest delay", "ms", delay_ms, LATENESS_NS / 1e6, _LATE, float(np.max(spent_ns)) / 1e6)


def _drop_tail(law: DropTail, size_bytes: int, schedule: Schedule, spent_ns: Times) -> Iterator[Check]:
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
    yield Check("packets through", "", float(through), 1.0, reason, float(len(spent_ns)))
    came_ns = np.arange(schedule.count) * schedule.period_ns
    full_ns = came_ns[np.argmax(np.arange(1, schedule.count + 1) - came_ns // packet_ns >= held)]
    left_ns = np.arange(1, math.floor(last_ns / packet_ns) + 1) * packet_ns
    phase_ns = np.min(-left_ns[(left_ns >= full_ns) & (left_ns <= last_ns - schedule.period_ns)] % schedule.period_ns)
    longest_ms = (held * packet_ns - float(phase_ns)) / 1e6
    found = float(np.max(spent_ns)) / 1e6 if len(spent_ns) else None
    yield Check("longest delay", "ms", longest_ms, LATENESS_NS / 1e6, _LATE, found)


def _bernoulli(law: Bernoulli, lost: NDArray[np.bool_]) -> Iterator[Check]:
    count, p = len(lost), law.probability
    mean = count * p
    low, high = stats.binom.interval(CONFIDENCE, count, p)
    reason = "99.9 % interval of the binomial law"
    yield Check("packets lost", "", mean, float(max(high - mean, mean - low)), reason, float(np.sum(lost)))
    pairs = (count - 1) * p**2
    if pairs >= _PAIRS_NEEDED:
        # Neighbouring pairs share a packet, so they are correlated: Var = Σ p²(1−p²) + 2 Σ (p³−p⁴).
        spread = math.sqrt((count - 1) * p**2 * (1 - p**2) + 2 * (count - 2) * (p**3 - p**4))
        together = float(np.sum(lost[1:] & lost[:-1]))
        yield Check("neighbours both lost", "", pairs, _Z * spread, "99.9 % interval if independent", together)


def _uniform(law: UniformDelay, spent_ns: Times) -> Iterator[Check]:
    count, width_ns = len(spent_ns), law.high_ns - law.low_ns
    middle_ns, spread_ns = (law.low_ns + law.high_ns) / 2, width_ns / math.sqrt(12)
    mean_tolerance_ns = _Z * spread_ns / math.sqrt(count)
    yield Check("mean delay", "ms", middle_ns / 1e6, mean_tolerance_ns / 1e6, _SAMPLING, float(np.mean(spent_ns)) / 1e6)
    # Var(s²) ≈ σ⁴ (κ − 1)/n with kurtosis κ = 9/5 of the uniform law, and s is its root: σ √((κ − 1)/4n).
    sd_tolerance_ns = _Z * spread_ns * math.sqrt(0.8 / 4 / count)
    sd_ns = float(np.std(spent_ns, ddof=1))
    yield Check("standard deviation", "ms", spread_ns / 1e6, sd_tolerance_ns / 1e6, _SAMPLING, sd_ns / 1e6)
    distance = float(stats.kstest(spent_ns, stats.uniform(law.low_ns, width_ns).cdf).statistic)
    allowed = float(stats.kstwo.ppf(CONFIDENCE, count))
    yield Check("distance from the law", "", 0.0, allowed, "99.9 % point of Kolmogorov and Smirnov's", distance)
    outside = (spent_ns < law.low_ns) | (spent_ns > law.high_ns + LATENESS_NS)
    yield Check("packets out of range", "", 0.0, 0.0, f"none; {_LATE}", float(np.sum(outside)))


def _overtaking(law: Overtaking, received_ns: Times) -> Iterator[Check]:
    """For independent U, V uniform over [0, w]: P(V + s < U) = (1 − s/w)²/2."""
    pairs = received_ns.reshape(-1, 2)
    p = (1 - law.spacing_ns / law.width_ns) ** 2 / 2
    low, high = stats.binom.interval(CONFIDENCE, len(pairs), p)
    tolerance = max(high / len(pairs) - p, p - low / len(pairs))
    share = float(np.mean(pairs[:, 1] < pairs[:, 0]))
    yield Check("share overtaken", "", p, float(tolerance), "99.9 % interval of the binomial law", share)
