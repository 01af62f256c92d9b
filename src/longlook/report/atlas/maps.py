"""Published figures beside ours: for each contrast two small matrices on the same places and the same colours."""

from collections.abc import Mapping
from dataclasses import dataclass

import pandas as pd

from longlook.analysis.claims.atlas import AtlasStudy
from longlook.core.model import Contrast
from longlook.core.results import ClaimResult
from longlook.report import wording
from longlook.report.content import ReportContent, metric_facts
from longlook.report.contrasts.squares import (
    STATE_NOTES,
    Square,
    claims_of,
    measured_squares,
    published_squares,
)
from longlook.report.layout import CellKey, Grid, make_grid

Position = tuple[str, str]
"""Row and column of a square."""


@dataclass(frozen=True)
class Cell:
    """A square of either matrix in few bytes; without `text` it is empty."""

    text: str
    fill: str
    ink: str
    tip: str
    mark: str = ""  # the result's symbol
    result: str = ""  # of the claim about it
    cliff: str = ""
    link: str = ""
    why: str = ""
    state: str = "estimated"


@dataclass(frozen=True)
class Map:
    """A contrast: its places, what was published there and what was found; either may be missing as a whole."""

    heading: str
    baseline: str
    contender: str
    grid: Grid
    published: Mapping[Position, Cell] | None
    ours: Mapping[Position, Cell] | None


def maps_of(item: AtlasStudy, content: ReportContent, anchors: Mapping[tuple[str, str], str]) -> list[Map]:
    """Return the contrasts that were published first, then those that were found alone, in the study's order."""
    found = [_map(item, content, contrast, anchors) for contrast in content.study.contrasts]
    return sorted(
        (each for each in found if each.published or each.ours), key=lambda each: each.published is None
    )  # stable


def without_run(item: AtlasStudy) -> ReportContent:
    """Return the content of a study that was not run: its claims alone."""
    study = item.surveyed.study
    claims = [ClaimResult(claim.claim, None, claim.result, claim.reason) for claim in item.claims]
    return ReportContent(study, pd.DataFrame(), [], claims, {}, metric_facts(study))


def _map(item: AtlasStudy, content: ReportContent, contrast: Contrast, anchors: Mapping[tuple[str, str], str]) -> Map:
    claims = claims_of(content, contrast)
    grid = make_grid(content, contrast, claims)
    contender, baseline = content.short_label(contrast.contender), content.short_label(contrast.baseline)
    metric = wording.inner(content.facts(contrast.metric).label)
    ran = any(content.estimates_of(contrast))
    return Map(
        heading=f"{contender} against {baseline}: {metric}",
        baseline=baseline,
        contender=contender,
        grid=grid,
        published=_published(content, contrast, grid, claims) if claims else None,
        ours=_ours(item, content, contrast, grid, claims, anchors) if ran else None,
    )


def _published(
    content: ReportContent, contrast: Contrast, grid: Grid, claims: Mapping[CellKey, ClaimResult]
) -> dict[Position, Cell]:
    squares = published_squares(content, contrast, grid)
    return {
        (place.row, place.column): _cell(squares[place.row, place.column], claims[place.key].result)
        for place in grid.in_order()
        if place.key in claims
    }


def _ours(
    item: AtlasStudy,
    content: ReportContent,
    contrast: Contrast,
    grid: Grid,
    claims: Mapping[CellKey, ClaimResult],
    anchors: Mapping[tuple[str, str], str],
) -> dict[Position, Cell]:
    squares = measured_squares(content, grid)
    run = item.surveyed.run
    report = run.report if run is not None else None
    whys = {(each.contrast, each.cell_id): each.link for each in item.explanations}
    found = {}
    for place in grid.in_order():
        square = squares[place.row, place.column]
        claim = claims.get(place.key)
        key = contrast.name, str(place.cell_id)
        found[place.row, place.column] = _cell(
            square,
            claim.result if claim else "",
            tip=_with_claim(square, claim),
            mark=wording.RESULT_SYMBOLS.get(claim.result, "") if claim else "",
            link=f"{report}#{anchors[key]}" if report and key in anchors else "",
            why=whys.get(key, ""),
        )
    return found


def _with_claim(square: Square, claim: ClaimResult | None) -> str:
    lines = list(square.tip)
    if claim is not None:
        lines.append(f"published {wording.published(claim.claim)}: {claim.result}")
    return "\n".join(lines)


def _cell(square: Square, result: str, tip: str = "", mark: str = "", link: str = "", why: str = "") -> Cell:
    return Cell(
        text=_short(square),
        fill=square.fill,
        ink=square.ink,
        tip=tip or "\n".join(square.tip),
        mark=mark,
        result=result,
        cliff=square.cliff,
        link=link,
        why=why,
        state=square.state if square.state in STATE_NOTES else "estimated",
    )


def _short(square: Square) -> str:
    """Return a square's number without the unit that all of them have; an effect without a verdict as its symbol."""
    return square.text.replace(f"{wording.NBSP}%", "")
