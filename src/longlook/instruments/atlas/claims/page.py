"""The claims page: everything published beside the results of several runs, and disputes, in one file from disk.

`write_claims_page` turns a `Survey` of the analysis into the page; `summary_rows` and `ours_text` are for the terminal
too.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from longlook.core import Study
from longlook.instruments.atlas.claims import dispute_charts as disputes
from longlook.instruments.atlas.claims.counts import (
    RESULTS,
    RULE,
    STATEMENT_RESULTS,
    counts_by_kind,
    result_counts,
    statements,
)
from longlook.instruments.atlas.claims.dispute import DisputeEvidence, unit_of
from longlook.instruments.atlas.claims.dispute_judge import Held, JudgedEvidence
from longlook.instruments.atlas.claims.survey import Ours, Survey, SurveyedDispute, SurveyedRun
from longlook.report import (
    asset,
    embedded_json,
    export_figure,
    page_specification,
    short_labels,
    template,
    vega,
    wording,
)

PAGE = "index.html"
HELD_SYMBOLS = {Held.WITHIN: "✓", Held.OUTSIDE: "✗", Held.ACROSS: "?", Held.NOT_APPLICABLE: "·", Held.UNKNOWN: "–"}


@dataclass(frozen=True)
class EvidenceRow:
    """A level of a piece of evidence: our value, its interval or the reason for none, the study's verdict about an
    effect, and its relation to each position.
    """

    level: str
    value: str
    interval: str
    is_missing: bool
    rounds: str
    verdict: str
    held: Mapping[str, Held]


@dataclass(frozen=True)
class Piece:
    """A piece of evidence as the page shows it; without values there is no chart."""

    judged: JudgedEvidence
    title: str
    chart: str | None
    rows: tuple[EvidenceRow, ...]


def write_claims_page(survey: Survey, out: Path) -> Path:
    """Write `index.html`, and the disputes that have values as figures, into a folder; return the page's path."""
    studies = {item.study.id: item.study for item in survey.studies}
    pieces = {item.dispute.id: pieces_of(item, studies) for item in survey.disputes}
    for old in (out / "figures").glob("dispute-*"):
        old.unlink()
    for item in survey.disputes:
        figure = disputes.dispute_figure(item, [piece.title for piece in pieces[item.dispute.id]])
        if figure is not None:
            export_figure(out / "figures", f"dispute-{item.dispute.id}", figure)
    page = template("instruments/atlas/claims/page.html.j2").render(
        survey=survey,
        headline=headline(survey),
        total=result_counts(survey.claims),
        result_counts=result_counts,
        results=RESULTS,
        by_kind=counts_by_kind(survey.claims),
        statement_results=STATEMENT_RESULTS,
        rule=RULE,
        arms={name: [(arm.name, arm.label or arm.name) for arm in study.arms] for name, study in studies.items()},
        pieces=pieces,
        shades={item.dispute.id: disputes.position_colours(item.dispute) for item in survey.disputes},
        ours=ours_text,
        made=made,
        wording=wording,
        symbols=HELD_SYMBOLS,
        css=asset("assets/report.css"),
        own_css=asset("instruments/atlas/claims/claims.css"),
        js=asset("instruments/atlas/claims/claims.js"),
        vega=vega(),
        data=embedded_json(_specifications(survey, pieces)),
    )
    path = out / PAGE
    path.write_text(page, encoding="utf-8")
    return path


def headline(survey: Survey) -> str:
    """Return the content of the page in one sentence."""
    claims = [item for study in survey.covered for item in study.claims]
    runs, studies = len(survey.runs), len([item for item in survey.covered if item.claims])
    return (
        f"{len(statements(claims))} published numbers and sentences, {len(claims)} claims about cells of {studies} "
        f"{'study' if studies == 1 else 'studies'}, beside what {runs} {'run' if runs == 1 else 'runs'} found."
    )


def evidence_title(evidence: DisputeEvidence, studies: Mapping[str, Study]) -> str:
    """Return the title of a piece of evidence: `QUIC against TCP, page load time over size, at rate 10Mbit`."""
    study = studies.get(evidence.study)
    metric = evidence.metric.replace("_", " ")
    who = evidence.arm or evidence.contrast or ""
    if study is not None:
        arms = short_labels(study)
        contrast = next((item for item in study.contrasts if item.name == evidence.contrast), None)
        if contrast is not None:
            who = f"{arms.get(contrast.contender)} against {arms.get(contrast.baseline)}"
        elif evidence.arm is not None:
            who = arms.get(evidence.arm, evidence.arm)
    where = f" ({wording.listed_cell(evidence.cell)})" if evidence.cell else ""
    return f"{who}: {metric} over {evidence.factor}{where}"


def pieces_of(item: SurveyedDispute, studies: Mapping[str, Study]) -> list[Piece]:
    """Return the evidence of a dispute as pages show it."""
    return [
        Piece(
            judged,
            evidence_title(judged.evidence, studies),
            f"{item.dispute.id}-{number}" if disputes.has_values(judged) else None,
            tuple(_row(judged, place) for place in range(len(judged.points))),
        )
        for number, judged in enumerate(item.evidence)
    ]


def _row(judged: JudgedEvidence, place: int) -> EvidenceRow:
    point, unit, signed = judged.points[place], unit_of(judged.evidence), judged.evidence.contrast is not None
    return EvidenceRow(
        level=point.level,
        value=disputes.shown(point, unit, signed=signed),
        interval=point.missing or disputes.shown_interval(point, unit, signed=signed),
        is_missing=point.missing is not None,
        rounds=str(point.n or wording.DASH),
        verdict="" if point.judgement is None else str(point.judgement.verdict),
        held={name: held[place] for name, held in judged.held.items()},
    )


def ours_text(ours: Ours | None) -> tuple[str, str]:
    """Return our value and its interval as text."""
    if ours is None:
        return wording.DASH, wording.DASH
    if ours.kind == "effect":
        return wording.signed(ours.value, ours.unit), wording.interval_with(ours.low, ours.high, ours.unit)
    if ours.low is None or ours.high is None:
        return wording.quantity(ours.value, ours.unit), wording.DASH
    return wording.quantity(ours.value, ours.unit), (
        f"{wording.quantity(ours.low, ours.unit)} to {wording.quantity(ours.high, ours.unit)}"
    )


def made(run: SurveyedRun) -> str:
    """Return when a run ended: `2026-11-21 20:15 UTC`."""
    return time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(run.made_unix_s))


def summary_rows(survey: Survey) -> Sequence[tuple[str, Mapping[str, int]]]:
    """Return claims by result for each study that was run, and for all that were not as one."""
    rows = [(item.study.id, result_counts(item.claims)) for item in survey.covered if item.claims]
    rest = [claim for item in survey.not_run for claim in item.claims]
    return [*rows, *([(f"{len(survey.not_run)} studies not run", result_counts(rest))] if rest else [])]


def _specifications(survey: Survey, pieces: Mapping[str, Sequence[Piece]]) -> dict[str, Any]:
    return {
        piece.chart: page_specification(disputes.evidence_chart(piece.judged, item.dispute, "container"))
        for item in survey.disputes
        for piece in pieces[item.dispute.id]
        if piece.chart is not None
    }
