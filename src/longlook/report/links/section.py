"""Rates over two links by time, with a panel for each cell and in it a row for each arm."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import altair as alt
import pandas as pd

from longlook.report.charts.colours import BASELINE, OTHER_ARMS
from longlook.report.charts.theme import page_specification
from longlook.report.content import ReportContent
from longlook.report.layout import cell_label, make_grid
from longlook.report.section import Section
from longlook.timeline.over_links import MAIN_LINK, SECOND_LINK

WIDTH_PX, ROW_PX = 620, 64


@dataclass(frozen=True)
class LinksPanel:
    """One cell: its label, and the name of its chart."""

    label: str
    name: str


@dataclass(frozen=True)
class LinksSection(Section):
    """All cells whose paths have two links, in the order of the heatmaps."""

    template: ClassVar[str] = "links/section.html.j2"

    panels: Sequence[LinksPanel]
    specs: Mapping[str, Any]
    figure: Any

    def data(self) -> Mapping[str, Any]:
        """Return the panels, by their names."""
        return {"specs": self.specs}

    def figures(self) -> Mapping[str, Any]:
        """Return all panels as one figure."""
        return {"links": self.figure}


def make_links(content: ReportContent) -> list[LinksSection]:
    """Return the section where something came over a second link, else nothing."""
    links = content.table("links")
    if links is None or not links.loc[links["link"] == SECOND_LINK, "mbps"].any():
        return []
    panels: list[LinksPanel] = []
    specs: dict[str, Any] = {}
    sized: list[Any] = []
    for place in make_grid(content, content.study.contrasts[0]).in_order():
        own = links[links["cell_id"] == place.cell_id]
        if own.empty:
            continue
        label, name = cell_label(place.cell), f"links{len(panels)}"
        panels.append(LinksPanel(label, name))
        chart = _chart(content, own)
        specs[name] = page_specification(chart)
        sized.append(chart.properties(title=alt.TitleParams(label, fontSize=12, offset=6, anchor="start")))
    if not panels:
        return []
    about = ["What the client got over each link, in Mbit/s of IP packets, in one round of each arm.",
             "An arm's row ends with its load."]  # fmt: skip
    title = alt.TitleParams("What came over which link", subtitle=about)
    figure = alt.vconcat(*sized, spacing=28, title=title)
    return [LinksSection("links", "What came over which link", panels, specs, figure)]


def first_rounds(links: pd.DataFrame) -> Mapping[str, pd.DataFrame]:
    """Return the rows of one round of each arm of a cell: the first that there is."""
    return {str(arm): own[own["round"] == own["round"].min()] for arm, own in links.groupby("arm", sort=True)}


def _chart(content: ReportContent, links: pd.DataFrame) -> Any:
    chosen = first_rounds(links)
    arms = [arm.name for arm in content.study.arms if arm.name in chosen]
    last_s = max(float(chosen[arm]["time_s"].max()) for arm in arms)
    most = max(float(chosen[arm].groupby("time_s")["mbps"].sum().max()) for arm in arms)
    rows = [_row(content.short_label(arm), chosen[arm], last_s, most, labelled=arm == arms[-1]) for arm in arms]
    return alt.vconcat(*rows, spacing=10)


def _row(label: str, rows: pd.DataFrame, last_s: float, most: float, *, labelled: bool) -> Any:
    values = [
        {"time": time_s, "link": link, "mbps": mbps}
        for time_s, link, mbps in zip(rows["time_s"], rows["link"], rows["mbps"], strict=True)
    ]
    title = alt.TitleParams(label, fontSize=11, fontWeight="normal", anchor="start", offset=2)
    return (
        alt.Chart(alt.Data(values=values))
        .mark_area(interpolate="step-after")
        .encode(
            x=alt.X("time:Q", title="seconds after the load began" if labelled else None,
                    scale=alt.Scale(domain=[0, last_s], nice=False), axis=alt.Axis(grid=False, labels=labelled)),
            y=alt.Y("mbps:Q", title="Mbit/s", stack="zero", scale=alt.Scale(domain=[0, most]),
                    axis=alt.Axis(tickCount=2)),
            color=alt.Color("link:N", title=None, legend=alt.Legend(orient="top"),
                            scale=alt.Scale(domain=[MAIN_LINK, SECOND_LINK], range=[BASELINE, OTHER_ARMS[1]])),
            tooltip=[alt.Tooltip("link:N"), alt.Tooltip("time:Q", title="s"), alt.Tooltip("mbps:Q", title="Mbit/s")],
        )
        .properties(width=WIDTH_PX, height=ROW_PX, title=title)
    )  # fmt: skip
