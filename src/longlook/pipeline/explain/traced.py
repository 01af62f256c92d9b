"""The rounds of a cell with traces of both ends, run again for this; what the run has traced comes from the cache."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from longlook.core import EVENTS, LEDGER, TIMELINE, Outcome, Plan, RunFolder, Study, Trial, codec
from longlook.explain import Pair, Side, make_ledger
from longlook.pipeline.explain.cells import CellGap
from longlook.pipeline.options import Observer, RunOptions
from longlook.pipeline.sample import measure_plan
from longlook.study import VIRTUAL, make_plan
from longlook.timeline import Events, Timeline


def traced_pairs(
    study: Study,
    gap: CellGap,
    only: Sequence[str],
    out: Path,
    options: RunOptions,
    observer: Observer,
) -> tuple[dict[int, Pair], list[str]]:
    """Return the rounds of a cell whose trials of both arms went well, by round, and why others did not.

    Each trial's ledger is written.

    The trials run, with everything captured that their stacks can write, in a run folder below `out` of their own; in
    virtual time they come from the cache if they have run before.
    """
    traced = with_traces(study, gap)
    plan = of_rounds(make_plan(traced, only), gap.rounds)
    folder, measured = measure_plan(traced, plan, out / f"traced-{plan.hash}", options, observer)
    good = {entry.trial.id for entry in measured if entry.run.outcome is Outcome.OK}
    reasons = [entry.run.reason or str(entry.run.outcome) for entry in measured if entry.trial.id not in good]
    return dict(_pairs(folder, plan.trials, good, gap, options.engine.name)), reasons


def with_traces(study: Study, gap: CellGap) -> Study:
    """Return the study of both arms of a gap alone, traced at both ends and measured by its metric."""
    arms = tuple(arm for arm in study.arms if arm.name in (gap.loser, gap.winner))
    capture = replace(study.capture, qlog=True, tcp=True)
    alone = replace(study, arms=arms, contrasts=(gap.contrast,), claims=(), stopping=None, loss_strata=False)
    return replace(alone, metrics=(gap.contrast.metric,), capture=capture)


def of_rounds(plan: Plan, rounds: Sequence[int]) -> Plan:
    """Return the plan with the trials of these rounds alone."""
    wanted = set(rounds)
    trials = tuple(trial for trial in plan.trials if trial.round in wanted)
    return replace(plan, trials=trials, hash=codec.content_hash([trial.id for trial in trials]))


def _pairs(
    folder: RunFolder, trials: Sequence[Trial], good: set[str], gap: CellGap, engine: str
) -> Iterator[tuple[int, Pair]]:
    by_round: dict[int, dict[str, Trial]] = {}
    for trial in trials:
        if trial.id in good:
            by_round.setdefault(trial.round, {})[trial.arm] = trial
    for number, arms in sorted(by_round.items()):
        if gap.loser in arms and gap.winner in arms:
            sides = [side_of(folder, arms[arm], engine) for arm in (gap.loser, gap.winner)]
            if sides[0] is not None and sides[1] is not None:
                yield number, Pair(sides[0], sides[1])


def side_of(folder: RunFolder, trial: Trial, engine: str) -> Side | None:
    """Make a trial's ledger, write it, and return the trial with it; None if the trial left no data for a ledger."""
    path = folder.trials / trial.id
    timeline = Timeline.read(path / TIMELINE)
    if (path / EVENTS).exists():
        timeline = timeline.with_events(Events.read(path / EVENTS))
    ledger = make_ledger(timeline, trial, live=(trial.engine or engine) != VIRTUAL)
    if ledger is None:
        return None
    ledger.write(path / LEDGER)
    return Side(trial, timeline, ledger)


def mean_ledgers(pairs: Mapping[int, Pair], gap: CellGap) -> dict[str, dict[str, float]]:
    """Return the mean of each class over rounds in ms, by arm."""
    found = {}
    for arm, sides in (
        (gap.loser, [pair.loser for pair in pairs.values()]),
        (gap.winner, [pair.winner for pair in pairs.values()]),
    ):
        totals = [side.ledger.totals() for side in sides]
        classes = dict.fromkeys(name for total in totals for name in total)
        found[arm] = {str(name): sum(total.get(name, 0) for total in totals) / len(totals) / 1e6 for name in classes}
    return found
