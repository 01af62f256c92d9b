"""Turn the numbers of an estimate into a verdict and the sentences that go with it."""

from collections.abc import Iterator

import numpy as np

from longlook.analysis.stats.cells import ArmData, CellData
from longlook.analysis.stats.procedures import Paired
from longlook.core import Analysis, Metric, Verdict

SURVIVOR_SHARE = 0.2
"""An arm that failed in more than this share of its rounds gets a caveat, as only its surviving rounds are compared."""


def decide(
    n_pairs: int, paired: Paired | None, p_adjusted: float | None, analysis: Analysis
) -> tuple[Verdict, str | None]:
    """Return the verdict, and the reason if it is inconclusive or there is no variance. The order of the tests is
    the rule.
    """
    needed = max(2, analysis.min_rounds)
    if n_pairs < needed or paired is None or paired.p_equivalence is None or p_adjusted is None:
        rounds = "round" if n_pairs == 1 else "rounds"
        return Verdict.INCONCLUSIVE, f"{n_pairs} {rounds} with a value on both arms, {needed} needed"
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


def caveats(data: CellData, is_log: bool) -> Iterator[str]:
    """Return what a reader must know about the data beside the verdict."""
    for arm in (data.baseline, data.contender):
        yield from _arm_caveats(arm)
    if not is_log:
        yield (
            "a value is zero or negative, so there is no log ratio: the effect is the mean difference in % of the mean "
            "magnitude of both arms"
        )


def _arm_caveats(arm: ArmData) -> Iterator[str]:
    if arm.rounds == 0:
        yield f"arm {arm.name} was never tried in this cell"
    elif arm.failed_rounds == arm.rounds:
        yield f"arm {arm.name} failed in all {arm.rounds} rounds"
    elif arm.failed_rounds > SURVIVOR_SHARE * arm.rounds:
        yield f"survivor bias: arm {arm.name} failed in {arm.failed_rounds} of {arm.rounds} rounds"
    if arm.unmeasured_rounds:
        yield f"arm {arm.name} has no usable value in {arm.unmeasured_rounds} rounds that went well"
