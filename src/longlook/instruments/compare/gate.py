"""The answer of a gate: is the contender worse by more than was allowed? Pure.

Two things are judged on each network: by how much each metric is worse, and whether the contender fails more often than
the baseline. An interval decides the first, an exact paired test the second; docs/guide/compare.md has the rules.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from longlook.analysis import AllowedSide, failures_side, metric_side, most_unseen, rare_losses
from longlook.core import Analysis, Effect, Estimate
from longlook.instruments.compare import exits
from longlook.report import wording

FAILURES = "failed rounds"
"""Stands for a metric in the case about failures."""


class GateAnswer(StrEnum):
    """The answer of a gate for one network and metric, the gravest first."""

    WORSE = "worse"
    UNMEASURED = "not measured"  # too few rounds with a value on both arms: nothing was shown, so nothing passes
    UNDECIDED = "undecided"  # the rounds there are allow for both
    PASSED = "passed"

    @property
    def exit_code(self) -> int:
        """The exit code of a comparison with this answer."""
        return {GateAnswer.PASSED: 0, GateAnswer.UNDECIDED: 4}.get(self, 1)

    @property
    def git_bisect_code(self) -> int:
        """The finding about a commit that `git bisect run` makes of it."""
        return {GateAnswer.PASSED: exits.GOOD, GateAnswer.WORSE: exits.BAD}.get(self, exits.SKIP)


ANSWERS = {
    AllowedSide.BEYOND: GateAnswer.WORSE,
    AllowedSide.WITHIN: GateAnswer.PASSED,
    AllowedSide.ACROSS: GateAnswer.UNDECIDED,
}


@dataclass(frozen=True)
class GateCase:
    """One network and what was judged there: a metric, or FAILURES. `p` is the p value that stands next to it."""

    estimate: Estimate
    subject: str
    answer: GateAnswer
    p: float | None
    reason: str

    @property
    def network(self) -> str:
        """Return the network as it was written."""
        return self.estimate.cell.get("network", "")

    @property
    def name(self) -> str:
        """Return `10mbit,36ms: page_load_time`."""
        return f"{self.network}: {self.subject}"


@dataclass(frozen=True)
class GateVerdict:
    """The answer of a gate for a comparison."""

    gate_pct: float
    cases: tuple[GateCase, ...]

    @property
    def answer(self) -> GateAnswer:
        """Return the gravest answer of all cases."""
        return gravest(case.answer for case in self.cases)

    @property
    def passed(self) -> bool:
        """Whether every case was shown to be within the gate."""
        return self.answer is GateAnswer.PASSED


def gravest(answers: Iterable[GateAnswer]) -> GateAnswer:
    """Return the gravest of answers; UNMEASURED without any."""
    found = set(answers)
    return next((answer for answer in GateAnswer if answer in found), GateAnswer.UNMEASURED)


def judge_gate(estimates: Sequence[Estimate], gate_pct: float, analysis: Analysis) -> GateVerdict:
    """Judge every network's metrics by their intervals, and once each network's failures.

    The effect is as in docs/explanation/method.md: + % means that the contender is better, so a load time that is
    6 % longer is an effect of −6 %. A metric is worse if its whole interval lies beyond −`gate_pct`, and passes if
    the whole interval lies within. A metric that is compared by differences has its own margin in the place of the
    gate. `analysis.confidence` is for one interval (`spec.confidence`), so that each of the
    two wrong answers has a probability of at most (1 − confidence)/2.
    """
    cases = [_metric(item, gate_pct, analysis) for item in estimates]
    by_network: dict[str, Estimate] = {}  # outcomes are the same for every metric
    for item in estimates:
        by_network.setdefault(item.cell_id, item)
    cases += [_failures(item, analysis) for item in by_network.values()]
    return GateVerdict(gate_pct, tuple(cases))


def _metric(item: Estimate, gate_pct: float, analysis: Analysis) -> GateCase:
    found = item.effect
    if item.n_pairs < analysis.min_rounds or found is None:
        reason = item.reason or "no effect can be computed"
        return GateCase(item, item.metric, GateAnswer.UNMEASURED, item.p_adjusted, reason)
    interval = f"{wording.percent(analysis.confidence)} interval"
    span = wording.interval_in_unit(item)
    size = f"{wording.effect_of(item)} ({interval} {span}, {item.n_pairs} rounds)".replace(wording.NBSP, " ")
    answer = ANSWERS[metric_side(item, gate_pct, analysis)]
    if found.low is None and found.unit != "%" and item.n_pairs > 1:
        return GateCase(item, item.metric, answer, item.p_adjusted, _none_seen(item, found, answer, analysis))
    gate, more = f"the gate of {gate_pct:g} %", "more rounds, or a wider gate,"
    if found.unit != "%":
        gate, more = f"the metric's margin of {found.margin or 0:g} {found.unit}", "more rounds"
    reason = interval_said(answer, size, gate, more)
    if answer is GateAnswer.UNDECIDED and item.random_losses is not None:
        reason += f"; {rare_losses.sentence(item.random_losses)}"
    return GateCase(item, item.metric, answer, item.p_adjusted, reason)


def interval_said(answer: GateAnswer, size: str, gate: str, more: str) -> str:
    """Return the reason of an answer that an interval decides. `size` is the effect with its interval, `gate` is what
    may not be exceeded, `more` is what would decide an undecided case.
    """
    return {
        GateAnswer.WORSE: f"worse: {size}, the whole interval beyond {gate}",
        GateAnswer.PASSED: f"{size}, the whole interval within {gate}",
        GateAnswer.UNDECIDED: f"{size}, across {gate}: {more} would decide",
    }[answer]


def _none_seen(item: Estimate, found: Effect, answer: GateAnswer, analysis: Analysis) -> str:
    """Return what a gate says of a metric of which no round of either arm had any."""
    seen = f"none seen in {item.n_pairs} rounds of either arm"
    confidence = (1 + analysis.confidence) / 2
    if (most := most_unseen(item, confidence)) is None:
        return f"{seen}: how large a value that was not seen may be, nothing says"
    each = "" if found.unit == "points" else " if no load has more than one"
    bound = f"{seen}: at {100 * confidence:g} % confidence at most {most:.2g} {found.unit} a load{each}"
    margin = f"the metric's margin of {found.margin or 0:g} {found.unit}"
    if answer is GateAnswer.PASSED:
        return f"{bound}, within {margin}"
    return f"{bound}, beyond {margin}: more rounds would decide"


def _failures(item: Estimate, analysis: Analysis) -> GateCase:
    rounds = "round" if item.n_judged == 1 else "rounds"
    counts = (
        f"of {item.n_judged} {rounds} the contender failed in {item.n_contender_failed}, "
        f"the baseline in {item.n_baseline_failed}"
    )
    answer = ANSWERS[failures_side(item, analysis)]
    if answer is not GateAnswer.WORSE and item.n_judged < analysis.min_rounds:
        answer = GateAnswer.UNMEASURED
    p = wording.p_value(item.p_failures).replace(wording.NBSP, " ")
    reason = {
        GateAnswer.WORSE: f"worse: {counts} (p {p})",
        GateAnswer.PASSED: counts,
        GateAnswer.UNDECIDED: f"{counts} (p {p}): more rounds would decide",
        GateAnswer.UNMEASURED: f"{counts}; {analysis.min_rounds} rounds are needed",
    }[answer]
    return GateCase(item, FAILURES, answer, item.p_failures, reason)
