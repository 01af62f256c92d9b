"""Rounds in which an arm failed, run again with traces of both ends: what the failing trials share."""

from collections.abc import Sequence
from pathlib import Path

from longlook.analysis import MeasuredAttempt
from longlook.core import EVENTS, TIMELINE, Outcome, RunFolder, Study
from longlook.explain import (
    MOST_TRACED,
    FailedArm,
    FailedTrial,
    Pair,
    Side,
    causes,
    common,
    cut,
    grouped,
    make_ledger,
    signs_in,
)
from longlook.pipeline.explain.cells import CellGap
from longlook.pipeline.explain.traced import of_rounds, with_traces
from longlook.pipeline.options import Observer, RunOptions
from longlook.pipeline.sample import measure_plan
from longlook.study import VIRTUAL, make_plan
from longlook.timeline import Events, Timeline


def failing_arms(
    study: Study, gap: CellGap, only: Sequence[str], out: Path, options: RunOptions, observer: Observer
) -> tuple[FailedArm, ...]:
    """Return the arms of a cell that failed in some rounds; the first of these rounds are run again with traces.

    `study` has all rounds of the run, `gap` the rounds that went well on both arms. Nothing runs if none failed.
    """
    counts = {arm: _counts(gap, arm) for arm in (gap.loser, gap.winner)}
    failed = {arm: sum(own.values()) - own.get(str(Outcome.OK), 0) for arm, own in counts.items()}
    if not any(failed.values()):
        return ()
    ran = max(sum(own.values()) for own in counts.values())  # a study that stops when it is decided plans more
    rounds = [number for number in range(ran) if number not in gap.rounds][:MOST_TRACED]
    plan = of_rounds(make_plan(with_traces(study, gap), only), rounds)
    folder, measured = measure_plan(with_traces(study, gap), plan, out / f"failing-{plan.hash}", options, observer)
    found = []
    for arm, count in failed.items():
        if count:
            other = gap.winner if arm == gap.loser else gap.loser
            total = sum(counts[arm].values())
            found.append(_arm(folder, measured, arm, other, count, total, options.engine.name))
    return tuple(found)


def _counts(gap: CellGap, arm: str) -> dict[str, int]:
    """Return how many trials of an arm ended in each outcome."""
    named = ((name.rpartition(":"), count) for name, count in gap.estimate.outcomes.items())
    return {outcome: count for (own, _, outcome), count in named if own == arm}


def _arm(
    folder: RunFolder, measured: Sequence[MeasuredAttempt], arm: str, other: str, failed: int, total: int, engine: str
) -> FailedArm:
    bad = [entry for entry in measured if entry.trial.arm == arm and entry.run.outcome is not Outcome.OK]
    good = [entry for entry in measured if entry.trial.arm == other and entry.run.outcome is Outcome.OK]
    own, others = ([each for entry in some if (each := _read(folder, entry))] for some in (bad, good))
    sides = {each.trial.round: _side(each, engine) for each in own}
    theirs = {each.trial.round: _side(each, engine) for each in others}
    pairs = [
        Pair(side, beside)
        for number, side in sides.items()
        if side is not None and (beside := theirs.get(number)) is not None
    ]
    return FailedArm(
        arm,
        failed,
        total,
        sum(entry.trial.arm == arm for entry in measured),
        len(bad),
        len(others),
        grouped([entry.run.reason or str(entry.run.outcome) for entry in bad]),
        common(own, others) if own else (),
        signs_in(pairs, causes()),
        _mean_ms([side for side in sides.values() if side is not None]),
        _mean_ms([side for side in theirs.values() if side is not None]),
    )


def _read(folder: RunFolder, entry: MeasuredAttempt) -> FailedTrial | None:
    """Return a trial; None if it did not get so far that it has a timeline."""
    path = folder.trials / entry.trial.id
    if not (path / TIMELINE).exists():
        return None
    timeline = Timeline.read(path / TIMELINE)
    if (path / EVENTS).exists():
        timeline = timeline.with_events(Events.read(path / EVENTS))
    return FailedTrial(entry.trial, cut(timeline))


def _side(each: FailedTrial, engine: str) -> Side | None:
    ledger = make_ledger(each.timeline, each.trial, live=(each.trial.engine or engine) != VIRTUAL)
    return None if ledger is None else Side(each.trial, each.timeline, ledger)


def _mean_ms(sides: Sequence[Side]) -> dict[str, float]:
    classes = dict.fromkeys(name for side in sides for name in side.totals)
    return {str(name): sum(side.totals.get(name, 0) for side in sides) / len(sides) / 1e6 for name in classes}
