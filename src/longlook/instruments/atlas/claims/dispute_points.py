"""The values of a run for a piece of evidence: with the study's own verdict, and with intervals that hold at once."""

from collections.abc import Sequence

from longlook.analysis import joint_effect, joint_level, margin_in_unit
from longlook.core import ArmLevel, Estimate, Study
from longlook.instruments.atlas.claims.dispute import DisputeEvidence, unit_of
from longlook.instruments.atlas.claims.dispute_judge import Judgement, Point


def points_of(
    evidence: DisputeEvidence, values: Sequence[Estimate | ArmLevel] | None, study: Study | None
) -> list[Point]:
    """Return a value for each level of a piece of evidence, from the effects or levels that a run has of it.

    Without a run `study` is None; `values` is None if the run may have them and its entry has not.
    """
    if study is None:
        return [Point(level, missing=f"{evidence.study} was not run") for level in evidence.levels]
    if values is None:
        return [Point(level, missing="the entry has no such value") for level in evidence.levels]
    return [_point(evidence, level, values, study) for level in evidence.levels]


def _point(evidence: DisputeEvidence, level: str, values: Sequence[Estimate | ArmLevel], study: Study) -> Point:
    cell = {**evidence.cell, evidence.factor: level}
    found = [item for item in values if dict(item.cell) == cell]
    if len(found) != 1:
        return Point(level, missing="this cell was not run")
    (item,) = found
    together, confidence = len(evidence.levels), study.analysis.confidence
    judgement = None
    if isinstance(item, Estimate):
        effect, n, span = item.effect, item.n_pairs, joint_effect(item, together, confidence)
        value = None if effect is None else effect.value
        judgement = Judgement(item.verdict, item.p_adjusted, margin_in_unit(item, study.analysis))
        if effect is not None and effect.unit != unit_of(evidence) and n >= study.analysis.min_rounds:
            missing = f"the effect is in {effect.unit}, not in {unit_of(evidence)}"
            return Point(level, n=n, missing=missing, judgement=judgement)
    else:
        value, n, span = item.median, item.n, joint_level(item, together, confidence)
    if value is None:
        return Point(level, n=n, missing="no round gave a value")
    if n < study.analysis.min_rounds or span is None:
        return Point(
            level, value, n=n, missing=f"{n} rounds are too few, the study asks for {study.analysis.min_rounds}"
        )
    return Point(level, value, *span, n, judgement=judgement)
