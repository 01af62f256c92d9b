"""The answer of a gate: is the contender worse by more than was allowed? Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from longlook.core.model import Analysis, Estimate
from longlook.report import wording


class Answer(StrEnum):
    """The answer of a gate for one network and metric."""

    PASSED = "passed"
    WORSE = "worse"
    UNMEASURED = "not measured"  # too few rounds with a value on both arms: nothing was shown, so nothing passes


@dataclass(frozen=True)
class Case:
    """One network and metric. `firm`: the whole interval lies beyond the gate, not the estimate alone."""

    estimate: Estimate
    answer: Answer
    firm: bool
    reason: str

    @property
    def network(self) -> str:
        """Return the network as it was written."""
        return self.estimate.cell.get("network", "")

    @property
    def name(self) -> str:
        """Return `10mbit,36ms: page_load_time`."""
        return f"{self.network}: {self.estimate.metric}"


@dataclass(frozen=True)
class Verdict:
    """The answer of a gate for a comparison."""

    gate_pct: float
    cases: tuple[Case, ...]

    @property
    def passed(self) -> bool:
        """Whether no case was worse and each was measured."""
        return all(case.answer is Answer.PASSED for case in self.cases)


def judge_gate(estimates: Sequence[Estimate], gate_pct: float, analysis: Analysis) -> Verdict:
    """Judge a network and metric as worse where the corrected p is below alpha and the effect beyond −`gate_pct`.

    The effect is that of docs/method.md: + % means that the contender is better, so a load time that is 6 % longer is
    an effect of −6 %. The corrected p is about a difference, the gate about its estimated size.
    """
    return Verdict(gate_pct, tuple(_case(item, gate_pct, analysis) for item in estimates))


def _case(item: Estimate, gate_pct: float, analysis: Analysis) -> Case:
    p, effect = item.p_adjusted, item.effect_pct
    if item.n_pairs < analysis.min_rounds or p is None or effect is None:
        return Case(item, Answer.UNMEASURED, firm=False, reason=item.reason or "no effect can be computed")
    firm = item.ci_high_pct is not None and item.ci_high_pct < -gate_pct
    size = _size(item, analysis)
    if p < analysis.alpha and effect < -gate_pct:
        bound = "the whole interval lies beyond it" if firm else "the interval reaches inside it"
        return Case(item, Answer.WORSE, firm, f"worse: {size}; the gate is {gate_pct:g} %, and {bound}")
    caveat = f"; {item.reason}" if item.reason else ""
    if effect >= -gate_pct:
        possible = item.ci_low_pct is not None and item.ci_low_pct < -gate_pct
        open_end = "; the interval allows for more than the gate: more rounds would decide" if possible else ""
        return Case(item, Answer.PASSED, firm, f"{size}; the gate is {gate_pct:g} %{open_end}{caveat}")
    why = f"beyond the gate of {gate_pct:g} %, but not significant at {analysis.alpha:g}: more rounds would decide"
    return Case(item, Answer.PASSED, firm, f"{size}, {why}{caveat}")


def _size(item: Estimate, analysis: Analysis) -> str:
    """Return `−6 % (95 % interval −7 to −5 %, adjusted p 0.0012)`, with plain spaces."""
    span = wording.interval_pct(item.ci_low_pct, item.ci_high_pct)
    p = wording.p_value(item.p_adjusted)
    confidence = wording.percent(analysis.confidence)
    text = f"{wording.effect(item.effect_pct)} ({confidence} interval {span}, adjusted p {p})"
    return text.replace(wording.NBSP, " ")
