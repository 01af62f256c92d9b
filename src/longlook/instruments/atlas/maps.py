"""Published figures beside ours: for each contrast two small matrices on the same places and the same colours."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import pandas as pd

from longlook.core import ClaimResult, Contrast
from longlook.instruments.atlas.claims.marks import marks_of
from longlook.instruments.atlas.content import AtlasStudy
from longlook.report import (
    STATE_NOTES,
    CellKey,
    Grid,
    ReportContent,
    Square,
    claims_of,
    make_grid,
    measured_squares,
    metric_facts,
    published_squares,
    wording,
)

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
    marks: str = ""  # in two characters, of direction and size
    result: str = ""  # of the claim about it
    cliff: str = ""
    link: str = ""
    why: str = ""
    state: str = "estimated"


@dataclass(frozen=True)
class Frame:
    """The rows and columns of both matrices, with the factors that they are levels of."""

    row_title: str
    column_title: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]


@dataclass(frozen=True)
class Map:
    """A figure: its places, what was published there and what was found; either may be missing as a whole.

    It is about one contrast, or about several with one baseline, each a row.
    """

    heading: str
    baseline: str
    contender: str
    frame: Frame
    published: Mapping[Position, Cell] | None
    ours: Mapping[Position, Cell] | None
    metric: str


def maps_of(item: AtlasStudy, content: ReportContent, anchors: Mapping[tuple[str, str], str]) -> list[Map]:
    """Return the contrasts that were published first, then others that were found, in the study's order."""
    found = [map_of(item, content, contrast, anchors) for contrast in content.study.contrasts]
    shown = sorted((each for each in found if each.published or each.ours), key=lambda each: each.published is None)
    return _joined(shown)


def seen_from(figure: Map, way: str) -> Map:
    """Return a figure for a page of many figures: links begin with the way to its own page, and cells say no more than
    they show.
    """

    def plain(cells: Mapping[Position, Cell] | None) -> Mapping[Position, Cell] | None:
        if cells is None:
            return None
        return {
            place: replace(cell, tip="", link=cell.link and way + cell.link, why=cell.why and way + cell.why)
            for place, cell in cells.items()
        }

    return replace(figure, published=plain(figure.published), ours=plain(figure.ours))


def _joined(maps: Sequence[Map]) -> list[Map]:
    """Return the figures; figures of one row that share baseline, metric and places become one of several rows."""
    groups: dict[tuple[object, ...], list[Map]] = {}
    for number, each in enumerate(maps):
        alone = () if len(each.frame.rows) == 1 else (number,)
        key = each.baseline, each.metric, each.frame, each.published is None, alone
        groups.setdefault(key, []).append(each)
    return [_join(group) if len(group) > 1 else group[0] for group in groups.values()]


def _join(group: Sequence[Map]) -> Map:
    first = group[0]
    row = first.frame.rows[0]
    where = f" ({row})" if first.frame.row_title else ""
    return Map(
        heading=f"Against {first.baseline}: {first.metric}{where}",
        baseline=first.baseline,
        contender="the row’s arm",
        frame=Frame("arm", first.frame.column_title, tuple(each.contender for each in group), first.frame.columns),
        published=_rows_of({each.contender: each.published or {} for each in group}, row) if first.published else None,
        ours=_rows_of({each.contender: each.ours or {} for each in group}, row)
        if any(each.ours for each in group)
        else None,
        metric=first.metric,
    )


def _rows_of(cells: Mapping[str, Mapping[Position, Cell]], row: str) -> dict[Position, Cell]:
    return {
        (name, column): cell
        for name, of_one in cells.items()
        for (place, column), cell in of_one.items()
        if place == row
    }


def without_run(item: AtlasStudy) -> ReportContent:
    """Return the content of a study that was not run: its claims alone."""
    study = item.surveyed.study
    claims = [ClaimResult(claim.claim, None, claim.result, claim.reason, factor=claim.factor) for claim in item.claims]
    return ReportContent(study, pd.DataFrame(), [], claims, {}, metric_facts(study))


def map_of(item: AtlasStudy, content: ReportContent, contrast: Contrast, anchors: Mapping[tuple[str, str], str]) -> Map:
    """Return the figure of one contrast: its cells, with published cells among them."""
    claims = claims_of(content, contrast)
    grid = make_grid(content, contrast, claims)
    contender, baseline = content.short_label(contrast.contender), content.short_label(contrast.baseline)
    metric = wording.inner(content.facts(contrast.metric).label)
    ran = any(content.estimates_of(contrast))
    return Map(
        heading=f"{contender} against {baseline}: {metric}",
        baseline=baseline,
        contender=contender,
        frame=Frame(grid.row_title, grid.column_title, grid.rows, grid.columns),
        published=_published(content, contrast, grid, claims) if claims else None,
        ours=_ours(item, content, contrast, grid, claims, anchors) if ran else None,
        metric=metric,
    )


def _published(
    content: ReportContent, contrast: Contrast, grid: Grid, claims: Mapping[CellKey, ClaimResult]
) -> dict[Position, Cell]:
    squares = published_squares(content, contrast, grid)
    return {
        (place.row, place.column): replace(_cell(squares[place.row, place.column]), result=claims[place.key].result)
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
    whys = {(each.contrast, each.cell_id): each.link for each in item.explanations if each.link}
    found = {}
    for place in grid.in_order():
        square = squares[place.row, place.column]
        claim = claims.get(place.key)
        key = contrast.name, str(place.cell_id)
        found[place.row, place.column] = _cell(
            square,
            tip=_with_claim(square, claim, "" if report or place.cell_id is None else item.surveyed.command),
            claim=claim,
            link=f"{report}#{anchors[key]}" if report and key in anchors else "",
            why=whys.get(key, ""),
        )
    return found


def _with_claim(square: Square, claim: ClaimResult | None, command: str) -> str:
    """Return the tip of a square of ours; `command` makes the report that it would else lead to."""
    lines = list(square.tip)
    if claim is not None:
        lines.append(f"published {wording.published(claim.claim)}: {wording.result(claim.result, claim.factor)}")
    if command:
        lines.append(f"its report: {command}")
    return "\n".join(lines)


def _cell(square: Square, claim: ClaimResult | None = None, tip: str = "", link: str = "", why: str = "") -> Cell:
    """Return the square; `claim` is compared with ours."""
    return Cell(
        text=_short(square),
        fill=square.fill,
        ink=square.ink,
        tip=tip or "\n".join(square.tip),
        mark=wording.RESULT_SYMBOLS[claim.result] if claim else "",
        marks=marks_of(claim.result, claim.claim.kind).symbols if claim else "",
        result=claim.result if claim else "",
        cliff=square.cliff,
        link=link,
        why=why,
        state=square.state if square.state in STATE_NOTES else "estimated",
    )


def _short(square: Square) -> str:
    """Return a square's number without the unit that all of them have."""
    return square.text.replace(f"{wording.NBSP}%", "")
