"""Rates over two links by time, with a panel for each cell and in it a row for each arm."""

from collections.abc import Sequence
from typing import Any

import altair as alt
import pandas as pd

from longlook.report.chart_section import PanelSection, chart_section, per_cell
from longlook.report.charts.colours import BASELINE, OTHER_ARMS
from longlook.report.content import ReportContent
from longlook.timeline import MAIN_LINK, SECOND_LINK

ABOUT = ("What the client got over each link, in Mbit/s of IP packets, in the first round of each arm that went well.",
         "The time is that of the load, and the row of an arm ends with its load.")  # fmt: skip


def make_links(content: ReportContent) -> list[PanelSection]:
    """Return the section if something came over a second link, else nothing."""
    links = content.table("links")
    if links is None or not links.loc[links["link"] == SECOND_LINK, "mbps"].any():
        return []
    return chart_section("links", "What came over which link", ABOUT, per_cell(content, links, _chart, name="links"))


def first_rounds(content: ReportContent, links: pd.DataFrame) -> list[tuple[str, pd.DataFrame]]:
    """Return the short label of each arm with rows in a cell, and the rows of the first round that there is."""
    return [(label, own[own["round"] == own["round"].min()]) for label, own in content.by_arm(links)]


def _chart(content: ReportContent, links: pd.DataFrame) -> Any:
    chosen = first_rounds(content, links)
    last_s = max(float(rows["time_s"].max()) for _, rows in chosen)
    most = max(float(rows.groupby("time_s")["mbps"].sum().max()) for _, rows in chosen)
    shown = [_row(label, rows, (last_s, most), last=rows is chosen[-1][1]) for label, rows in chosen]
    return alt.vconcat(*shown, spacing=10)


def _row(label: str, rows: pd.DataFrame, ends: Sequence[float], *, last: bool) -> Any:
    values = [
        {"time": time_s, "link": link, "mbps": mbps}
        for time_s, link, mbps in zip(rows["time_s"], rows["link"], rows["mbps"], strict=True)
    ]
    title = alt.TitleParams(label, fontSize=11, fontWeight="normal", anchor="start", offset=2)
    colours = alt.Scale(domain=[MAIN_LINK, SECOND_LINK], range=[BASELINE, OTHER_ARMS[1]])
    chart = alt.Chart(alt.Data(values=values), width=620, height=64, title=title)
    return chart.mark_area(interpolate="step-after").encode(
        x=alt.X("time:Q", title="seconds after the load began" if last else None,
                scale=alt.Scale(domain=[0, ends[0]], nice=False), axis=alt.Axis(grid=False, labels=last)),
        y=alt.Y("mbps:Q", title="Mbit/s", stack="zero", scale=alt.Scale(domain=[0, ends[1]]),
                axis=alt.Axis(tickCount=2)),
        color=alt.Color("link:N", title=None, legend=alt.Legend(orient="top"), scale=colours),
        tooltip=[alt.Tooltip("link:N"), alt.Tooltip("time:Q", title="s"), alt.Tooltip("mbps:Q", title="Mbit/s")],
    )  # fmt: skip
