"""One round of a change with traces of both ends: what became of the cause that it was to change."""

from dataclasses import dataclass

from longlook.core import codec
from longlook.core.model import Outcome, Plan, Study
from longlook.explain.counterfactual import CounterfactualPlan, Experiment
from longlook.explain.pair import Pair, Side
from longlook.pipeline.explain.traced import side_of, with_traces
from longlook.pipeline.explain.trials import RunPlace
from longlook.pipeline.sample import measure_plan


@dataclass(frozen=True)
class TracedChange:
    """Both arms of a round, changed as a test changes them (None: a load did not go well), and the trials' ids."""

    pair: Pair | None
    trials: frozenset[str]


def traced_change(study: Study, place: RunPlace, test: Experiment, pair: Pair, number: int) -> TracedChange:
    """Run a round of a change with traces; return it beside the arm that stays.

    `pair` is the round without the change.
    """
    gap, engine = place.gap, place.options.engine.name
    plan = CounterfactualPlan(with_traces(study, gap), gap.contrast, gap.loser, place.only, engine=engine)
    arms = plan.add(dict.fromkeys(test.arms, test.intervention.change))
    if isinstance(arms, str):
        return TracedChange(None, frozenset())
    trials = tuple(trial for trial in plan.plan.trials if trial.round == number and trial.arm in arms.values())
    part = Plan(study.id, codec.content_hash([trial.id for trial in trials]), trials)
    folder, measured = measure_plan(plan.study, part, place.out / f"changed-{part.hash}", place.options, place.observer)
    well = {entry.trial.id for entry in measured if entry.run.outcome is Outcome.OK}
    sides: dict[str, Side | None] = {gap.loser: pair.loser, gap.winner: pair.winner}
    for own, arm in arms.items():
        trial = next((trial for trial in trials if trial.arm == arm and trial.id in well), None)
        sides[own] = None if trial is None else side_of(folder, trial, engine)
    loser, winner = sides[gap.loser], sides[gap.winner]
    # A trace that contradicts itself is no witness.
    doubted = any(side is not None and side.doubts for side in (loser, winner))
    changed = None if loser is None or winner is None or doubted else Pair(loser, winner)
    return TracedChange(changed, frozenset(trial.id for trial in trials))
