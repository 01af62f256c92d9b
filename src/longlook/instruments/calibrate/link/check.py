"""A checked quantity, and how late a sound router may send packets: the vocabulary of all checks."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats

CONFIDENCE = 0.999
Z = float(stats.norm.isf((1 - CONFIDENCE) / 2))
SAMPLING = "99.9 % interval of the sample"
BINOMIAL = "99.9 % interval of the binomial law"
KOLMOGOROV = "99.9 % point of Kolmogorov and Smirnov's"

Times = NDArray[np.float64]
"""Nanoseconds; NaN: never."""


@dataclass(frozen=True)
class QuantityCheck:
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
        return self.value is not None and bool(abs(self.value - self.theory) <= self.tolerance * (1 + 1e-9))


@dataclass(frozen=True)
class WakeUpDelay:
    """The delay that a router's wake-ups may add: to the median, and to all but `spared` of the packets. Nanoseconds.

    `usual_ns` is the most by which they may shift a whole distribution.
    """

    most_ns: int
    median_ns: int
    usual_ns: int
    spared: float
    word: str
    reason: str
    median_reason: str

    def distance(self, count: int, density: float) -> tuple[float, str]:
        """Return the largest Kolmogorov–Smirnov distance of a sample from its law, and the reason of that limit.

        `density` is the law's largest density, per ns.
        """
        allowed = float(stats.kstwo.ppf(CONFIDENCE, count)) + self.usual_ns * density
        return allowed, KOLMOGOROV + (f", and a shift of {self.usual_ns / 1e3:g} µs" if self.usual_ns else "")

    def largest(self, values: Times) -> float:
        """Return the largest value without the share of them that is spared; NaN without values."""
        return float(np.quantile(values, 1 - self.spared, method="higher")) if len(values) else float("nan")


VIRTUAL = WakeUpDelay(
    most_ns=10_000,
    median_ns=3_000,
    usual_ns=0,
    spared=0.0,
    word="largest",
    reason="wake-ups of the router: 10 µs at most",
    median_reason="half a dozen readings of the clock, 256 ns each, sender's included",
)
"""A packet leaves when the router has been woken and has read the clock, at 256 ns of virtual time a reading.

Once a second it first relates the monotonic clock to the wall clock, by 30 readings: 7.7 µs.
"""

LIVE = WakeUpDelay(
    most_ns=1_000_000,
    median_ns=100_000,
    usual_ns=20_000,
    spared=0.001,
    word="99.9 % point of",
    reason="1 ms, from where on a packet counts as late; one in a thousand may be (docs/explanation/lab.md)",
    median_reason="a wake-up by the kernel without spinning, and the probe's system call",
)
"""On a host, where other work and other machines take the processor at will."""
