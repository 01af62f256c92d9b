"""Turn the numbers of an estimate into a verdict and the sentences that go with it."""

import math
from collections.abc import Iterator

import numpy as np

from longlook.analysis.stats.cells import ArmData, CellData
from longlook.analysis.stats.procedures import Paired
from longlook.analysis.stats.scales import Scale
from longlook.core import Analysis, Estimate, Metric, Quantity, Verdict, find_metric

SURVIVOR_SHARE = 0.2
"""An arm that failed in more than this share of its rounds gets a caveat, as only its surviving rounds are compared."""


def decide(
    n_pairs: int, paired: Paired | None, p_adjusted: float | None, analysis: Analysis
) -> tuple[Verdict, str | None]:
    """Return the verdict, and the reason if it is inconclusive or there is no variance. The order of the tests is
    the rule.
    """
    if n_pairs < max(2, analysis.min_rounds) or paired is None or paired.p_equivalence is None or p_adjusted is None:
        return Verdict.INCONCLUSIVE, _untested(n_pairs, analysis)
    if paired.constant:
        return _without_variance(n_pairs, paired)
    if paired.p_equivalence < 1 - analysis.confidence:
        return Verdict.EQUIVALENT, None
    if p_adjusted < analysis.alpha and not _holds_zero(paired):
        return (Verdict.BETTER if paired.mean > 0 else Verdict.WORSE), None
    if p_adjusted < analysis.alpha:
        return Verdict.INCONCLUSIVE, (
            f"adjusted p {p_adjusted:.2g} is below {analysis.alpha:g}, but the interval, which allows for skewed "
            "rounds, holds 0"
        )
    return Verdict.INCONCLUSIVE, (
        f"adjusted p {p_adjusted:.2g} is not below {analysis.alpha:g}, and p of equivalence "
        f"{paired.p_equivalence:.2g} is not below {1 - analysis.confidence:.2g}"
    )


def _untested(n_pairs: int, analysis: Analysis) -> str:
    """Return why there is nothing to test: too few rounds, or nothing in any of them."""
    needed = max(2, analysis.min_rounds)
    if n_pairs < needed:
        return f"{n_pairs} {'round' if n_pairs == 1 else 'rounds'} with a value on both arms, {needed} needed"
    return (
        f"none seen in {n_pairs} rounds of either arm: at {100 * analysis.confidence:g} % confidence at most "
        f"{missed_pct(n_pairs, analysis.confidence):.2g} % of loads have any"
    )


def missed_pct(n_pairs: int, confidence: float) -> float:
    """Return the largest share, in %, that may have been missed by each of `n_pairs` draws.

    It is Clopper and Pearson's one-sided bound for no event: (1 − share)ⁿ = 1 − `confidence`.
    """
    return -100 * math.expm1(math.log1p(-confidence) / n_pairs)


def most_unseen(item: Estimate, confidence: float) -> float | None:
    """Return how large the contender's mean may be, in the unit of the effect, if no round of either arm had any.

    It is the largest share of loads that all of these rounds may have missed, times the largest value of a load.
    A share's largest value is 100, a count's is taken as 1, which a load may exceed. None if any was seen, or if
    values have no such scale.
    """
    found, quantity = item.difference, find_metric(item.metric).quantity
    largest = {Quantity.SHARE: 100.0, Quantity.COUNT: 1.0}.get(quantity)
    if found is None or found.value != 0 or found.low is not None or largest is None or item.n_pairs < 1:
        return None
    return largest * missed_pct(item.n_pairs, confidence) / 100


def known_direction(item: Estimate, analysis: Analysis) -> Verdict | None:
    """Return on which side of zero an equivalent effect lies for certain; None if it may lie on either.

    The size of such an effect is below the margin: its direction is known and does not matter.
    """
    found = item.effect
    if item.verdict is not Verdict.EQUIVALENT or found is None or found.low is None or found.high is None:
        return None
    if item.p_adjusted is None or item.p_adjusted >= analysis.alpha or found.low <= 0 <= found.high:
        return None
    return Verdict.BETTER if found.low > 0 else Verdict.WORSE


def unlike_itself(reference: ArmData, metric: Metric) -> str | None:
    """Return why the arm that a metric compares others with cannot be compared with; None if it can."""
    least, values = metric.least_of_reference, reference.array
    if least is None or len(values) == 0 or (median := float(np.median(values))) >= least:
        return None
    return (
        f"{reference.name} itself reaches {median:.3g} {metric.unit} in its own next round, where {least:g} are "
        "needed: its rounds are too different to compare with; longer flows may help"
    )


def _holds_zero(paired: Paired) -> bool:
    return paired.low is not None and paired.high is not None and paired.low <= 0 <= paired.high


def _without_variance(n_pairs: int, paired: Paired) -> tuple[Verdict, str]:
    if paired.mean == 0:
        return Verdict.EQUIVALENT, f"no variance: both arms gave the same value in each of {n_pairs} rounds"
    reason = f"no variance: the same effect in each of {n_pairs} rounds, so p is exact, not an estimate"
    if paired.p_equivalence == 0:
        return Verdict.EQUIVALENT, reason
    return (Verdict.BETTER if paired.mean > 0 else Verdict.WORSE), reason


def always_alike(n_pairs: int, confidence: float, mean: float) -> str:
    """Return what a reader must know if every round, drawn anew, had the same advantage."""
    same = "both arms gave the same value" if mean == 0 else "the effect was the same"
    return (
        f"{same} in each of {n_pairs} rounds: at {100 * confidence:g} % confidence at most "
        f"{missed_pct(n_pairs, confidence):.2g} % of such rounds differ"
    )


def caveats(data: CellData, metric: Metric, scale: Scale) -> Iterator[str]:
    """Return what a reader must know about the data beside the verdict."""
    for arm in (data.baseline, data.contender):
        yield from _arm_caveats(arm)
    if metric.quantity is Quantity.RATIO and not scale.is_log:
        yield (
            f"a value is zero or negative, so there is no ratio: the effect is the mean difference in {scale.unit}, "
            "for which no margin was fixed"
        )


def _arm_caveats(arm: ArmData) -> Iterator[str]:
    if arm.rounds == 0:
        yield f"arm {arm.name} was never tried in this cell"
    elif arm.failed_rounds == arm.rounds:
        yield f"arm {arm.name} failed in all {arm.rounds} rounds ({arm.why_failed})"
    elif arm.failed_rounds > SURVIVOR_SHARE * arm.rounds:
        rounds = f"{arm.failed_rounds} of {arm.rounds} rounds ({arm.why_failed})"
        yield f"survivor bias: arm {arm.name} failed in {rounds}"
    if arm.unmeasured_rounds:
        yield f"arm {arm.name} has no usable value in {arm.unmeasured_rounds} rounds that went well"
