"""Text and colours of each square of a heatmap, for the page and the exported figure alike."""

from dataclasses import dataclass

from longlook.analysis import sentence
from longlook.core import Agreement, Claim, ClaimResult, Contrast, Estimate
from longlook.report import wording
from longlook.report.charts import colours
from longlook.report.content import ReportContent, short_labels
from longlook.report.layout import CellKey, Grid, Place, cell_label, key_of
from longlook.report.lost_arms import failures

STATE_NOTES = {"no estimate": "no estimate", "excluded": "excluded", "not run": "not run"}


@dataclass(frozen=True)
class Square:
    """A painted cell. `mark` is the verdict's symbol, `note` the small line below, `tip` the lines of its tooltip."""

    row: str
    column: str
    state: str  # estimated | no estimate | excluded | not run
    verdict: str  # of the estimate; empty otherwise
    fill: str
    ink: str
    text: str
    mark: str
    note: str
    tip: tuple[str, ...]
    cliff: str = ""  # its mark, where the cell stands on one


@dataclass(frozen=True)
class PublishedValue:
    """A published value in words, and its comparison with our run: the result, also in words, and the reason."""

    text: str
    source: str
    result: Agreement
    words: str
    reason: str


def published_value(item: ClaimResult) -> PublishedValue:
    """Return a claim and its result in words."""
    words = wording.result(item.result, item.factor)
    return PublishedValue(wording.published(item.claim), item.claim.source, item.result, words, item.reason)


def measured_squares(content: ReportContent, grid: Grid) -> dict[tuple[str, str], Square]:
    """Return our estimates as squares, by row and column."""
    return {(place.row, place.column): _measured(content, place) for place in grid.in_order()}


def published_squares(content: ReportContent, contrast: Contrast, grid: Grid) -> dict[tuple[str, str], Square]:
    """Return the published values in the places of our cells; a square is empty if the source has no value."""
    claims = claims_of(content, contrast)
    return {(place.row, place.column): _published(place, claims.get(place.key)) for place in grid.in_order()}


def claims_of(content: ReportContent, contrast: Contrast) -> dict[CellKey, ClaimResult]:
    """Return the claims about a contrast, by cell."""
    return {
        key_of(content.study, item.claim.cell): item for item in content.claims if item.claim.contrast == contrast.name
    }


def _measured(content: ReportContent, place: Place) -> Square:
    estimate = place.estimate
    if estimate is None:
        tip = (cell_label(place.cell), STATE_NOTES[place.state])
        return _blank(place, colours.NO_DATA, STATE_NOTES[place.state], tip)
    fill = colours.cell_colour(estimate)
    significant = fill != colours.NOT_SIGNIFICANT
    return Square(
        row=place.row,
        column=place.column,
        state=place.state,
        verdict=str(estimate.verdict),
        fill=fill,
        ink=colours.text_colour(fill) if significant else colours.INK_SOFT,
        text=wording.effect_of(estimate),
        mark=wording.SYMBOLS[estimate.verdict],
        note=wording.interval_of(estimate),
        tip=_tip(content, place, estimate),
        cliff=wording.CLIFF if estimate.cliff else "",
    )


def _tip(content: ReportContent, place: Place, estimate: Estimate) -> tuple[str, ...]:
    baseline, contender = (wording.quantity(level, estimate.unit) for level in estimate.levels)
    verdict = wording.verdict(estimate, content.study.analysis, short_labels(content.study))
    cliff = (f"{wording.CLIFF} {sentence(estimate.cliff)}",) if estimate.cliff else ()
    return (
        cell_label(place.cell),
        f"{verdict}: {wording.effect_of(estimate)}",
        f"{wording.percent(content.study.analysis.confidence)} interval {wording.interval_in_unit(estimate)}",
        f"adjusted p {wording.p_value(estimate.p_adjusted)}",
        f"{content.short_label(estimate.baseline)} {baseline}, {content.short_label(estimate.contender)} {contender} "
        f"({'means' if estimate.is_integrated else 'medians'})",
        *cliff,
        *failures(content.study, [estimate]),
    )


def _published(place: Place, result: ClaimResult | None) -> Square:
    if result is None:
        return _blank(place, colours.NO_DATA, "", (cell_label(place.cell), "not published"))
    claim = result.claim
    coloured = claim.significant and claim.effect_pct is not None
    fill = colours.effect_colour(claim.effect_pct or 0.0) if coloured else colours.NOT_SIGNIFICANT
    return Square(
        row=place.row,
        column=place.column,
        state="estimated",
        verdict=_verdict(claim),
        fill=fill,
        ink=colours.text_colour(fill) if coloured else colours.INK_SOFT,
        text=wording.published(claim),
        mark=wording.RESULT_SYMBOLS[result.result],
        note=result.result,
        tip=(cell_label(place.cell), f"published {wording.published(claim)}", f"{result.result}: {result.reason}"),
    )


def _verdict(claim: Claim) -> str:
    if claim.direction is not None:
        return str(claim.direction)
    if not claim.significant or claim.effect_pct is None:
        return "inconclusive"
    return "better" if claim.effect_pct >= 0 else "worse"


def _blank(place: Place, fill: str, note: str, tip: tuple[str, ...]) -> Square:
    return Square(place.row, place.column, place.state, "", fill, colours.INK_SOFT, "", "", note, tip)
