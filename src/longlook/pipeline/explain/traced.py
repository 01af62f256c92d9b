"""The rounds of a cell with traces of both ends, run again for this; what the run has traced comes from the cache."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from longlook.core import EVENTS, LEDGER, TIMELINE, Outcome, Plan, RunFolder, Study, Trial, codec
from longlook.explain import Pair, Side, Tape, make_ledger
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
    tape: Tape,
) -> tuple[dict[int, Pair], list[str]]:
    """Return the loads of a cell whose trials of both arms went well, by their number, and why others did not.

    They are the loads of all rounds, and the ones at the stated point that the tape names. Each trial's ledger is
    written.

    The trials run, with everything captured that their stacks can write, in a run folder below `out` of their own; in
    virtual time they come from the cache if they have run before.
    """
    traced = with_traces(study, gap)
    loads = planned_loads(traced, only, gap.rounds, tape, tape.traced)
    plan = plan_of(loads)
    folder, measured = measure_plan(traced, plan, out / f"traced-{plan.hash}", options, observer)
    good = {entry.trial.id for entry in measured if entry.run.outcome is Outcome.OK}
    reasons = [entry.run.reason or str(entry.run.outcome) for entry in measured if entry.trial.id not in good]
    return dict(_pairs(folder, loads, good, gap, options.engine.name)), reasons


def with_traces(study: Study, gap: CellGap) -> Study:
    """Return the study of both arms of a gap alone, traced at both ends and measured by its metric."""
    arms = tuple(arm for arm in study.arms if arm.name in (gap.loser, gap.winner))
    capture = replace(study.capture, qlog=True, tcp=True)
    alone = replace(study, arms=arms, contrasts=(gap.contrast,), claims=(), stopping=None, loss_strata=False)
    return replace(alone, metrics=(gap.contrast.metric,), capture=capture)


def planned_loads(
    study: Study, only: Sequence[str], rounds: Iterable[int], tape: Tape, beside: Iterable[int] = ()
) -> dict[int, list[Trial]]:
    """Return the loads of these rounds, and the loads of the numbers beside, by number: a trial of each arm."""
    plan = make_plan(replace(study, loss_strata=tape.is_integrated), only)
    wanted = {at for number in rounds for at in tape.in_round(number)} | {*beside}
    found: dict[int, list[Trial]] = {}
    for loads in tape.of(plan.trials).values():
        for number, trial in loads.items():
            if number in wanted:
                found.setdefault(number, []).append(trial)
    return dict(sorted(found.items()))


def plan_of(loads: Mapping[int, Sequence[Trial]]) -> Plan:
    """Return a plan of all trials of some loads, each once, and the trials of a load one after the other."""
    trials = {trial.id: trial for own in loads.values() for trial in sorted(own, key=lambda one: one.id)}
    return Plan(next(iter(trials.values())).study, codec.content_hash(list(trials)), tuple(trials.values()))


def _pairs(
    folder: RunFolder, loads: Mapping[int, Sequence[Trial]], good: set[str], gap: CellGap, engine: str
) -> Iterator[tuple[int, Pair]]:
    for number, trials in loads.items():
        arms = {trial.arm: trial for trial in trials if trial.id in good}
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


def mean_ledgers(pairs: Mapping[int, Pair], gap: CellGap, shares: Mapping[int, float]) -> dict[str, dict[str, float]]:
    """Return the mean of each class over all loads in ms, by arm; `shares` has the share that each traced load stands
    for.
    """
    found = {}
    for arm, sides in (
        (gap.loser, {number: pair.loser for number, pair in pairs.items()}),
        (gap.winner, {number: pair.winner for number, pair in pairs.items()}),
    ):
        totals = {number: side.ledger.totals() for number, side in sides.items()}
        classes = dict.fromkeys(name for total in totals.values() for name in total)
        found[arm] = {
            str(name): sum(shares[number] * total.get(name, 0) for number, total in totals.items()) / 1e6
            for name in classes
        }
    return found
