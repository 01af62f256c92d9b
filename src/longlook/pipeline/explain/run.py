"""`longlook explain`: cells of a run folder → answers, each from traces and from trials in which one thing changed."""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from longlook.analysis import MeasuredAttempt
from longlook.core import (
    EVENTS,
    SAMPLES,
    TIMELINE,
    Better,
    Estimate,
    InputError,
    Outcome,
    RunFolder,
    Study,
    find_metric,
    registry,
)
from longlook.explain import (
    MOST_TRACED,
    Answer,
    FailedArm,
    FailedTrial,
    Pair,
    Side,
    Status,
    Tape,
    causes,
    common,
    cut,
    equal_conditions,
    grouped,
    implausible,
    is_needed,
    make_ledger,
    proposed,
    signs_in,
    suspect,
)
from longlook.pipeline.answers import FOLDER, read_answers, write_answers
from longlook.pipeline.evidence import check_analysed
from longlook.pipeline.explain.cells import CellGap, gaps
from longlook.pipeline.explain.search import search
from longlook.pipeline.explain.session import Session
from longlook.pipeline.explain.tape import loads_of
from longlook.pipeline.explain.traced import mean_ledgers, plan_of, planned_loads, traced_pairs, with_traces
from longlook.pipeline.explain.trials import RunPlace
from longlook.pipeline.options import Observer, RunOptions
from longlook.pipeline.result_files import PATTERNS
from longlook.pipeline.sample import measure_plan
from longlook.report import slug, write_explanation
from longlook.study import VIRTUAL
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
    plan = plan_of(planned_loads(with_traces(study, gap), only, rounds, Tape()))
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


@dataclass(frozen=True)
class ExplainRequest:
    """The wish to have cells explained. `budget` bounds the counterfactual trials of a cell; None: as many as it needs.

    Without cells, all in which a verdict says that an arm lost are explained; without a contrast, the study's first.
    """

    cells: tuple[str, ...] = ()
    contrast: str | None = None
    budget: int | None = None


def explain_run(folder: RunFolder, request: ExplainRequest, options: RunOptions, observer: Observer) -> list[Answer]:
    """Explain cells of a run and write what was found below the run folder; return the answers in the plan's order.

    Raises InputError if the run, a cell or the contrast cannot be explained, if another command has the run, if earlier
    answers are damaged, or if the run's files are not as they were sealed. Raises MachineError if this machine cannot
    go on. Trials that finished stay, and in virtual time the next call takes them from the cache.
    """
    answers: list[Answer] = []
    workload = registry.workload(kind := str(folder.study.settings["workload.kind"]))
    if workload.live:
        raise InputError(
            f"workload {kind}: explain knows the causes of late loads, and not yet of late frames",
            "compare arms in which one thing differs: docs/guide/live.md",
        )
    if workload.uploads:
        raise InputError(
            f"workload {kind}: explain knows the causes of what clients fetch, and not yet of what they send",
            "compare arms in which one thing differs: docs/guide/uploads.md",
        )
    with folder:
        if (folder.path / SAMPLES).exists():
            check_analysed(folder, [name for name in (SAMPLES, PATTERNS) if (folder.path / name).exists()])
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
    out = folder.path / FOLDER / _folder_name(gap)
    only = tuple(f"{factor}={label}" for factor, label in gap.estimate.cell.items())
    if answer.status is not Status.NO_GAP:
        answer = replace(answer, failing=failing_arms(folder.study, gap, only, out, options, observer))
    if answer.status is not Status.UNEXPLAINED:
        return answer
    study = replace(folder.study, rounds=max(gap.rounds) + 1)
    loads = loads_of(folder, gap)
    if loads.tape.why_sampled:
        observer.say(f"losses are drawn at random in each round: {loads.tape.why_sampled}")
    answer = replace(answer, why_sampled=loads.tape.why_sampled)
    tape = loads.tape
    pairs, reasons = traced_pairs(study, gap, only, out, options, observer, tape)
    if not pairs:
        counts = "; ".join(f"{count} trials: {reason}" for reason, count in grouped(reasons).items())
        reason = "no round has a load of both arms that went well while it was traced"
        return replace(answer, status=Status.FAILED, reason=f"{reason} ({counts})" if counts else reason)
    labels = {gap.loser: answer.loser_label, gap.winner: answer.winner_label}
    shares = tape.shares(pairs)
    answer = replace(
        answer,
        ledger_ms=mean_ledgers(pairs, gap, shares),
        checked=tuple(equal_conditions(pairs)),
        implausible=tuple(implausible(pairs, labels, "load" if tape.is_integrated else "round")),
        integrated=loads.described(pairs),
    )
    known = causes()
    suspected = suspect(pairs, known, shares if tape.is_integrated else None)
    findings = suspected.findings
    for cause, reason in suspected.broken.items():
        observer.say(f"cause {cause} is not asked: {reason}")
    answer = replace(answer, broken=suspected.broken)
    # A cause may need what it saw to say what to change, and need not have seen it in every round.
    wanted = [(item, proposed(known[item.cause], item, pairs[min(item.signs)])) for item in findings]
    session = Session(study, RunPlace(gap, only, out, request.budget, options, observer, tape), pairs)
    judgement = session.tested(wanted, known)
    if is_needed(judgement.findings, judgement.together):
        searched = search(session, pairs, judgement)
        judgement = searched.judgement
        answer = replace(answer, screening=searched.screening, losses=searched.losses)
    answer = replace(answer, trials=len(session.counterfactual))
    if not judgement.findings:
        screened = answer.screening is not None and not answer.screening.reason
        beyond = "no setting that was varied moves the gap" if screened else "settings were not screened"
        return replace(answer, reason=f"no detector saw a cause, and {beyond}")
    return replace(
        answer,
        status=Status.EXPLAINED,
        reason="",
        findings=judgement.findings,
        together=judgement.together,
        left_out=judgement.left_out,
    )


def _begun(folder: RunFolder, gap: CellGap, options: RunOptions) -> Answer:
    """Return what the verdict alone says; the status is UNEXPLAINED if there is something to explain."""
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
    loser_level, winner_level = found.levels
    if gap.loser == gap.contrast.contender:
        loser_level, winner_level = winner_level, loser_level
    low, high = _span(gap) if found.is_integrated else (None, None)
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
        loser_level=loser_level,
        winner_level=winner_level,
        unit=metric.unit,
        gap_pct=_relative(loser_level, winner_level) if found.effect_pct is not None else None,
        gap_low_pct=low,
        gap_high_pct=high,
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


def _span(gap: CellGap) -> tuple[float | None, float | None]:
    """Return the interval of a gap, by how much the loser's value is larger in %, from the effect's interval."""
    found = gap.estimate
    if found.ci_low_pct is None or found.ci_high_pct is None:
        return None, None
    sign = -1 if find_metric(found.metric).better is Better.LOWER else 1
    ratios = [1 + sign * end / 100 for end in (found.ci_low_pct, found.ci_high_pct)]  # contender / baseline
    if gap.loser == gap.contrast.baseline:
        ratios = [1 / ratio for ratio in ratios if ratio > 0]
    return (100 * (min(ratios) - 1), 100 * (max(ratios) - 1)) if len(ratios) == 2 else (None, None)


def _folder_name(gap: CellGap) -> str:
    return f"{gap.estimate.cell_id}~{slug(gap.contrast.name, set())}"
