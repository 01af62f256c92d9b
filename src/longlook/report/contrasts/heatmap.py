"""The paper's heatmap as an Altair chart, for export."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

from longlook.core import Contrast, Estimate
from longlook.report import wording
from longlook.report.charts import colours
from longlook.report.content import ReportContent
from longlook.report.contrasts.overview import shared_margin, shared_unit
from longlook.report.contrasts.squares import Square, measured_squares
from longlook.report.layout import Grid, abbreviated, make_grid

STEP_PX = 92
ROW_PX = 58
LEGEND_PX = 320
PALETTE = "palette"
"""The name of the view that is the legend of a heatmap."""
_PLACES_PCT = (-100, -50, 0, 50, 100)
EXPORTED_MARKS = frozenset(wording.SYMBOLS.values())
"""The symbols of verdicts. The symbols of claims are not in the exported font; the line below has
the result in words.
"""
ROW_CHARACTERS, COLUMN_CHARACTERS = 28, 13
"""Longer labels of levels are abbreviated; the page has them in full."""


def effect_labels(estimates: Sequence[Estimate], content: ReportContent) -> tuple[str, ...]:
    """Return the labels of the palette, in the unit of most effects."""
    unit = shared_unit(estimates)
    if unit == "%":
        return tuple(wording.effect(place).replace(wording.NBSP, " ") for place in _PLACES_PCT)
    end = colours.full_scale(shared_margin(estimates, content))
    return tuple(wording.signed(end * place / 100, unit).replace(wording.NBSP, " ") for place in _PLACES_PCT)


def contrast_heading(content: ReportContent, contrast: Contrast) -> str:
    """Return the title of a contrast's figures: its arms, the contender first, and its metric."""
    arms = f"{content.short_label(contrast.contender)} against {content.short_label(contrast.baseline)}"
    return f"{arms}: {wording.inner(content.facts(contrast.metric).label)}"


def contrast_heatmap(content: ReportContent, contrast: Contrast) -> Any:
    """Return the heatmap of a contrast with its title and legend, as the report exports it."""
    grid = make_grid(content, contrast)
    return contrast_figure(content, contrast, grid, measured_squares(content, grid))


def contrast_figure(
    content: ReportContent, contrast: Contrast, grid: Grid, squares: Mapping[tuple[str, str], Square]
) -> Any:
    """Return the heatmap of these squares of a contrast with its title and legend."""
    estimates = content.estimates_of(contrast)
    baseline, contender = content.short_label(contrast.baseline), content.short_label(contrast.contender)
    legend = scale_legend(f"▼ blue: {baseline} better · ▲ red: {contender} better", effect_labels(estimates, content))
    label = wording.inner(content.facts(contrast.metric).label)
    notes = [f"Effect on {label}; below it the interval.", "White: ≈ equivalent, ? inconclusive."]
    if any(item.cliff is not None for item in estimates):
        notes.append(f"{wording.CLIFF} the effect differs by more than the margin inside the cell's neighbourhood.")
    return heatmap(grid, squares, contrast_heading(content, contrast), notes, legend)


def heatmap(
    grid: Grid, squares: Mapping[tuple[str, str], Square], title: str, subtitle: Sequence[str], legend: Any
) -> Any:
    """Return one square per cell: effect and verdict's symbol, the interval below it, a cliff's mark in its corner.

    `legend` goes below, or None.
    """
    rows, columns = abbreviated(grid.rows, ROW_CHARACTERS), abbreviated(grid.columns, COLUMN_CHARACTERS)
    values = [
        {"row": rows[row], "column": columns[column], **_row(squares[row, column])}
        for row in grid.rows
        for column in grid.columns
    ]
    base = alt.Chart(alt.Data(values=values)).encode(
        x=alt.X(
            "column:N",
            sort=list(columns.values()),
            title=grid.column_title or None,
            axis=alt.Axis(orient="top", labelAngle=0, domain=False, ticks=False, labelPadding=8),
        ),
        y=alt.Y(
            "row:N",
            sort=list(rows.values()),
            title=grid.row_title or None,
            axis=alt.Axis(domain=False, ticks=False, labelPadding=10, titlePadding=14),
        ),
    )
    ink = alt.Color("ink:N", scale=None)
    squares_layer = base.mark_rect(stroke=colours.RULE, strokeWidth=1).encode(
        color=alt.Color("fill:N", scale=None), tooltip=alt.Tooltip("tip:N", title="cell")
    )
    numbers = base.mark_text(fontSize=15, dy=-7).encode(text="headline:N", color=ink)
    notes = base.mark_text(fontSize=10.5, dy=12).encode(text="note:N", color=ink)
    corner: dict[str, Any] = {"dx": STEP_PX / 2 - 8, "dy": 11 - ROW_PX / 2}
    cliffs = base.transform_filter("datum.cliff").mark_text(fontSize=14, **corner).encode(text="cliff:N", color=ink)
    chart = alt.layer(squares_layer, numbers, notes, cliffs).properties(
        width=alt.Step(STEP_PX), height=alt.Step(ROW_PX), title=alt.TitleParams(title, subtitle=list(subtitle))
    )
    parts = [chart] if legend is None else [chart, legend]
    return alt.vconcat(*parts, spacing=22).resolve_scale(color="independent", x="independent")


def without_units(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the rows of a drawing; if they are of a heatmap, numbers leave the per cent to the palette, for room."""
    return [
        {**row, "headline": str(row["headline"]).removesuffix("%").rstrip()} if "headline" in row else dict(row)
        for row in rows
    ]


def _row(square: Square) -> dict[str, str]:
    return {
        "fill": square.fill,
        "ink": square.ink,
        "headline": f"{square.mark} {square.text}".strip() if square.mark in EXPORTED_MARKS else square.text,
        "note": square.note,
        "cliff": square.cliff,
        "tip": "; ".join(square.tip),
    }


def scale_legend(title: str, labels: tuple[str, ...]) -> Any:
    """Return the palette from −100 to 100 with labels at equal distances."""
    step = 5
    ticks = [round(-100 + 200 * place / (len(labels) - 1)) for place in range(len(labels))]
    values = [
        {"low": low, "high": low + step, "fill": colours.effect_colour(low + step / 2)}
        for low in range(-100, 100, step)
    ]
    axis = alt.Axis(
        values=ticks,
        labelExpr=f"{json.dumps(dict(zip(ticks, labels, strict=True)))}[datum.value]",
        domain=False,
        grid=False,
        titleAnchor="start",
    )
    return (
        alt.Chart(alt.Data(values=values))
        .mark_rect()
        .encode(
            x=alt.X("low:Q", scale=alt.Scale(domain=[-100, 100]), axis=axis, title=title),
            x2="high:Q",
            color=alt.Color("fill:N", scale=None),
        )
        .properties(width=LEGEND_PX, height=11, name=PALETTE)
    )
