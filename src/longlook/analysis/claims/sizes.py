"""The size of a published effect beside ours: as ratios of the two arms, whose distance is a factor."""

import math
from dataclasses import dataclass

from longlook.core import Better, Claim, Estimate, find_metric

SIZE_FACTOR = 1.25
"""Two sizes are the same if the ratios of the arms differ by no more than this.

An interval holds the error of one laboratory alone. Over the claims on record that have a number and its direction,
half of the published ratios and ours lie within a factor of about this (docs/explanation/method.md).
"""

_NO_RATIO = "there is no log ratio"
"""The reason of an estimate has this if its effect is a difference, as it is of values that are 0."""


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


def compare_sizes(claim: Claim, estimate: Estimate) -> SizeComparison | None:
    """Return how the sizes agree; None without a published number, or without an effect of ours.

    They agree if the published value lies in our interval, widened by its reading error on both sides, or if the ratios
    of the arms differ by at most SIZE_FACTOR. A clipped value is a bound: it agrees with all beyond it, and what falls
    short of it is compared with the bound. Effects that are no ratios are compared by the interval alone.
    """
    published, ours = claim.effect_pct, estimate.effect_pct
    if published is None or ours is None:
        return None
    low = (ours if estimate.ci_low_pct is None else estimate.ci_low_pct) - claim.uncertainty_pct
    high = (ours if estimate.ci_high_pct is None else estimate.ci_high_pct) + claim.uncertainty_pct
    between = f"our interval {low:+.1f} … {high:+.1f} % (reading error included)"
    if is_clipped(claim):
        inside = high >= published if published > 0 else low <= published
        reached = abs(ours) >= abs(published) and ours * published > 0
        bound = f"{'≥' if published > 0 else '≤'} {published:+g} %"
        shown = f"{claim.origin} {bound} {'agrees with' if inside else 'is beyond'} {between}"
    else:
        inside, reached = low <= published <= high, False
        shown = f"{claim.origin} {published:+g} % is {'inside' if inside else 'outside'} {between}"
    distance = 0.0 if reached else _distance(published, estimate)
    factor = None if distance is None else math.exp(distance)
    return SizeComparison(inside or (factor is not None and factor <= SIZE_FACTOR), factor, shown)


def _distance(published: float, estimate: Estimate) -> float | None:
    """Return the distance of two effects as the logarithm of the ratio of their ratios, at least 0."""
    better = find_metric(estimate.metric).better
    ratios = [ratio_of(effect, better) for effect in (published, estimate.effect_pct or 0.0)]
    if not has_ratio(estimate) or None in ratios:
        return None
    one, other = (math.log(ratio) for ratio in ratios if ratio is not None)
    return abs(one - other)


def has_ratio(estimate: Estimate) -> bool:
    """Return whether an effect is of a ratio of the two arms, and not of a difference."""
    return _NO_RATIO not in (estimate.reason or "")


def ratio_of(effect_pct: float, better: Better) -> float | None:
    """Return the ratio of the contender's value to the baseline's; None if no ratio has this effect."""
    ratio = 1 - effect_pct / 100 if better is Better.LOWER else 1 + effect_pct / 100
    return ratio if ratio > 0 else None
