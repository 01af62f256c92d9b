"""Every sample of a contrast in one figure: a panel per cell, in the places of the heatmap."""

from typing import Any

import altair as alt

from longlook.core import Contrast, Outcome
from longlook.report.charts import colours
from longlook.report.charts.theme import unit_axis
from longlook.report.content import ReportContent, records
from longlook.report.contrasts.squares import STATE_NOTES
from longlook.report.layout import Grid, Place, abbreviated

PANEL_PX, ARM_PX = 112, 20
LEVEL_CHARACTERS = 20
"""Longer labels of levels are abbreviated."""


def sample_chart(content: ReportContent, contrast: Contrast, grid: Grid, title: str) -> Any:
    """Return a panel per cell, each with an axis of its own.

    Panels are placed one by one, as Vega's facets close up if one is missing.
    """
    values = _values(content, contrast)
    rows, columns = abbreviated(grid.rows, LEVEL_CHARACTERS), abbreviated(grid.columns, LEVEL_CHARACTERS)
    lines = []
    for row in grid.rows:
        panels = []
        for column in grid.columns:
            # Only the leftmost panel names the row and the arms, only the uppermost the column.
            name = rows[row] if column == grid.columns[0] else None
            panel = _panel(content, contrast, grid.places[row, column], values, name)
            if row == grid.rows[0]:
                heading = alt.TitleParams(
                    columns[column], anchor="middle", fontSize=12, color=colours.INK_SOFT, offset=8
                )
                panel = panel.properties(title=heading)
            panels.append(panel)
        lines.append(alt.hconcat(*panels, spacing=22, bounds="flush"))
    facts = content.facts(contrast.metric)
    label = facts.label if facts.unit in ("", "s") else f"{facts.label} ({facts.unit})"
    return alt.vconcat(
        *lines,
        spacing=16,
        title=alt.TitleParams(title, subtitle=f"Every sample. {label}; each panel has an axis of its own."),
    )


def _values(content: ReportContent, contrast: Contrast) -> dict[str, list[dict[str, Any]]]:
    """Return the samples with a value of the contrast's two arms on its metric, by cell."""
    arms = {contrast.baseline: colours.BASELINE, contrast.contender: colours.CONTENDER}
    table = content.samples
    chosen = table[
        (table["metric"] == contrast.metric)
        & table["arm"].isin(list(arms))
        & (table["outcome"] == str(Outcome.OK))
        & table["value"].notna()
    ]
    values: dict[str, list[dict[str, Any]]] = {}
    for row in records(chosen.sort_values(["cell", "arm", "round", "attempt"], kind="stable")):
        sample = {"arm": content.short_label(row["arm"]), "value": row["value"], "colour": arms[row["arm"]]}
        values.setdefault(str(row["cell"]), []).append(sample)
    return values


def _panel(
    content: ReportContent,
    contrast: Contrast,
    place: Place,
    values: dict[str, list[dict[str, Any]]],
    name: str | None,
) -> Any:
    arms = [content.short_label(contrast.baseline), content.short_label(contrast.contender)]
    y = alt.Y(
        "arm:N",
        title=name,
        scale=alt.Scale(domain=arms),
        axis=alt.Axis(
            domain=False,
            ticks=False,
            labelPadding=8,
            labels=name is not None,
            titleAngle=0,
            titleAlign="right",
            titleBaseline="middle",
            titlePadding=14,
        ),
    )
    size = {"width": PANEL_PX, "height": ARM_PX * len(arms)}
    samples = values.get(str(place.cell_id))
    if not samples:
        note = STATE_NOTES.get(place.state, "no value")
        rows = [{"arm": arm, "note": note if arm == arms[0] else ""} for arm in arms]
        empty = alt.Chart(alt.Data(values=rows)).mark_text(color=colours.INK_SOFT, fontSize=11, dy=ARM_PX / 2)
        return empty.encode(y=y, text="note:N").properties(**size)
    axis = unit_axis(content.facts(contrast.metric).unit, tickCount=3, labelOverlap=True)
    ticks = alt.Chart(alt.Data(values=samples)).mark_tick(thickness=1.4, bandSize=15, opacity=1)
    x = alt.X("value:Q", title=None, scale=alt.Scale(zero=False, nice=True), axis=axis)
    return ticks.encode(x=x, y=y, color=alt.Color("colour:N", scale=None)).properties(**size)
