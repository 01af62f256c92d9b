"""The size of a published effect beside ours: as ratios of the two arms, whose distance is a factor."""

import math
from dataclasses import dataclass

from longlook.analysis.stats.stopping import margin_in_unit
from longlook.core import Analysis, Better, Claim, Estimate, find_metric

SIZE_FACTOR = 1.25
"""Two sizes are the same if the ratios of the arms differ by no more than this.

An interval holds the error of one laboratory alone. Over the claims on record that have a number and its direction,
half of the published ratios and ours lie within a factor of about this (docs/explanation/method.md).
"""

_NO_RATIO = "there is no log ratio"
"""A recorded estimate has this in its reason if its effect is a difference in % of the mean magnitude."""


@dataclass(frozen=True)
class OurEffect:
    """Our effect beside a published one, in its own unit: above 0 the contender is better.

    `margin` is the margin of equivalence in the same unit. The bounds are None if there is no interval. `ratio` is the
    contender's value over the baseline's, None if the effect is a difference.
    """

    value: float
    low: float | None
    high: float | None
    unit: str
    margin: float
    ratio: float | None

    @property
    def in_pct(self) -> bool:
        """Whether a published percentage can be compared with it."""
        return self.unit == "%"

    def lies_within(self, limit: float) -> bool:
        """Return whether there is an interval, and the whole of it lies between ± `limit`."""
        return self.low is not None and self.high is not None and self.low >= -limit and self.high <= limit

    def text(self, limit: float) -> str:
        """Return a limit with the unit: `3 %`."""
        return f"{limit:g} {self.unit}".rstrip()


def our_effect(estimate: Estimate, analysis: Analysis) -> OurEffect | None:
    """Return the effect of an estimate; None if there is none."""
    found = estimate.effect
    if found is None:
        return None
    is_ratio = estimate.difference is None and _NO_RATIO not in (estimate.reason or "")
    ratio = ratio_of(found.value, find_metric(estimate.metric).better) if is_ratio else None
    return OurEffect(found.value, found.low, found.high, found.unit, margin_in_unit(estimate, analysis), ratio)


@dataclass(frozen=True)
class SizeComparison:
    """Whether a published size agrees with ours. `factor` is between the ratios, at least 1; None: one is no ratio.

    `interval` says where the published value lies beside our interval; `reason` adds the factor.
    """

    agrees: bool
    factor: float | None
    interval: str

    @property
    def reason(self) -> str:
        """The comparison in words."""
        if self.factor is None:
            return self.interval
        return f"{self.interval}, and the ratios differ by a factor of {self.factor:.2f}"


def is_clipped(claim: Claim) -> bool:
    """Return whether the published effect is at the end of the source's scale, and so a bound."""
    clip, published = claim.clipped_at_pct, claim.effect_pct
    return clip is not None and published is not None and abs(published) >= clip


def compare_sizes(claim: Claim, ours: OurEffect, better: Better) -> SizeComparison | None:
    """Return how the sizes agree; None without a published number, or if ours is in a unit of its own.

    They agree if the published value lies in our interval, widened by its reading error on both sides, or if the ratios
    of the arms differ by at most SIZE_FACTOR. A clipped value is a bound: it agrees with all beyond it, and what falls
    short of it is compared with the bound. Effects that are no ratios are compared by the interval alone. `better` is
    the direction of the metric.
    """
    published = claim.effect_pct
    if published is None or not ours.in_pct:
        return None
    low = (ours.value if ours.low is None else ours.low) - claim.uncertainty_pct
    high = (ours.value if ours.high is None else ours.high) + claim.uncertainty_pct
    between = f"our interval {low:+.1f} … {high:+.1f} % (reading error included)"
    if is_clipped(claim):
        inside = high >= published if published > 0 else low <= published
        reached = abs(ours.value) >= abs(published) and ours.value * published > 0
        bound = f"{'≥' if published > 0 else '≤'} {published:+g} %"
        shown = f"{claim.origin} {bound} {'agrees with' if inside else 'is beyond'} {between}"
    else:
        inside, reached = low <= published <= high, False
        shown = f"{claim.origin} {published:+g} % is {'inside' if inside else 'outside'} {between}"
    factor = 1.0 if reached else _factor(ratio_of(published, better), ours.ratio)
    return SizeComparison(inside or (factor is not None and factor <= SIZE_FACTOR), factor, shown)


def _factor(one: float | None, other: float | None) -> float | None:
    """Return the factor between two ratios, at least 1."""
    return None if one is None or other is None else math.exp(abs(math.log(one) - math.log(other)))


def ratio_of(effect_pct: float, better: Better) -> float | None:
    """Return the ratio of the contender's value to the baseline's; None if no ratio has this effect."""
    ratio = 1 - effect_pct / 100 if better is Better.LOWER else 1 + effect_pct / 100
    return ratio if ratio > 0 else None
