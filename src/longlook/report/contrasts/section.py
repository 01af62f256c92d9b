"""The sections of contrasts: two arms on one metric, as a heatmap with the details and every sample of each cell."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, ClassVar

import altair as alt

from longlook.analysis import Cells, RoundEffects, effects_by_round
from longlook.core import ClaimResult, Contrast, Outcome, Study, Verdict
from longlook.report import wording
from longlook.report.charts import colours
from longlook.report.charts.colours import gradient
from longlook.report.charts.theme import unit_axis
from longlook.report.content import ReportContent
from longlook.report.contrasts.cell_charts import cell_charts
from longlook.report.contrasts.cells import CellDetail, CellDetails
from longlook.report.contrasts.drawn import cliff_chart, drawn_charts
from longlook.report.contrasts.heatmap import contrast_figure, contrast_heading, effect_labels
from longlook.report.contrasts.squares import STATE_NOTES, Square, claims_of, measured_squares
from longlook.report.layout import Grid, Place, abbreviated, cell_label, make_grid
from longlook.report.section import Section, slug

PANEL_PX, ARM_PX = 112, 20
LEVEL_CHARACTERS = 20
"""Longer labels of levels are abbreviated."""


def sample_chart(content: ReportContent, contrast: Contrast, grid: Grid, title: str) -> Any:
    """Return a panel per cell, each with an axis of its own.

    Panels are placed one by one, as Vega's facets close up if one is missing.
    """
    values = {place.cell_id: _values(content, contrast, place) for place in grid.in_order() if place.cell_id}
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


def _values(content: ReportContent, contrast: Contrast, place: Place) -> list[dict[str, Any]]:
    """Return a cell's samples with a value of the contrast's two arms on its metric."""
    arms = {contrast.baseline: colours.BASELINE, contrast.contender: colours.CONTENDER}
    chosen = [
        row
        for row in content.samples_by_cell.get(str(place.cell_id), ())
        if row["metric"] == contrast.metric
        and row["arm"] in arms
        and row["outcome"] == str(Outcome.OK)
        and not math.isnan(row["value"])
    ]
    return [
        {"arm": content.short_label(row["arm"]), "value": row["value"], "colour": arms[row["arm"]]}
        for row in sorted(chosen, key=itemgetter("arm", "round", "attempt"))
    ]


def _panel(
    content: ReportContent,
    contrast: Contrast,
    place: Place,
    values: Mapping[str, list[dict[str, Any]]],
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


@dataclass(frozen=True)
class ContrastSection(Section):
    """One contrast; `title` is the text of its link, `heading` names its arms and its metric."""

    template: ClassVar[str] = "contrasts/section.html.j2"

    content: ReportContent
    contrast: Contrast
    heading: str
    file_name: str
    grid: Grid
    squares: Mapping[tuple[str, str], Square]
    details: Mapping[tuple[str, str], CellDetail]
    claims: Sequence[ClaimResult]  # about this contrast's cells, in reading order
    rounds: Mapping[str, RoundEffects]  # by the cell's id
    pages: Sequence[str] = ()  # the pages that have the cells; none: this one
    up: str = ""  # the way from its page to the report's folder

    @property
    def baseline(self) -> str:
        """The short label of the baseline arm."""
        return self.content.short_label(self.contrast.baseline)

    @property
    def contender(self) -> str:
        """The short label of the contender arm."""
        return self.content.short_label(self.contrast.contender)

    @property
    def counts(self) -> dict[str, int]:
        """The number of cells by verdict, for every verdict."""
        counts = Counter(str(item.verdict) for item in self.content.estimates_of(self.contrast))
        return {str(verdict): counts[str(verdict)] for verdict in Verdict}

    @property
    def cliffs(self) -> int:
        """The number of cells that stand on a cliff."""
        return sum(item.cliff is not None for item in self.content.estimates_of(self.contrast))

    @property
    def between_levels(self) -> list[str]:
        """A sentence for each factor: does the effect differ between its levels?"""
        alpha = self.content.study.analysis.alpha
        own = (item for item in self.content.heterogeneity if item.contrast == self.contrast.name)
        return [wording.between_levels(item, alpha) for item in own]

    @property
    def effect_labels(self) -> tuple[str, ...]:
        """The labels of the palette of effects, from worse to better."""
        return effect_labels(self.content.estimates_of(self.contrast), self.content)

    def context(self) -> Mapping[str, Any]:
        """Return what the template shows beside the squares and details of the section itself."""
        metric = self.content.facts(self.contrast.metric)
        return {
            "section": self,
            "metric": metric.label,
            "direction": wording.direction(metric.better),
            "baseline_in_full": self.content.arm_label(self.contrast.baseline),
            "contender_in_full": self.content.arm_label(self.contrast.contender),
            "gradient": gradient(),
            "cliff_mark": wording.CLIFF,
            "cliffs": self.cliffs,
            "between_levels": self.between_levels,
            "blocks": [(page, self._pages_title(page)) for page in self.pages],
        }

    def _pages_title(self, page: str) -> str:
        """Return the first and the last cell of a page of cells."""
        own = [detail.place for detail in self.details.values() if detail.page == page]
        first, last = own[0], own[-1]
        return cell_label(first.cell) + ("" if first is last else f" to {cell_label(last.cell)}")

    def data(self) -> Mapping[str, Any]:
        """Return the charts of a cell, and the rows of each cell for them; nothing if other pages have the cells."""
        if self.pages:
            return {}
        return {
            "charts": cell_charts(self.content, self.contrast) | drawn_charts(self.content, self.contrast),
            "cells": {detail.anchor: detail.data for detail in self.details.values()},
        }

    def figures(self) -> Mapping[str, Any]:
        """Return the heatmap, every sample in its places, and the cells that stand on a cliff.

        If other pages have the cells, they have these figures, too, and a large map has no figure at all.
        """
        if self.grid.is_large:
            return {}
        found = {f"heatmap-{self.file_name}": contrast_figure(self.content, self.contrast, self.grid, self.squares)}
        if self.pages:
            return found
        if self.content.estimates_of(self.contrast):
            found[f"samples-{self.file_name}"] = sample_chart(self.content, self.contrast, self.grid, self.heading)
        own = {str(detail.place.cell_id) for detail in self.details.values()}
        rounds = {cell: effects for cell, effects in self.rounds.items() if cell in own}
        on_cliffs = cliff_chart(self.content, self.contrast, rounds, self.heading)
        if on_cliffs is not None:
            found[f"cliffs-{self.file_name}"] = on_cliffs
        return found


def contrast_anchors(study: Study) -> dict[str, str]:
    """Return the anchor of each contrast's section by the contrast's name; the anchors of its cells begin with it."""
    return {contrast.name: f"c{number}" for number, contrast in enumerate(study.contrasts, start=1)}


def make_contrasts(content: ReportContent, rates: Mapping[str, str]) -> list[ContrastSection]:
    """Return a section for each contrast of the study. `rates` are anchors of cells' rates over time, by cell."""
    taken: set[str] = set()
    contrasts = content.study.contrasts
    titles = _titles(contrasts)
    anchors = contrast_anchors(content.study)
    metrics = (contrast.metric for contrast in contrasts)
    cells = Cells(content.samples, content.study, metrics) if len(content.samples) else None
    rounds = [
        effects_by_round(cells, contrast, content.study.analysis) if cells is not None else {} for contrast in contrasts
    ]
    return [
        _make(content, contrast, anchors[contrast.name], title, slug(contrast.name, taken), rates, effects)
        for contrast, title, effects in zip(contrasts, titles, rounds, strict=True)
    ]


def _titles(contrasts: Sequence[Contrast]) -> list[str]:
    """Return the text of each contrast's link: its name, or the family's for the first contrast of a family."""
    if len(contrasts) == 1:
        return [contrasts[0].family or "Results"]
    first = {contrast.family: contrast for contrast in reversed(contrasts) if contrast.family}
    return [
        contrast.name if not contrast.family else contrast.family if contrast is first[contrast.family] else ""
        for contrast in contrasts
    ]


def _make(
    content: ReportContent,
    contrast: Contrast,
    anchor: str,
    title: str,
    file_name: str,
    rates: Mapping[str, str],
    rounds: Mapping[str, RoundEffects],
) -> ContrastSection:
    grid = make_grid(content, contrast)
    here = {place.key for place in grid.in_order()}  # --only may have left out the cells that claims are about
    claims = {key: item for key, item in claims_of(content, contrast).items() if key in here}
    details = CellDetails(content, contrast, claims, rates, rounds).all(grid, anchor)
    return ContrastSection(
        anchor=anchor,
        title=title,
        content=content,
        contrast=contrast,
        heading=contrast_heading(content, contrast),
        file_name=file_name,
        grid=grid,
        squares=measured_squares(content, grid),
        details={(detail.place.row, detail.place.column): detail for detail in details},
        claims=[claims[place.key] for place in grid.in_order() if place.key in claims],
        rounds=rounds,
    )
