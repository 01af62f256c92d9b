"""The counterfactual trials of one cell: what runs, what it may cost, and what was judged of it so far."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from longlook.analysis.measure import Measured
from longlook.core.model import Outcome, Plan, Study
from longlook.explain.answer import Explained, FoundBy, Together, strongest
from longlook.explain.attribution import Conclusion
from longlook.explain.cause import Cause, Finding, Intervention, Kind, Target, Untestable
from longlook.explain.counterfactual import CounterfactualPlan, Experiment, add_tests, all_at_once
from longlook.explain.judge import Gap, Traffic, Values, judge, together
from longlook.metrics import find_metric
from longlook.pipeline.explain.cells import CellGap
from longlook.pipeline.explain.traced import of_rounds
from longlook.pipeline.options import Observer, RunOptions
from longlook.pipeline.sample import measure_plan
from longlook.timeline.normalise.trial import LINK_LOG

Wanted = Sequence[tuple[Finding, Sequence[Intervention | Untestable]]]
"""Findings, the strongest first, each with what would be changed for it."""


@dataclass(frozen=True)
class Place:
    """Where and how a cell's trials run. `only` names the cell; `out` is the folder of its runs."""

    gap: CellGap
    only: tuple[str, ...]
    out: Path
    budget: int | None
    options: RunOptions
    observer: Observer


@dataclass(frozen=True)
class Judgement:
    """All findings that were tested so far, with their trials."""

    findings: tuple[Explained, ...] = ()
    together: Together | None = None
    tests: tuple[Experiment, ...] = ()
    left_out: tuple[str, ...] = ()


@dataclass
class _Asked:
    """What was asked for so far, so that it is judged with what is asked next: p values are adjusted for all."""

    wanted: list[tuple[Finding, Sequence[Intervention | Untestable]]] = field(default_factory=list)
    causes: dict[str, Cause] = field(default_factory=dict)
    found_by: dict[str, FoundBy] = field(default_factory=dict)
    left_out: list[str] = field(default_factory=list)


class Session:
    """The counterfactual trials of one cell; `counterfactual` has the ids of all that it took so far."""

    def __init__(self, study: Study, place: Place) -> None:
        self.study = replace(study, metrics=(place.gap.contrast.metric,))
        self.place = place
        self.counterfactual: frozenset[str] = frozenset()
        self._asked = _Asked()

    @property
    def left(self) -> int | None:
        """How many trials the budget has left; None where there is no bound."""
        budget = self.place.budget
        return None if budget is None else max(0, budget - len(self.counterfactual))

    def begun(self) -> CounterfactualPlan:
        """Return a plan without a change."""
        gap, engine = self.place.gap, self.place.options.engine.name
        return CounterfactualPlan(self.study, gap.contrast, gap.loser, self.place.only, engine=engine)

    def cost(self, planned: CounterfactualPlan, rounds: Sequence[int] | None = None) -> int:
        """Return how many trials a plan would add to those that the cell took so far."""
        return len(self._with(self._plan(planned, rounds))) - len(self.counterfactual)

    def run(self, planned: CounterfactualPlan, rounds: Sequence[int] | None = None) -> Gap:
        """Run the trials of a plan that have not run, in all rounds by default; return the values of every arm."""
        plan, gap = self._plan(planned, rounds), self.place.gap
        self.counterfactual = self._with(plan)
        out = self.place.out / f"trials-{plan.hash}"
        _, measured = measure_plan(planned.study, plan, out, self.place.options, self.place.observer)
        values = planned.completed(_values(measured, gap.contrast.metric))
        traffic = planned.completed(_traffic(measured))
        better = find_metric(gap.contrast.metric).better
        return Gap(gap.loser, gap.winner, better, values, gap.random_losses, traffic)

    def _plan(self, planned: CounterfactualPlan, rounds: Sequence[int] | None) -> Plan:
        return of_rounds(planned.plan, self.place.gap.rounds if rounds is None else rounds)

    def _with(self, plan: Plan) -> frozenset[str]:
        own = (self.place.gap.loser, self.place.gap.winner)
        return self.counterfactual | {trial.id for trial in plan.trials if trial.arm not in own}

    def judged(self, wanted: Wanted, causes: Mapping[str, Cause], found_by: FoundBy = FoundBy.DETECTOR) -> Judgement:
        """Test findings beside those that were tested before, and judge all of them, as far as the budget goes."""
        asked = self._asked
        affordable, left_out = _within_budget(wanted, len(self.place.gap.rounds), self.left)
        asked.wanted += affordable
        asked.left_out += left_out
        asked.causes |= {finding.cause: causes[finding.cause] for finding, _ in wanted}
        asked.found_by |= {finding.cause: found_by for finding, _ in wanted}
        if not asked.wanted:
            return Judgement()
        plan = self.begun()
        tests, untestable = add_tests(plan, asked.wanted)
        space = self.run(plan)
        findings = [finding for finding, _ in asked.wanted]
        judged = judge(space, findings, tests, untestable, asked.causes, self.study.analysis)
        explained = tuple(replace(item, found_by=asked.found_by[item.cause]) for item in judged)
        return Judgement(explained, self._together(tests, explained, space), tuple(tests), tuple(asked.left_out))

    def _together(self, tests: Sequence[Experiment], explained: Sequence[Explained], space: Gap) -> Together | None:
        """Run all that was confirmed at once, if it is several changes, and return what they close together.

        A cause that has no cure takes part by its transplant: then both arms are changed.
        """
        best = [test for item in explained if (test := _confirming(item, tests)) is not None]
        labels = [test.intervention.change.label for test in best]
        if len(best) < 2:
            return together(space, labels, best[0].arms, self.study.analysis) if best else None
        alone, observer = self.begun(), self.place.observer
        arms = all_at_once(alone, best)
        if isinstance(arms, str):
            observer.say(f"the confirmed changes cannot be made together: {arms}")
            return None
        if self.left is not None and self.cost(alone) > self.left:
            observer.say(f"the budget of {self.place.budget} trials leaves none for the confirmed changes together")
            return None
        values = self.run(alone).values
        return together(replace(space, values={**space.values, **values}), labels, arms, self.study.analysis)


def _within_budget(suspected: Wanted, rounds: int, budget: int | None) -> tuple[Wanted, list[str]]:
    """Return what the budget allows, the strongest findings first, and the causes for which nothing was left."""
    if budget is None:
        return suspected, []
    left, kept, out = budget, [], []
    for finding, items in suspected:
        affordable: list[Intervention | Untestable] = []
        for item in items:
            if isinstance(item, Untestable):
                affordable.append(item)
                continue
            cost = rounds * (2 if item.target is Target.BOTH else 1)
            if cost <= left:
                affordable.append(item)
                left -= cost
        if not any(isinstance(item, Intervention) for item in affordable) and any(
            isinstance(item, Intervention) for item in items
        ):
            out.append(finding.cause)
            affordable.append(Untestable(Kind.CURE, f"the budget leaves {budget} trials, and it takes more"))
        kept.append((finding, affordable))
    return kept, out


def _confirming(item: Explained, tests: Sequence[Experiment]) -> Experiment | None:
    """Return the cure that confirmed a finding and closes most, else such a transplant; None where none did."""
    for kind, judged in ((Kind.CURE, item.cures), (Kind.TRANSPLANT, item.transplants)):
        best = strongest(judged)
        if best is not None and best.conclusion is Conclusion.CONFIRMED:
            own = [test for test in tests if test.finding.cause == item.cause and test.intervention.kind is kind]
            return own[judged.index(best)]
    return None


def _values(measured: Sequence[Measured], metric: str) -> Values:
    found: dict[str, dict[int, float]] = {}
    for entry in measured:
        value = entry.values.get(metric)
        if entry.run.outcome is Outcome.OK and value is not None:
            found.setdefault(entry.trial.arm, {})[entry.trial.round] = value
    return found


def _traffic(measured: Sequence[Measured]) -> Traffic:
    found: dict[str, dict[int, str]] = {}
    for entry in measured:
        if entry.run.outcome is Outcome.OK and LINK_LOG in entry.run.artefacts:
            found.setdefault(entry.trial.arm, {})[entry.trial.round] = entry.run.artefacts[LINK_LOG]
    return found
