"""From counterfactual trials to verdicts: how much of a gap does a change close? Pure.

The gap of a round is ln(loser/winner) of a metric that is better when lower, and its negative otherwise; where a value
is not positive it is their difference by the mean magnitude (`analysis.stats.procedures.advantages`). A change
closes d = gap − gap with the change, round by round on the same random numbers. What is tested is d, what is shown is
the share mean(d)/mean(gap), whose interval is Fieller's (J. R. Stat. Soc. B 16, 1954) for paired numerator and
denominator.
"""

import math
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import numpy.typing as npt
from scipy import stats

from longlook.analysis.stats import procedures
from longlook.core.model import Analysis

Floats = npt.NDArray[np.float64]


class Conclusion(StrEnum):
    """What the trials say of a suspected cause."""

    CONFIRMED = "confirmed"
    CONFIRMED_BOTH_WAYS = "confirmed both ways"  # the winner loses as much when it gets the cause
    REFUTED = "refuted"  # the change makes no difference beyond the margin
    INCONCLUSIVE = "inconclusive"
    UNTESTABLE = "untestable"


@dataclass(frozen=True)
class Share:
    """The share of a gap that a change closes, in %, with its interval; None where the interval has no bounds."""

    share_pct: float
    ci_low_pct: float | None
    ci_high_pct: float | None


@dataclass(frozen=True)
class Closed:
    """One change, tested: `p` that it closes no more than the margin, `p_none` that it closes or opens more.

    `rounds` are those in which all trials went well.
    """

    rounds: int
    share: Share | None
    closed_pct: float  # by how much the loser's load gets shorter relative to the winner's
    p: float | None
    p_none: float | None

    def concludes(self, p_adjusted: float | None, alpha: float) -> Conclusion:
        """Return what this change alone says, with p adjusted for all that were tested."""
        if p_adjusted is not None and p_adjusted < alpha:
            return Conclusion.CONFIRMED
        if self.p_none is not None and self.p_none < alpha:
            return Conclusion.REFUTED
        return Conclusion.INCONCLUSIVE


def closed(gap: Floats, gap_changed: Floats, analysis: Analysis, *, is_log: bool = True) -> Closed:
    """Return what a change closes of the gap; both have shape (rounds,), in the same order of rounds, on one scale.

    The margin is the study's margin of equivalence: a change that closes less does not matter, whatever its p.
    """
    margin = procedures.margin(analysis.equivalence_margin_pct, is_log)
    difference = gap - gap_changed
    beyond = procedures.paired(difference - margin, margin, analysis.confidence)
    around_zero = procedures.paired(difference, margin, analysis.confidence)
    p = None if beyond.p is None else (beyond.p / 2 if beyond.mean > 0 else 1 - beyond.p / 2)
    if beyond.constant:
        p = float(beyond.mean <= 0)
    return Closed(
        rounds=len(gap),
        share=share(difference, gap, analysis.confidence),
        closed_pct=100 * (-math.expm1(-around_zero.mean) if is_log else around_zero.mean),
        p=p,
        p_none=around_zero.p_equivalence,
    )


def share(part: Floats, whole: Floats, confidence: float) -> Share | None:
    """Return mean(part)/mean(whole) in % with Fieller's interval; None where the whole is 0 on average.

    The interval has no bounds where the mean of the whole may be 0, and is a point where nothing varies.
    """
    mean_part, mean_whole, count = float(np.mean(part)), float(np.mean(whole)), len(part)
    if mean_whole == 0:
        return None
    ratio = mean_part / mean_whole
    if count < 2:
        return Share(100 * ratio, None, None)
    (var_part, cov), (_, var_whole) = np.cov(part, whole) / count
    quantile2 = float(stats.t.ppf((1 + confidence) / 2, count - 1)) ** 2
    a = mean_whole**2 - quantile2 * var_whole
    b = mean_part * mean_whole - quantile2 * cov
    c = mean_part**2 - quantile2 * var_part
    if a <= 0:
        return Share(100 * ratio, None, None)
    root = math.sqrt(max(b**2 - a * c, 0.0))
    return Share(100 * ratio, 100 * (b - root) / a, 100 * (b + root) / a)


def monotone(effects: list[float], doses: list[float]) -> bool:
    """Return whether what is closed rises or falls with the dose throughout, ties allowed; False below three doses."""
    if len(doses) < 3:
        return False
    steps = np.diff(np.array(effects)[np.argsort(doses, kind="stable")])
    return bool(np.all(steps >= 0) or np.all(steps <= 0)) and bool(np.any(steps != 0))
