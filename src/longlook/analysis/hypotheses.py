"""Judges the hypotheses of a study by the verdicts of the cells that they are about."""

from collections.abc import Sequence

from longlook.core import Effect, Estimate, Foresight, Hypothesis, JudgedHypothesis, Study, Verdict


def judge_hypotheses(study: Study, estimates: Sequence[Estimate]) -> list[JudgedHypothesis]:
    """Return each hypothesis in every cell that it is about and that ran, in the order of study and estimates.

    The verdict decides, with its correction over cells. If the hypothesis states a size, the whole interval must lie
    beyond it to hold, and short of it to be refuted.
    """
    metric_of = {contrast.name: contrast.metric for contrast in study.contrasts}
    return [
        _judged(hypothesis, item)
        for hypothesis in study.hypotheses
        for item in estimates
        if item.contrast == hypothesis.contrast
        and item.metric == metric_of[item.contrast]
        and hypothesis.cell.items() <= item.cell.items()
    ]


def _judged(hypothesis: Hypothesis, item: Estimate) -> JudgedHypothesis:
    result, reason = _result(hypothesis, item)
    return JudgedHypothesis(hypothesis, item.cell, item.cell_id, result, reason, item)


def _result(hypothesis: Hypothesis, item: Estimate) -> tuple[Foresight, str]:
    if item.verdict is Verdict.INCONCLUSIVE:
        return Foresight.OPEN, "the verdict is inconclusive"
    if item.verdict is not hypothesis.expect:
        return Foresight.REFUTED, f"the verdict is {item.verdict}"
    if hypothesis.at_least_pct is None:
        return Foresight.HOLDS, f"the verdict is {item.verdict}"
    return _result_of_size(hypothesis.at_least_pct, item.effect)


def _result_of_size(at_least_pct: float, found: Effect | None) -> tuple[Foresight, str]:
    if found is None or found.unit != "%" or found.low is None or found.high is None:
        return Foresight.OPEN, "the effect has no interval in per cent"
    nearest, farthest = sorted((abs(found.low), abs(found.high)))
    if nearest >= at_least_pct:
        return Foresight.HOLDS, f"the whole interval is at or beyond {at_least_pct:g} %"
    if farthest < at_least_pct:
        return Foresight.REFUTED, f"the whole interval is short of {at_least_pct:g} %"
    return Foresight.OPEN, f"the interval holds {at_least_pct:g} %"
