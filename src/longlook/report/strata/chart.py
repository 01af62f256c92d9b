"""The chart of what each single loss costs: a panel for each direction, with points of every arm."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt
import pandas as pd

from longlook.core import Outcome
from longlook.report import wording
from longlook.report.chart_section import CellPanel, panel_title
from longlook.report.charts.colours import arm_colours
from longlook.report.charts.theme import page_specification, unit_axis
from longlook.report.content import ReportContent, records
from longlook.report.layout import SEPARATOR, Place
from longlook.report.strata.words import cost_text, share_text

WIDTH_PX, HEIGHT_PX = 360, 190
DIRECTIONS = {"up": "to the server (up)", "down": "to the client (down)"}
_DODGE = 0.3
"""The distance between the stems of the outermost arms, in packets."""
_LINEAR_SHARE = 50
"""The axis is linear up to a power of ten that is at most the largest cost divided by this."""
_CROWDED = 60
"""Packets from which stems are thinner and points smaller."""
_SHAPES = ("circle", "diamond", "square", "triangle-up", "triangle-down", "cross")


@dataclass(frozen=True)
class _Scale:
    """The axis of costs, which both panels of a cell share, in the unit of the metric."""

    low: float
    high: float
    linear_to: float
    ticks: Sequence[float]

    @classmethod
    def of(cls, costs: Sequence[float]) -> "_Scale":
        """Return a scale that holds all costs, and 0."""
        largest = max((abs(cost) for cost in costs), default=0.0) or 1.0
        linear_to = 10.0 ** math.floor(math.log10(largest / _LINEAR_SHARE))
        steps = [base * factor for base in (linear_to, 10 * linear_to, 100 * linear_to) for factor in (1.0, 3.0)]
        high = 1.25 * max(linear_to, *costs)
        low = min(0.0, *costs)
        low = 1.25 * low if low < -linear_to / 10 else -linear_to / 4
        ticks = [sign * step for sign in (-1.0, 1.0) for step in steps if low <= sign * step <= high]
        return cls(low, high, linear_to, sorted([0.0, *ticks]))


def costs_panels(content: ReportContent, place: Place, singles: pd.DataFrame, label: str, name: str) -> list[CellPanel]:
    """Return a panel for each direction of a cell that has trials with a single loss (`LossEffects.singles`)."""
    scale = _Scale.of([cost for cost in singles["cost"].tolist() if math.isfinite(cost)])
    panels = []
    for direction, words in DIRECTIONS.items():
        own = singles[singles["direction"] == direction]
        if own.empty:
            continue
        chart = _chart(content, own, scale)
        title = f"{label}{SEPARATOR}{words}"
        figure = chart.properties(width=WIDTH_PX, height=HEIGHT_PX, title=panel_title(title))
        spec = page_specification(chart.properties(width="container", height=HEIGHT_PX))
        panels.append(CellPanel(place, title, f"{name}-{direction}", words, spec, figure))
    return panels


def _chart(content: ReportContent, singles: pd.DataFrame, scale: _Scale) -> Any:
    names = [arm.name for arm in content.study.arms if arm.name in set(singles["arm"])]
    by_arm = arm_colours(names, *content.compared_first)
    arms = [content.short_label(name) for name in names]
    unit = str(singles["unit"].iloc[0])
    rows = [_row(content, row, names, unit, scale) for row in records(singles)]
    axis_x = alt.Axis(grid=False, format="d", tickMinStep=1, tickCount=6)
    crowded = int(singles["number"].max()) >= _CROWDED
    ends = [-0.7, int(singles["number"].max()) + 0.7]
    x = alt.X("x:Q", title="packet, in order of arrival", scale=alt.Scale(domain=ends, nice=False), axis=axis_x)
    y = alt.Y("cost:Q", title=f"cost{'' if unit in ('', 's') else f', {unit}'}",
              scale=alt.Scale(type="symlog", constant=scale.linear_to, domain=[scale.low, scale.high], nice=False),
              axis=unit_axis(unit, values=list(scale.ticks)))  # fmt: skip
    colour = alt.Color("arm:N", title=None, scale=alt.Scale(domain=arms, range=[by_arm[name] for name in names]))
    shapes = [_SHAPES[place % len(_SHAPES)] for place in range(len(arms))]
    shape = alt.Shape("arm:N", title=None, scale=alt.Scale(domain=arms, range=shapes))
    legend = alt.Legend(orient="top", symbolOpacity=1)
    tips = [alt.Tooltip(f"{name}:N", title=title)
            for name, title in (("packet", "packet"), ("arm", "arm"), ("shown", "cost"), ("value", "value"),
                                ("chance", "alone in"))]  # fmt: skip
    base = alt.Chart(alt.Data(values=[row for row in rows if row["cost"] is not None]))
    failed = [{**row, "cost": scale.high / 1.1} for row in rows if row["failed"]]
    layers = [
        base.transform_calculate(zero="0")
        .mark_rule(strokeWidth=0.7 if crowded else 1.2)
        .encode(x=x, y=y, y2="zero:Q", color=colour),
        base.mark_point(filled=True, size=14 if crowded else 22, opacity=1).encode(
            x=x, y=y, color=colour.legend(legend), shape=shape.legend(legend), tooltip=tips
        ),
    ]
    if failed:
        crosses = alt.Chart(alt.Data(values=failed)).mark_text(text="×", fontSize=13)
        layers.append(crosses.encode(x=x, y=y, color=colour, tooltip=tips))
    return alt.layer(*layers)


def _row(content: ReportContent, row: dict[str, Any], names: Sequence[str], unit: str, scale: _Scale) -> dict[str, Any]:
    known = math.isfinite(row["cost"])
    middle = (len(names) - 1) / 2
    offset = _DODGE * (names.index(row["arm"]) - middle) / middle / 2 if middle else 0.0
    return {
        "x": round(row["number"] + offset, 3),
        "packet": f"{row['direction']} {row['number']}",
        "arm": content.short_label(row["arm"]),
        "cost": float(f"{row['cost']:.6g}") if known else None,
        "failed": row["outcome"] != Outcome.OK.value,
        "shown": cost_text(row["cost"], unit) if known else row["outcome"],
        "value": wording.quantity(row["value"], unit) if known else wording.DASH,
        "chance": wording.DASH if math.isnan(row["probability"]) else share_text(row["probability"]) + " of loads",
    }
