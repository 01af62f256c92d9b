"""The kind of number that a metric is, which decides how two arms are compared, and its margin of equivalence."""

from dataclasses import dataclass
from enum import StrEnum


class Quantity(StrEnum):
    """The kind of number that a metric is; docs/explanation/method.md has the analysis of each.

    A ratio has no meaning if zero is an ordinary value, and the ratio of two numbers near 1 hides their distance
    from 1. So only a RATIO is compared by ratios; the others are compared by differences in their unit.
    """

    RATIO = "ratio"  # a time, rate, size or cost above 0, of which twice as much means the same everywhere
    AMOUNT = "amount"  # an amount that is often exactly 0, such as seconds of stalls, or may be below 0
    COUNT = "count"  # how often something happened, or a number on a ladder
    SHARE = "share"  # a part of a whole, in %
    INDEX = "index"  # a fairness index as Jain's: 1 if all parts are equal, compared by its distance from 1


@dataclass(frozen=True)
class Margin:
    """The margin of equivalence: differences within ± `size` do not matter, for the `reason` given.

    `size` is in % for a RATIO (between 1/(1 + size) and 1 + size), else in the unit of effects (`Metric.effect_unit`).
    """

    size: float
    reason: str


OF_TIMES = Margin(
    3.0,
    "users notice a difference in a waiting time from about 20 % on (Seow, Designing and Engineering Time, 2008); "
    "3 % stays well below",
)
OF_RATES = Margin(3.0, "a load takes its bytes by its rate, so the margin is the same as for times")
OF_SHARES = Margin(1.0, "one of a hundred")
OF_LOSSES = Margin(
    0.1,
    "the rate of a loss-based sender goes with 1/√p (Mathis et al., CCR 1997), so 0.1 points change it by 5 % at a "
    "loss of 1 %",
)
OF_STALLS = Margin(
    0.1,
    "one point more of buffering costs a live match of 90 minutes 3 minutes of watching (Dobrian et al., SIGCOMM "
    "2011), 0.1 points 18 s",
)
OF_PACKETS = Margin(0.5, "the 8 bytes of PPPoE (RFC 2516) are 0.53 % of 1500 and still count")
OF_DELAYS = Margin(1.0, "a millisecond is the queueing delay that L4S aims at (RFC 9330)")
