"""The distribution of losses over loss epochs, as cumulative shares, with a panel for each cell."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import altair as alt
import pandas as pd

from longlook.report.charts.colours import OTHER_ARMS
from longlook.report.charts.theme import page_specification
from longlook.report.content import ReportContent
from longlook.report.layout import cell_label, make_grid
from longlook.report.section import Section

PANEL_PX, PANEL_HEIGHT_PX = 250, 150
MOST_LOST = 100
"""The largest number of packets on the axis; the shares reach 100 % beyond it where epochs lost more."""

_TICKS = [1, 2, 5, 10, 20, 50, 100]


@dataclass(frozen=True)
class LossesPanel:
    """One cell: its label, how many epochs each arm had, and the name of its chart."""

    label: str
    counted: str
    name: str


@dataclass(frozen=True)
class LossesSection(Section):
    """All cells in which packets were lost, in the order of the heatmaps."""

    template: ClassVar[str] = "losses/section.html.j2"

    panels: Sequence[LossesPanel]
    specs: Mapping[str, Any]
    figure: Any

    def data(self) -> Mapping[str, Any]:
        """Return the panels, by their names."""
        return {"specs": self.specs}

    def figures(self) -> Mapping[str, Any]:
        """Return all panels as one figure."""
        return {"loss-epochs": self.figure}


def make_losses(content: ReportContent) -> list[LossesSection]:
    """Return the section where the study's metrics read loss epochs and packets were lost, else nothing."""
    epochs = content.table("epochs")
    if epochs is None:
        return []
    panels: list[LossesPanel] = []
    specs: dict[str, Any] = {}
    sized: list[Any] = []
    for place in make_grid(content, content.study.contrasts[0]).in_order():
        own = epochs[epochs["cell_id"] == place.cell_id]
        if own.empty:
            continue
        shares = {arm: cumulative(own[own["arm"] == arm]) for arm in _arms(content, own)}
        rows = [
            {"arm": content.short_label(arm), "lost": lost, "share": round(share, 3)}
            for arm, found in shares.items()
            for lost, share in found
        ]
        label, name = cell_label(place.cell), f"losses{len(panels)}"
        counts = own.groupby("arm")["epochs"].sum()
        counted = ", ".join(f"{content.short_label(arm)}: {counts[arm]} epochs" for arm in shares)
        panels.append(LossesPanel(label, counted, name))
        chart = _panel(rows, [content.short_label(arm.name) for arm in content.study.arms])
        specs[name] = page_specification(chart.properties(width="container", height=PANEL_HEIGHT_PX))
        title = alt.TitleParams(label, fontSize=12, offset=6, anchor="start")
        sized.append(chart.properties(width=PANEL_PX, height=PANEL_HEIGHT_PX, title=title))
    if not panels:
        return []
    about = ["Share of the loss epochs that lost at most so many packets, over all rounds.",
             "An epoch begins with a lost packet and lasts for one round trip."]  # fmt: skip
    figure = alt.concat(*sized, columns=3, spacing=28, title=alt.TitleParams("Losses in a round trip", subtitle=about))
    return [LossesSection("losses", "Losses in a round trip", panels, specs, figure)]


def cumulative(epochs: pd.DataFrame) -> list[tuple[int, float]]:
    """Return the cumulative distribution of rows with `lost` and `epochs`: (packets, % of epochs with at most these).

    It has a point for 1, MOST_LOST, and every number between them that an epoch lost.
    """
    sizes = epochs.groupby("lost")["epochs"].sum()
    total = sizes.sum()
    steps = sorted({1, MOST_LOST, *(int(lost) for lost in sizes.index if lost < MOST_LOST)})
    return [(lost, float(100 * sizes[sizes.index <= lost].sum() / total)) for lost in steps]


def _arms(content: ReportContent, epochs: pd.DataFrame) -> list[str]:
    return [arm.name for arm in content.study.arms if (epochs["arm"] == arm.name).any()]


def _panel(rows: Sequence[dict[str, Any]], labels: Sequence[str]) -> Any:
    colours = [OTHER_ARMS[number % len(OTHER_ARMS)] for number in range(len(labels))]
    return (
        alt.Chart(alt.Data(values=list(rows)))
        .mark_line(interpolate="step-after", strokeWidth=1.8)
        .encode(
            x=alt.X("lost:Q", title="packets lost in an epoch, at most",
                    scale=alt.Scale(type="log", domain=[1, MOST_LOST], nice=False),
                    axis=alt.Axis(values=_TICKS, format="d", grid=False)),
            y=alt.Y("share:Q", title="% of epochs", scale=alt.Scale(domain=[0, 100]), axis=alt.Axis(tickCount=5)),
            color=alt.Color("arm:N", title=None, scale=alt.Scale(domain=list(labels), range=colours),
                            legend=alt.Legend(orient="bottom")),
            tooltip=[alt.Tooltip("arm:N"), alt.Tooltip("lost:Q", title="at most"), alt.Tooltip("share:Q", title="%")],
        )
    )  # fmt: skip
