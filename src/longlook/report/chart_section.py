"""Sections of charts: a panel for each cell in the order of the heatmaps, on the page and as one figure to export.

A new chart of a table is one file: a function that draws the rows of a cell, `per_cell` and `chart_section`. The line
in `page.sections` places it on the page.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import altair as alt
import pandas as pd

from longlook.report.charts.colours import arm_colours
from longlook.report.charts.theme import page_specification
from longlook.report.content import ReportContent
from longlook.report.layout import Place, cell_label, make_grid
from longlook.report.section import Section

Size = tuple[int, Any]
"""The width of a panel in a figure, and its height there and on the page, in pixels."""


@dataclass(frozen=True)
class CellPanel:
    """The chart of one cell: as Vega-Lite by its name on the page, and titled for the figure. `note` is soft text."""

    place: Place
    label: str
    name: str
    note: str
    spec: Mapping[str, Any]
    chart: Any


@dataclass(frozen=True)
class ChartSection(Section):
    """A section whose charts are known: `specs` are the page's by name, `charts` are the figures by file name."""

    specs: Mapping[str, Any]
    charts: Mapping[str, Any]

    def data(self) -> Mapping[str, Any]:
        """Return the charts of the page by name."""
        return {"specs": self.specs}

    def figures(self) -> Mapping[str, Any]:
        """Return the figures by file name."""
        return self.charts


@dataclass(frozen=True)
class PanelSection(ChartSection):
    """The panels of all cells below one text."""

    template: ClassVar[str] = "chart_section.html.j2"

    panels: Sequence[CellPanel]
    about: str


def chart_section(
    name: str, title: str, about: Sequence[str], panels: Sequence[CellPanel], *, file: str = "", columns: int = 1
) -> list[PanelSection]:
    """Return the section of some panels, or nothing if there are none.

    `about` are sentences: above the panels on the page, below the title in the figure. The figure is called `file`, or
    else `name`; `columns` is its number of columns of panels.
    """
    if not panels:
        return []
    specs = {panel.name: panel.spec for panel in panels}
    charts = {file or name: panels_figure(panels, title, about, columns=columns)}
    return [PanelSection(name, title, specs, charts, panels, " ".join(about))]


def per_cell(
    content: ReportContent,
    rows: pd.DataFrame | None,
    chart: Callable[[ReportContent, pd.DataFrame], Any],
    *,
    name: str,
    size: Size | None = None,
    note: Callable[[ReportContent, pd.DataFrame], str] = lambda content, rows: "",
) -> list[CellPanel]:
    """Return the panel of each cell that has rows in a table with the column `cell_id`; None has no rows.

    `chart` draws the rows of a cell, `note` is the text beside its label. A chart without a `size` has its own.
    """
    if rows is None:
        return []
    panels: list[CellPanel] = []
    for place in make_grid(content, content.study.first_contrast).in_order():
        own = rows[rows["cell_id"] == place.cell_id]
        if not own.empty:
            drawn = chart(content, own)
            panels.append(cell_panel(place, f"{name}{len(panels)}", drawn, size, note(content, own)))
    return panels


def cell_panel(place: Place, name: str, chart: Any, size: Size | None = None, note: str = "") -> CellPanel:
    """Return the panel of a cell. On the page a chart that has a `size` is as wide as there is room."""
    label = cell_label(place.cell)
    on_page = chart if size is None else chart.properties(width="container", height=size[1])
    exported = chart if size is None else chart.properties(width=size[0], height=size[1])
    titled = exported.properties(title=panel_title(label))
    return CellPanel(place, label, name, note, page_specification(on_page), titled)


def panels_figure(
    panels: Sequence[CellPanel], title: str, about: Sequence[str], *, columns: int = 1, spacing: int = 28
) -> Any:
    """Return all panels as one figure: one below the other, or in `columns`."""
    charts, heading = [panel.chart for panel in panels], alt.TitleParams(title, subtitle=list(about))
    if columns == 1:
        return alt.vconcat(*charts, spacing=spacing, title=heading)
    return alt.concat(*charts, columns=columns, spacing=spacing, title=heading)


def arm_colour(content: ReportContent, **encoding: Any) -> alt.Color:
    """Return the colour of rows by the short label of their arm, the column `arm`."""
    colours = arm_colours([content.short_label(arm.name) for arm in content.study.arms])
    scale = alt.Scale(domain=list(colours), range=list(colours.values()))
    return alt.Color("arm:N", title=None, scale=scale, **encoding)


def panel_title(text: str) -> Any:
    """Return the title of a panel in a figure."""
    return alt.TitleParams(text, fontSize=12, offset=6, anchor="start")
