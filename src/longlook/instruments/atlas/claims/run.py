"""`longlook claims`: published claims beside the findings of analysed runs, as a page and as JSON."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote

from longlook.analysis import welch_verdict
from longlook.core import (
    Agreement,
    Claim,
    ClaimResult,
    Contrast,
    InputError,
    MachineError,
    Study,
    write_json,
)
from longlook.instruments.atlas.claims.dispute import Dispute, DisputeEvidence, list_disputes
from longlook.instruments.atlas.claims.dispute_flips import changes, conclude_dispute, find_flips
from longlook.instruments.atlas.claims.dispute_judge import Point, judge_evidence
from longlook.instruments.atlas.claims.dispute_points import points_of
from longlook.instruments.atlas.claims.entries import Found, read_found, stated_as
from longlook.instruments.atlas.claims.page import write_claims_page
from longlook.instruments.atlas.claims.survey import (
    Ours,
    Survey,
    SurveyedClaim,
    SurveyedDispute,
    SurveyedRun,
    SurveyedStudy,
    command_for,
    newest,
    survey_data,
)
from longlook.pipeline import CLAIMS
from longlook.report import metric_facts, published, statement
from longlook.study import list_studies

_NOT_IN_RUN = "not part of the run: its study did not have this claim yet, or --only left its contrast out"


def survey_runs(paths: Sequence[Path], out: Path) -> tuple[Survey, Path]:
    """Read the runs, judge the disputes, write the page and its JSON into a folder; return the survey and the page."""
    found = make_survey(paths, out)
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise MachineError(f"cannot make {out}: {error.strerror}", "choose another --out") from error
    write_json(out / CLAIMS, survey_data(found))
    return found, write_claims_page(found, out)


def make_survey(paths: Sequence[Path], out: Path) -> Survey:
    """Return the findings of runs on every claim and dispute of this installation; links are as seen from `out`.

    `paths` are analysed run folders, or entries of an atlas.
    """
    given = {path.resolve(): path for path in paths}
    refuse_run_folder(out)
    installed = {study.id: study for study in list_studies()}
    disputes = list_disputes(installed)
    return survey([read_found(path, disputes) for path in given.values()], installed, disputes, out)


def refuse_run_folder(out: Path) -> None:
    """Raise InputError if `out` is a run folder or lies in one, whose files would be written over."""
    if any((place / "manifest.json").is_file() for place in (out.resolve(), out.resolve().parent)):
        raise InputError(f"--out {out} is a run folder, or in one, whose files are others", "choose another --out")


def survey(found: Sequence[Found], installed: Mapping[str, Study], disputes: Sequence[Dispute], out: Path) -> Survey:
    """Return the findings of runs on every claim of the installed studies, and on the disputes."""
    by_path = {str(run.path): stated_as(run, installed.get(run.study.id)) for run in found}
    runs = _ranked([_surveyed(run, installed, out) for run in by_path.values()])
    counting = {run.study: run for run in runs if run.replaced_by is None}
    read = {study: by_path[run.path] for study, run in counting.items()}
    studies = [_covered(read[study], run, installed.get(study)) for study, run in counting.items()]
    studies += [_not_covered(study) for name, study in installed.items() if name not in counting and study.claims]
    judged = [_judged(dispute, read, installed) for dispute in disputes]
    return Survey(tuple(runs), tuple(studies), tuple(judged))


def _surveyed(run: Found, installed: Mapping[str, Study], out: Path) -> SurveyedRun:
    entry, study = run.entry, run.study
    return SurveyedRun(
        study=study.id,
        path=str(run.path),
        report=None if run.report is None else link_to(run.report, out),
        engine=entry.engine,
        command=entry.command or command_for(study.id),
        made_unix_s=entry.made_unix_s,
        trials=entry.trials,
        good=entry.good,
        at_hand=run.folder is not None,
        changes=changes(study, installed[study.id]) if study.id in installed else (),
        altered=entry.altered,
    )


def link_to(file: Path, out: Path) -> str:
    """Return the link of a file as seen from a page in `out`. A file in `out`, maybe by a symbolic link, is found
    there wherever `out` is copied to.
    """
    if file.is_relative_to(out):
        return quote(str(file.relative_to(out)))
    return quote(os.path.relpath(file.resolve(), out.resolve()))


def _ranked(runs: Sequence[SurveyedRun]) -> list[SurveyedRun]:
    """Return the runs in the order given, with those marked that a newer run of their study replaces."""
    first = {study: newest([run for run in runs if run.study == study]) for study in {r.study for r in runs}}
    return [run if run is first[run.study] else replace(run, replaced_by=first[run.study].path) for run in runs]


def _covered(run: Found, surveyed: SurveyedRun, installed: Study | None) -> SurveyedStudy:
    facts = metric_facts(run.study)
    claims = [
        SurveyedClaim(
            study=run.study.id,
            statement=statement(found.claim, run.study, facts),
            published=published(found.claim),
            claim=found.claim,
            ours=_ours(found),
            result=found.result,
            reason=found.reason,
            link=_link(run, surveyed, found),
            welch=welch_verdict(found),
            factor=found.factor,
        )
        for found in run.claims
    ]
    known = {found.claim.id for found in run.claims}
    since = [claim for claim in (installed.claims if installed else ()) if claim.id not in known]
    if installed is not None:
        claims += [_open(claim, installed, _NOT_IN_RUN) for claim in since]
    command = command_for(run.study.id) if installed else surveyed.command
    return SurveyedStudy(run.study, surveyed, tuple(claims), command)


def _not_covered(study: Study) -> SurveyedStudy:
    command = command_for(study.id)
    claims = tuple(_open(claim, study, f"not run: {command}") for claim in study.claims)
    return SurveyedStudy(study, None, claims, command)


def _open(claim: Claim, study: Study, reason: str) -> SurveyedClaim:
    text = statement(claim, study, metric_facts(study))
    return SurveyedClaim(study.id, text, published(claim), claim, None, Agreement.NOT_RUN, reason, None)


def _ours(found: ClaimResult) -> Ours | None:
    if found.estimate is not None:
        item = found.estimate
        if item.difference is not None:
            own = item.difference
            return Ours("effect", own.value, own.low, own.high, own.unit, item.n_pairs)
        return Ours("effect", item.effect_pct, item.ci_low_pct, item.ci_high_pct, "%", item.n_pairs)
    if found.level is not None:
        level = found.level
        return Ours("level", level.median, level.low, level.high, level.unit, level.n)
    return None


def _link(run: Found, surveyed: SurveyedRun, found: ClaimResult) -> str | None:
    """Return the link of a claim's cell in the run's report; for one arm, in the first contrast that shows the arm."""
    place = found.estimate or found.level
    if surveyed.report is None or place is None:
        return None
    shown = [contrast.name for contrast in run.study.contrasts if _shows(contrast, found)]
    anchors = [run.anchors[name, place.cell_id] for name in shown if (name, place.cell_id) in run.anchors]
    return f"{surveyed.report}#{anchors[0]}" if anchors else None


def _shows(contrast: Contrast, found: ClaimResult) -> bool:
    expected = found.claim.expected
    if expected is None:
        return contrast.name == found.claim.contrast
    return not contrast.family or expected.arm in (contrast.baseline, contrast.contender)


def _judged(dispute: Dispute, read: Mapping[str, Found], installed: Mapping[str, Study]) -> SurveyedDispute:
    judged = [
        judge_evidence(evidence, dispute.positions, _points(evidence, read.get(evidence.study)))
        for evidence in dispute.evidence
    ]
    lacking = [item.evidence.study for item in judged if any(point.missing for point in item.points)]
    commands = tuple(command_for(study) for study in dict.fromkeys(lacking) if study in installed)
    flips = find_flips(dispute, judged, installed)
    return SurveyedDispute(dispute, tuple(judged), conclude_dispute(dispute, judged, flips), commands, flips)


def _points(evidence: DisputeEvidence, run: Found | None) -> list[Point]:
    return points_of(evidence, None, None) if run is None else points_of(evidence, run.values(evidence), run.study)
