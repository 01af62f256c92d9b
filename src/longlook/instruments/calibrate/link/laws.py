"""The laws that packets follow through a link, each with its theory, and the cases of a calibration.

A law is one class: its parameters, and `check`, which compares packets with the theory and says how far a sound
emulator may be from it and why. Tolerances of random quantities are 99.9 % intervals of their sampling distribution.
The draws are seeded, so a sound link is inside them always or never, and was inside when its seed was chosen. `queues`
has the laws of bottlenecks.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

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
from longlook.instruments.calibrate.link.passages import Passage

_PAIRS_NEEDED = 50  # for the normal approximation of their number
_PARETO_SHAPE = 3.0
_RENEWAL = "99.9 % interval (normal) of a renewal process"


@dataclass(frozen=True)
class ObservedPackets:
    """The packets of a case in the order of sending, as they were seen.

    `received_ns` is when each packet first arrived, NaN if it never did; `times` is how often it came, and `marked`
    whether it came with a mark (ECN), None if nobody looked. `late` is how late a sound router may send.
    """

    sent_ns: Times
    received_ns: Times
    times: NDArray[np.int64]
    marked: NDArray[np.bool_] | None = None
    late: WakeUpDelay = VIRTUAL

    @cached_property
    def spent_ns(self) -> Times:
        """The time from sending to arrival."""
        return self.received_ns - self.sent_ns

    @cached_property
    def lost(self) -> NDArray[np.bool_]:
        """Whether each packet never arrived."""
        return np.isnan(self.received_ns)


class Law(ABC):
    """A law that packets follow through a link."""

    @abstractmethod
    def check(self, case: "Case", seen: ObservedPackets) -> Iterator[QuantityCheck]:
        """Yield each quantity of the law: its theory, its tolerance, and its value in the packets seen."""

    def enough(self, came: NDArray[np.bool_]) -> bool:
        """Return whether enough packets came to check the law: all of them, unless it loses some itself."""
        return bool(came.all())

    def other_depths(self, records: NDArray[np.void], accepted: NDArray[np.bool_]) -> int | None:
        """Return how many packets met another depth of the queue than theory demands; None if it demands none.

        `records` is a link's log, one record for each packet in the order of arrival. `accepted` says which packets
        the queue took.
        """
        return None


class Loss(Law):
    """A law that loses packets by chance: all may be lost."""

    def enough(self, came: NDArray[np.bool_]) -> bool:
        """Return True: packets that are lost are what the law is about."""
        return True


@dataclass(frozen=True, kw_only=True)
class Case(Passage):
    """A passage, and the law that its packets follow."""

    law: Law

    @property
    def passage(self) -> Passage:
        """The passage without its law, as a guest gets it."""
        return Passage(**{each.name: getattr(self, each.name) for each in fields(Passage)})

    def checks(self, seen: ObservedPackets) -> list[QuantityCheck]:
        """Return all checks of the law. They have no value if nothing can be measured, since too few packets came."""
        came = ~seen.lost
        if len(came) == self.schedule.count and self.law.enough(came):
            return list(self.law.check(self, seen))
        sent_ns = np.array(self.schedule.offsets_ns(), dtype=np.float64)
        made_up = ObservedPackets(
            sent_ns, sent_ns + np.arange(self.schedule.count), np.ones(len(sent_ns), dtype=np.int64), None, seen.late
        )
        return [replace(check, value=None) for check in self.law.check(self, made_up)]


@dataclass(frozen=True)
class Propagation(Law):
    """Every packet arrives `delay_ns` after it was sent."""

    delay_ns: int

    def check(self, case: "Case", seen: ObservedPackets) -> Iterator[QuantityCheck]:
        """Yield the checks of the law."""
        late, delay_ms = seen.late, self.delay_ns / 1e6
        median_ms = float(np.median(seen.spent_ns)) / 1e6
        yield QuantityCheck("median delay", "ms", delay_ms, late.median_ns / 1e6, late.median_reason, median_ms)
        largest_ms = late.largest(seen.spent_ns) / 1e6
        yield QuantityCheck(f"{late.word} delay", "ms", delay_ms, late.most_ns / 1e6, late.reason, largest_ms)


@dataclass(frozen=True)
class UniformDelay(Law):
    """Each packet is delayed by a draw of its own, uniform from `low_ns` to `high_ns`."""

    low_ns: int
    high_ns: int

    def check(self, case: "Case", seen: ObservedPackets) -> Iterator[QuantityCheck]:
        """Yield the checks of the law."""
        count, width_ns = len(seen.spent_ns), self.high_ns - self.low_ns
        middle_ns, spread_ns = (self.low_ns + self.high_ns) / 2, width_ns / math.sqrt(12)
        mean_tolerance_ns = Z * spread_ns / math.sqrt(count)
        yield QuantityCheck(
            "mean delay", "ms", middle_ns / 1e6, mean_tolerance_ns / 1e6, SAMPLING, float(np.mean(seen.spent_ns)) / 1e6
        )
        # Var(s²) ≈ σ⁴ (κ − 1)/n with kurtosis κ = 9/5 of the uniform law, and s is its root: σ √((κ − 1)/4n).
        sd_tolerance_ns = Z * spread_ns * math.sqrt(0.8 / 4 / count)
        sd_ns = float(np.std(seen.spent_ns, ddof=1))
        yield QuantityCheck("standard deviation", "ms", spread_ns / 1e6, sd_tolerance_ns / 1e6, SAMPLING, sd_ns / 1e6)
        distance = float(stats.kstest(seen.spent_ns, stats.uniform(self.low_ns, width_ns).cdf).statistic)
        allowed, reason = seen.late.distance(count, 1 / width_ns)
        yield QuantityCheck("distance from the law", "", 0.0, allowed, reason, distance)
        outside = (seen.spent_ns < self.low_ns) | (seen.spent_ns > self.high_ns + seen.late.most_ns)
        spared = math.ceil(seen.late.spared * count)
        yield QuantityCheck(
            "packets out of range", "", 0.0, spared, f"{spared or 'none'}; {seen.late.reason}", float(np.sum(outside))
        )


@dataclass(frozen=True)
class Overtaking(Law):
    """Two packets `spacing_ns` apart are delayed by independent draws, uniform over `width_ns`; the second may win."""

    spacing_ns: int
    width_ns: int

    def check(self, case: "Case", seen: ObservedPackets) -> Iterator[QuantityCheck]:
        """Yield the check for independent U, V uniform over [0, w]: P(V + s < U) = (1 − s/w)²/2."""
        pairs = seen.received_ns.reshape(-1, 2)
        p = (1 - self.spacing_ns / self.width_ns) ** 2 / 2
        low, high = stats.binom.interval(CONFIDENCE, len(pairs), p)
        tolerance = max(high / len(pairs) - p, p - low / len(pairs))
        share = float(np.mean(pairs[:, 1] < pairs[:, 0]))
        yield QuantityCheck("share overtaken", "", p, float(tolerance), BINOMIAL, share)


@dataclass(frozen=True)
class RandomDelay(Law):
    """A delay of this mean and deviation: `normal`, or `pareto` of shape 3; `correlation` from packet to packet."""

    law: str
    mean_ns: int
    deviation_ns: int
    correlation: float = 0.0

    def check(self, case: "Case", seen: ObservedPackets) -> Iterator[QuantityCheck]:
        """Yield the checks of the law."""
        count, rho = len(seen.spent_ns), self.correlation
        spread_ns = self.deviation_ns * math.sqrt((1 + rho) / (1 - rho) / count)
        mean_ms = float(np.mean(seen.spent_ns)) / 1e6
        yield QuantityCheck("mean delay", "ms", self.mean_ns / 1e6, Z * spread_ns / 1e6, SAMPLING, mean_ms)
        if rho:
            # Bartlett: the first sample autocorrelation of such a process has variance (1 − ρ²)/n.
            tolerance = Z * math.sqrt((1 - rho**2) / count)
            varies = float(np.std(seen.spent_ns)) > 0
            found = float(np.corrcoef(seen.spent_ns[1:], seen.spent_ns[:-1])[0, 1]) if varies else None
            yield QuantityCheck("correlation of neighbours", "", rho, tolerance, SAMPLING, found)
            return
        law_of_one: Any
        if self.law == "normal":
            law_of_one, density = (
                stats.norm(self.mean_ns, self.deviation_ns),
                1 / math.sqrt(2 * math.pi) / self.deviation_ns,
            )
        else:
            mean, variance = _PARETO_SHAPE / (_PARETO_SHAPE - 1), _PARETO_SHAPE / (_PARETO_SHAPE - 1) ** 2
            scale = self.deviation_ns / math.sqrt(variance / (_PARETO_SHAPE - 2))
            density = _PARETO_SHAPE / scale
            law_of_one = stats.pareto(_PARETO_SHAPE, loc=self.mean_ns - mean * scale, scale=scale)
        distance = float(stats.kstest(seen.spent_ns, law_of_one.cdf).statistic)
        allowed, reason = seen.late.distance(count, density)
        yield QuantityCheck("distance from the law", "", 0.0, allowed, reason, distance)


@dataclass(frozen=True)
class Displacement(Law):
    """With `probability`, a packet waits until `depth` later ones have passed it."""

    probability: float
    depth: int

    def check(self, case: "Case", seen: ObservedPackets) -> Iterator[QuantityCheck]:
        """Yield the checks of the law.

        The k-th later packet comes k periods later. One that is chosen itself lets the others through.
        """
        count, p, period_ns = len(seen.spent_ns), self.probability, case.schedule.period_ns
        chosen = seen.spent_ns > period_ns / 2
        low, high = stats.binom.interval(CONFIDENCE, count, p)
        tolerance = float(max(high - count * p, count * p - low))
        yield QuantityCheck("packets displaced", "", count * p, tolerance, BINOMIAL, float(np.sum(chosen)))
        places = float(np.median(seen.spent_ns[chosen])) / period_ns if chosen.any() else None
        yield QuantityCheck(
            "places, median",
            "",
            float(self.depth),
            seen.late.median_ns / case.schedule.period_ns,
            seen.late.median_reason,
            places,
        )


@dataclass(frozen=True)
class Doubling(Law):
    """Each packet comes twice with `probability`."""

    probability: float

    def check(self, case: "Case", seen: ObservedPackets) -> Iterator[QuantityCheck]:
        """Yield the checks of the law."""
        count, p = len(seen.times), self.probability
        low, high = stats.binom.interval(CONFIDENCE, count, p)
        tolerance = float(max(high - count * p, count * p - low))
        yield QuantityCheck(
            "packets that came twice", "", count * p, tolerance, BINOMIAL, float(np.sum(seen.times == 2))
        )
        yield QuantityCheck(
            "packets that came more often", "", 0.0, 0.0, "none: a copy is not copied", float(np.sum(seen.times > 2))
        )


@dataclass(frozen=True)
class Bernoulli(Loss):
    """Each packet is lost with `probability`, independently of all others."""

    probability: float

    def check(self, case: "Case", seen: ObservedPackets) -> Iterator[QuantityCheck]:
        """Yield the checks of the law."""
        count, p = len(seen.lost), self.probability
        mean = count * p
        low, high = stats.binom.interval(CONFIDENCE, count, p)
        reason = BINOMIAL
        yield QuantityCheck(
            "packets lost", "", mean, float(max(high - mean, mean - low)), reason, float(np.sum(seen.lost))
        )
        pairs = (count - 1) * p**2
        if pairs >= _PAIRS_NEEDED:
            # Neighbouring pairs share a packet, so they are correlated: Var = Σ p²(1−p²) + 2 Σ (p³−p⁴).
            spread = math.sqrt((count - 1) * p**2 * (1 - p**2) + 2 * (count - 2) * (p**3 - p**4))
            together = float(np.sum(seen.lost[1:] & seen.lost[:-1]))
            yield QuantityCheck(
                "neighbours both lost", "", pairs, Z * spread, "99.9 % interval if independent", together
            )


@dataclass(frozen=True)
class Gilbert(Loss):
    """Packets are lost in one of two states; each packet is followed by a change of state with these probabilities."""

    good_to_bad: float
    bad_to_good: float

    def check(self, case: "Case", seen: ObservedPackets) -> Iterator[QuantityCheck]:
        """Yield the checks of a Markov chain with eigenvalue λ = 1 − p − r: Var(losses) ≈ n π(1 − π)(1 + λ)/(1 − λ)."""
        count, p, r = len(seen.lost), self.good_to_bad, self.bad_to_good
        share, memory = p / (p + r), 1 - p - r
        spread = math.sqrt(count * share * (1 - share) * (1 + memory) / (1 - memory))
        reason = "99.9 % interval (normal) of a Markov chain"
        yield QuantityCheck("packets lost", "", count * share, Z * spread, reason, float(np.sum(seen.lost)))
        runs = runs_of(seen.lost)
        expected = count * share * r
        tolerance = Z * math.sqrt(1 - r) / r / math.sqrt(expected)
        mean = float(np.mean(runs)) if len(runs) else None
        yield QuantityCheck(
            "mean length of a burst", "", 1 / r, tolerance, "99.9 % interval of geometric lengths", mean
        )


@dataclass(frozen=True)
class Bursts(Loss):
    """At a packet outside of a burst one begins with `probability` and takes `packets` packets."""

    probability: float
    packets: int

    def check(self, case: "Case", seen: ObservedPackets) -> Iterator[QuantityCheck]:
        """Yield the checks of bursts: from one begin to the next are a geometric number of packets, and L − 1 more."""
        count, p, length = len(seen.lost), self.probability, self.packets
        cycle, variance = 1 / p + length - 1, (1 - p) / p**2
        tolerance = length * Z * math.sqrt(count * variance / cycle**3)
        yield QuantityCheck("packets lost", "", count / cycle * length, tolerance, _RENEWAL, float(np.sum(seen.lost)))
        odd = float(np.sum(runs_of(seen.lost) % length != 0)) if seen.lost.any() else None
        yield QuantityCheck("bursts of another length", "", 0.0, 0.0, "none: a run is one burst or several", odd)


def runs_of(lost: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return the lengths of runs of lost packets, without one that the end cuts."""
    edges = np.flatnonzero(np.diff(np.concatenate(([0], lost.astype(np.int8)))))
    return np.diff(edges[: len(edges) // 2 * 2])[::2]
