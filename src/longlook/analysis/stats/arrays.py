"""The comparison of two plain arrays, with the procedures and the rules of verdicts that runs have."""

from dataclasses import dataclass

import numpy as np

from longlook.analysis.stats import discrete, procedures
from longlook.analysis.stats.procedures import Floats, Paired
from longlook.analysis.stats.scales import Scale, by_ratios, compared, none_seen
from longlook.analysis.stats.verdicts import always_alike, decide
from longlook.core import Analysis, Effect, Metric, Verdict


@dataclass(frozen=True)
class ComparedArrays:
    """The conclusion about two arrays. `effect` above 0 means that the contender is better; None if there is none.

    `p` and `p_equivalence` are None if there are too few values for a test.
    """

    verdict: Verdict
    reason: str
    effect: Effect | None
    p: float | None
    p_equivalence: float | None


def compare_arrays(
    baseline: Floats, contender: Floats, metric: Metric, analysis: Analysis, *, is_paired: bool
) -> ComparedArrays:
    """Return the conclusion about values of two sides, finite and of shape (n,) each; `metric` has scale and margin.

    Paired sides have values of the same rounds in the same order, and are compared as arms of a study are whose rounds
    draw their settings. Others are compared by Welch's test, of logarithms if the metric is a ratio and all values are
    positive. Nothing is corrected for other comparisons.
    """
    count = min(len(baseline), len(contender))
    if count == 0:
        return _concluded(count, None, None, analysis, [])
    advantage, scale = _advantages(baseline, contender, metric, analysis, is_paired=is_paired)
    notes = []
    if scale.margin == 0:
        notes.append(
            f"a value is zero or negative, so there is no ratio, and no margin for differences in {scale.unit}"
        )
    if none_seen(baseline, contender, metric):
        return _concluded(count, Paired(0.0, None, None, None, None, constant=False), scale, analysis, notes)
    if not is_paired:
        sides = (advantage[: len(baseline)], advantage[len(baseline) :])
        return _concluded(count, procedures.unpaired(*sides, scale.margin, analysis.confidence), scale, analysis, notes)
    is_constant = bool(np.ptp(advantage) <= procedures.ROUNDING)
    if is_constant or (not scale.is_log and discrete.repeats(advantage)):
        notes += [always_alike(count, analysis.confidence, float(advantage[0]))] if is_constant else []
        found = discrete.paired(advantage, scale.margin, analysis.confidence)
    else:
        found = procedures.paired(advantage, scale.margin, analysis.confidence)
    return _concluded(count, found, scale, analysis, notes)


def _advantages(
    baseline: Floats, contender: Floats, metric: Metric, analysis: Analysis, *, is_paired: bool
) -> tuple[Floats, Scale]:
    """Return the advantages of paired rounds and their scale; of unpaired sides both on that scale, one after another.

    An unpaired value is on the scale as its advantage over the typical value of all.
    """
    if is_paired:
        return compared(baseline, contender, metric, analysis)
    both = np.concatenate([baseline, contender])
    typical = float(np.exp(np.mean(np.log(both)))) if by_ratios(metric, both) else 0.0
    return compared(np.full(len(both), typical), both, metric, analysis)


def _concluded(
    count: int, found: Paired | None, scale: Scale | None, analysis: Analysis, notes: list[str]
) -> ComparedArrays:
    p = None if found is None else found.p
    verdict, reason = decide(count, found, p, analysis)
    said = "; ".join([*([reason] if reason else []), *notes])
    if found is None or scale is None:
        return ComparedArrays(verdict, said, None, None, None)
    value, low, high = (scale.effect(each) for each in (found.mean, found.low, found.high))
    effect = None if value is None else Effect(value, low, high, scale.unit)
    return ComparedArrays(verdict, said, effect, p, found.p_equivalence)
