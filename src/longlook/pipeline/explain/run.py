"""`longlook explain`: cells of a run folder → answers, each from traces and from trials in which one thing changed."""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from longlook.analysis.measure import Measured
from longlook.core.model import Outcome, Plan, Study
from longlook.core.results import Estimate
from longlook.core.run_folder import RunFolder
from longlook.explain.answer import Answer, Explained, Status, Together, strongest
from longlook.explain.attribution import Conclusion
from longlook.explain.cause import Finding, Intervention, Kind, Target, Untestable, causes
from longlook.explain.checked import equal_conditions
from longlook.explain.counterfactual import CounterfactualPlan, Experiment, add_tests, all_at_once
from longlook.explain.detect import proposed, suspect
from longlook.explain.judge import Gap, Values, judge, together
from longlook.metrics import find_metric
from longlook.pipeline.answers import FOLDER, read_answers, write_answers
from longlook.pipeline.explain.cells import CellGap, gaps
from longlook.pipeline.explain.traced import mean_ledgers, of_rounds, traced_pairs
from longlook.pipeline.options import Observer, RunOptions
from longlook.pipeline.sample import measure_plan
from longlook.report.causes.page import write_explanation
from longlook.report.section import slug


@dataclass(frozen=True)
class ExplainRequest:
    """What is to be explained. `budget` is how many counterfactual trials a cell may take; None: as many as it needs.

    Without cells, all in which a verdict says that an arm lost are explained; without a contrast, the study's first.
    """

    cells: tuple[str, ...] = ()
    contrast: str | None = None
    budget: int | None = None


def explain_run(folder: RunFolder, request: ExplainRequest, options: RunOptions, observer: Observer) -> list[Answer]:
    """Explain cells of a run and write what was found below the run folder; return the answers in the plan's order.

    Raises InputError where the run, a cell or the contrast cannot be explained, where earlier answers are damaged, or
    where another command has the run; MachineError where this machine cannot go on. Trials that finished stay, and in
    virtual time the next call takes them from the cache.
    """
    answers: list[Answer] = []
    with folder:
        read_answers(folder.path / FOLDER)  # before any trial runs: where they are damaged, none could be added
        try:
            for gap in gaps(folder, request.cells, request.contrast):
                observer.say(f"explain {gap.estimate.cell_id}: {gap.contrast.name}")
                answers.append(_explain(folder, gap, request, options, observer))
                write_answers(folder.path / FOLDER, answers[-1])
        finally:
            if answers:
                write_explanation(folder.path / FOLDER, read_answers(folder.path / FOLDER))
    return answers


def _explain(
    folder: RunFolder, gap: CellGap, request: ExplainRequest, options: RunOptions, observer: Observer
) -> Answer:
    answer = _begun(folder, gap, options)
    if answer.status is not Status.UNEXPLAINED:
        return answer
    out = folder.path / FOLDER / _folder_name(gap)
    study = replace(folder.study, rounds=max(gap.rounds) + 1)
    only = tuple(f"{factor}={label}" for factor, label in gap.estimate.cell.items())
    pairs = traced_pairs(study, gap, only, out, options, observer)
    if not pairs:
        reason = "no round has a load of both arms that went well while it was traced"
        return replace(answer, status=Status.FAILED, reason=reason)
    answer = replace(answer, ledger_ms=mean_ledgers(pairs, gap), checked=tuple(equal_conditions(pairs)))
    known = causes()
    suspected = suspect(pairs, known)
    findings = suspected.findings
    for cause, reason in suspected.broken.items():
        observer.say(f"cause {cause} is not asked: {reason}")
    answer = replace(answer, broken=suspected.broken)
    if not findings:
        return replace(answer, reason="no detector saw a cause")
    first = next(iter(pairs.values()))
    wanted = [(finding, proposed(known[finding.cause], finding, first)) for finding in findings]
    affordable, left_out = _within_budget(wanted, gap, request.budget)
    session = _Session(study, gap, only, out, request.budget, options, observer)
    plan = session.begun()
    tests, untestable = add_tests(plan, affordable)
    analysis = study.analysis
    better = find_metric(gap.contrast.metric).better
    space = Gap(gap.loser, gap.winner, better, session.run(plan), gap.random_losses)
    explained = judge(space, findings, tests, untestable, known, analysis)
    combined = session.together(tests, explained, space)
    return replace(
        answer,
        status=Status.EXPLAINED,
        reason="",
        findings=tuple(explained),
        together=combined,
        trials=len(session.counterfactual),
        left_out=tuple(left_out),
    )


def _begun(folder: RunFolder, gap: CellGap, options: RunOptions) -> Answer:
    """Return what the verdict alone says; the status is UNEXPLAINED where there is something to explain."""
    study, found = folder.study, gap.estimate
    labels = {arm.name: arm.label for arm in study.arms}
    status, reason = Status.UNEXPLAINED, ""
    if not gap.rounds:
        counted = ", ".join(f"{labels[arm]}: {outcomes}" for arm, outcomes in _outcomes(found).items())
        status, reason = Status.FAILED, f"no round went well on both arms, so there is no gap to explain ({counted})"
    elif not gap.has_verdict:
        word = str(found.verdict)
        status = Status.NO_GAP if word == "equivalent" else Status.UNDECIDED
        what = (
            "nothing to explain"
            if status is Status.NO_GAP
            else "no verdict says that an arm lost, so nothing is explained"
        )
        reason = f"{what}: {word}" + (f" ({found.reason})" if found.reason else "")
    loser_median, winner_median = found.baseline_median, found.contender_median
    if gap.loser == gap.contrast.contender:
        loser_median, winner_median = winner_median, loser_median
    metric = find_metric(gap.contrast.metric)
    return Answer(
        study=study.id,
        cell=found.cell,
        cell_id=found.cell_id,
        contrast=gap.contrast.name,
        metric=metric.name,
        status=status,
        reason=reason,
        command=shlex.join(options.command),
        loser=gap.loser,
        winner=gap.winner,
        loser_label=labels[gap.loser],
        winner_label=labels[gap.winner],
        loser_median=loser_median,
        winner_median=winner_median,
        unit=metric.unit,
        gap_pct=_relative(loser_median, winner_median),
        rounds=len(gap.rounds),
    )


def _outcomes(found: Estimate) -> dict[str, str]:
    """Return the counts of outcomes by arm, in words: `8 failed, 2 ok`."""
    by_arm: dict[str, list[str]] = {}
    for name, count in found.outcomes.items():
        arm, _, outcome = name.rpartition(":")
        by_arm.setdefault(arm, []).append(f"{count} {outcome}")
    return {arm: ", ".join(counts) for arm, counts in by_arm.items()}


def _relative(loser: float | None, winner: float | None) -> float | None:
    return None if loser is None or not winner else 100 * (loser / winner - 1)


def _folder_name(gap: CellGap) -> str:
    return f"{gap.estimate.cell_id}~{slug(gap.contrast.name, set())}"


Wanted = Sequence[tuple[Finding, Sequence[Intervention | Untestable]]]


def _within_budget(suspected: Wanted, gap: CellGap, budget: int | None) -> tuple[Wanted, list[str]]:
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
            cost = len(gap.rounds) * (2 if item.target is Target.BOTH else 1)
            if cost <= left:
                affordable.append(item)
                left -= cost
        if not any(isinstance(item, Intervention) for item in affordable) and any(
            isinstance(item, Intervention) for item in items
        ):
            out.append(finding.cause)
            affordable.append(Untestable(Kind.CURE, f"the budget of {budget} trials is spent"))
        kept.append((finding, affordable))
    return kept, out


class _Session:
    """The counterfactual trials of one cell; `counterfactual` has the ids of all that it took so far."""

    def __init__(
        self,
        study: Study,
        gap: CellGap,
        only: tuple[str, ...],
        out: Path,
        budget: int | None,
        options: RunOptions,
        observer: Observer,
    ) -> None:
        self.study = replace(study, metrics=(gap.contrast.metric,))
        self.counterfactual: frozenset[str] = frozenset()
        self._gap, self._only, self._out, self._budget = gap, only, out, budget
        self._options, self._observer = options, observer

    def begun(self) -> CounterfactualPlan:
        """Return a plan without a change."""
        engine = self._options.engine.name
        return CounterfactualPlan(self.study, self._gap.contrast, self._gap.loser, self._only, engine=engine)

    def run(self, planned: CounterfactualPlan) -> Values:
        """Run the trials of a plan that have not run; return the values of every arm."""
        plan = of_rounds(planned.plan, self._gap.rounds)
        self.counterfactual = self._with(plan)
        out = self._out / f"trials-{plan.hash}"
        _, measured = measure_plan(planned.study, plan, out, self._options, self._observer)
        return planned.completed(_values(measured, self._gap.contrast.metric))

    def _with(self, plan: Plan) -> frozenset[str]:
        own = (self._gap.loser, self._gap.winner)
        return self.counterfactual | {trial.id for trial in plan.trials if trial.arm not in own}

    def together(self, tests: Sequence[Experiment], explained: Sequence[Explained], space: Gap) -> Together | None:
        """Run all that was confirmed at once, if it is several changes, and return what they close together.

        A cause that has no cure takes part by its transplant: then both arms are changed.
        """
        best = [test for item in explained if (test := _confirming(item, tests)) is not None]
        labels = [test.intervention.change.label for test in best]
        if len(best) < 2:
            return together(space, labels, best[0].arms, self.study.analysis) if best else None
        alone = self.begun()
        arms = all_at_once(alone, best)
        if isinstance(arms, str):
            self._observer.say(f"the confirmed changes cannot be made together: {arms}")
            return None
        if self._budget is not None and len(self._with(of_rounds(alone.plan, self._gap.rounds))) > self._budget:
            self._observer.say(f"the budget of {self._budget} trials leaves none for the confirmed changes together")
            return None
        values = self.run(alone)
        return together(replace(space, values={**space.values, **values}), labels, arms, self.study.analysis)


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
