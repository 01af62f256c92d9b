"""`longlook explain`: cells of a run folder → answers, each from traces and from trials in which one thing changed."""

import shlex
from dataclasses import dataclass, replace

from longlook.core import SAMPLES, Estimate, RunFolder, find_metric
from longlook.explain import (
    Answer,
    Status,
    causes,
    equal_conditions,
    grouped,
    implausible,
    is_needed,
    proposed,
    suspect,
)
from longlook.pipeline.answers import FOLDER, read_answers, write_answers
from longlook.pipeline.evidence import check_analysed
from longlook.pipeline.explain.cells import CellGap, gaps
from longlook.pipeline.explain.failing import failing_arms
from longlook.pipeline.explain.search import search
from longlook.pipeline.explain.session import Session
from longlook.pipeline.explain.traced import mean_ledgers, traced_pairs
from longlook.pipeline.explain.trials import RunPlace
from longlook.pipeline.options import Observer, RunOptions
from longlook.report import slug, write_explanation


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
    with folder:
        if (folder.path / SAMPLES).exists():
            check_analysed(folder, [SAMPLES])
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
    pairs, reasons = traced_pairs(study, gap, only, out, options, observer)
    if not pairs:
        counts = "; ".join(f"{count} trials: {reason}" for reason, count in grouped(reasons).items())
        reason = "no round has a load of both arms that went well while it was traced"
        return replace(answer, status=Status.FAILED, reason=f"{reason} ({counts})" if counts else reason)
    labels = {gap.loser: answer.loser_label, gap.winner: answer.winner_label}
    answer = replace(
        answer,
        ledger_ms=mean_ledgers(pairs, gap),
        checked=tuple(equal_conditions(pairs)),
        implausible=tuple(implausible(pairs, labels)),
    )
    known = causes()
    suspected = suspect(pairs, known)
    findings = suspected.findings
    for cause, reason in suspected.broken.items():
        observer.say(f"cause {cause} is not asked: {reason}")
    answer = replace(answer, broken=suspected.broken)
    # A cause may need what it saw to say what to change, and need not have seen it in every round.
    wanted = [(item, proposed(known[item.cause], item, pairs[min(item.signs)])) for item in findings]
    session = Session(study, RunPlace(gap, only, out, request.budget, options, observer), pairs)
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
