"""The distribution of losses over loss epochs, as cumulative shares, with a panel for each cell."""

from typing import Any

import altair as alt
import pandas as pd

from longlook.analysis import share_of_epochs
from longlook.report.chart_section import PanelSection, arm_colour, chart_section, per_cell
from longlook.report.content import ReportContent

MOST_LOST = 100  # on the axis; the shares reach 100 % beyond it if epochs lost more
ABOUT = ("Share of the loss epochs that lost at most so many packets, over all rounds.",
         "An epoch begins with a lost packet and lasts for one round trip.",
         "The value at 1 is the share that the recovery of a single packet would have helped.")  # fmt: skip


def make_losses(content: ReportContent) -> list[PanelSection]:
    """Return the section if the study's metrics read loss epochs and packets were lost, else nothing."""
    panels = per_cell(content, content.table("epochs"), _chart, name="losses", size=(250, 150), note=_counted)
    return chart_section("losses", "Losses in a round trip", ABOUT, panels, file="loss-epochs", columns=3)


def _counted(content: ReportContent, epochs: pd.DataFrame) -> str:
    return ", ".join(f"{label}: {own['epochs'].sum()} epochs" for label, own in content.by_arm(epochs))


def _chart(content: ReportContent, epochs: pd.DataFrame) -> Any:
    shares = [(label, share_of_epochs(own, MOST_LOST)) for label, own in content.by_arm(epochs)]
    rows = [{"arm": arm, "lost": lost, "share": round(share, 3)} for arm, found in shares for lost, share in found]
    axis = alt.Axis(values=[1, 2, 5, 10, 20, 50, 100], format="d", grid=False)
    scale = alt.Scale(type="log", domain=[1, MOST_LOST], nice=False)
    return alt.Chart(alt.Data(values=rows)).mark_line(interpolate="step-after", strokeWidth=1.8).encode(
        x=alt.X("lost:Q", title="packets lost in an epoch, at most", scale=scale, axis=axis),
        y=alt.Y("share:Q", title="% of epochs", scale=alt.Scale(domain=[0, 100]), axis=alt.Axis(tickCount=5)),
        color=arm_colour(content, legend=alt.Legend(orient="bottom")),
        tooltip=[alt.Tooltip("arm:N"), alt.Tooltip("lost:Q", title="at most"), alt.Tooltip("share:Q", title="%")],
    )  # fmt: skip
