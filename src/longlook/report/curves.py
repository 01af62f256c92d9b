"""Charts that notebooks ask for by name: the distribution of a metric in one cell, and a metric along a factor."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt
import numpy as np

from longlook.core import ArmLevel, Better
from longlook.report import wording
from longlook.report.charts import colours
from longlook.report.charts.theme import unit_axis
from longlook.report.content import MetricFacts, printable

WIDTH_PX, HEIGHT_PX = 420, 260
PANEL_PX, PANEL_HEIGHT_PX, COLUMNS = 260, 190, 3
_FAR_APART = 10.0
"""An axis is logarithmic if its largest number is at least this multiple of its smallest."""
_VERY_FAR_APART = 30.0
"""The same of the values."""
_DASHES = ([1, 0], [6, 3], [2, 2], [8, 3, 2, 3])


def cdf_chart(values: Mapping[str, Sequence[float]], fill: Mapping[str, str], facts: MetricFacts, title: str) -> Any:
    """Return the share of rounds in which a metric is at most each value, as steps: a line for each arm.

    `values` has the arms' values by label, `fill` their colours. An arm without a value has no line, which its entry
    in the legend says.
    """
    names = {arm: f"{arm} (n = {len(own)})" for arm, own in values.items()}
    rows = [row for arm, own in values.items() for row in _steps(names[arm], own, facts.unit)]
    colour, dash = _arms(list(names.values()), [fill[arm] for arm in values])
    better = "to the left is better" if facts.better is Better.LOWER else "to the right is better"
    axis = unit_axis(facts.unit, grid=False, tickCount=6, labelOverlap=True)
    x = alt.X("value:Q", title=_axis_title(facts), scale=alt.Scale(zero=False, padding=8), axis=axis)
    share = alt.Axis(format="%", tickCount=5, domain=False, ticks=False)
    return (
        alt.Chart(alt.Data(values=rows))
        .mark_line(interpolate="step-after", strokeWidth=2)
        .encode(
            x=x,
            y=alt.Y("share:Q", title="share of rounds", scale=alt.Scale(domain=[0, 1]), axis=share),
            color=colour,
            strokeDash=dash,
            order="order:Q",
            tooltip=[alt.Tooltip("arm:N"), alt.Tooltip("shown:N", title="at most")],
        )
        .properties(width=WIDTH_PX, height=HEIGHT_PX, title=alt.TitleParams(title, subtitle=[better]))
    )


def _steps(arm: str, values: Sequence[float], unit: str) -> list[dict[str, Any]]:
    ranked = np.sort(np.asarray(values, np.float64))
    shares = np.arange(1, len(ranked) + 1) / max(1, len(ranked))
    begin = [(ranked[0], 0.0)] if len(ranked) else []
    return [
        {
            "arm": arm,
            "value": float(value),
            "share": float(share),
            "order": order,
            "shown": wording.quantity(float(value), unit),
        }
        for order, (value, share) in enumerate([*begin, *zip(ranked, shares, strict=True)])
    ]


@dataclass(frozen=True)
class FactorAxis:
    """The axis of a factor: its name, and its levels as written with their places, numbers if they have any."""

    name: str
    levels: Mapping[str, float | None]

    @property
    def is_numeric(self) -> bool:
        """Whether the levels have places of their own."""
        return all(place is not None for place in self.levels.values())

    def place(self, level: str) -> float | str:
        """Return the place of a level on the axis."""
        number = self.levels[level]
        return level if number is None or not self.is_numeric else number

    def encoding(self) -> Any:
        """Return the axis, on which each level is written as in the study; logarithmic if numbers lie far apart."""
        if not self.is_numeric:
            labels = alt.Axis(labelAngle=0, grid=False)
            return alt.X("place:N", sort=list(self.levels), title=printable(self.name), axis=labels)
        numbers = {place: printable(level) for level, place in self.levels.items() if place is not None}
        far = min(numbers) > 0 and max(numbers) / min(numbers) >= _FAR_APART
        scale = alt.Scale(type="log", nice=False, padding=14) if far else alt.Scale(zero=False, nice=False, padding=14)
        named = json.dumps({f"{place:.15g}": level for place, level in numbers.items()})
        expression = f"{named}[format(datum.value, '.15~g')] || ''"
        axis = alt.Axis(values=sorted(numbers), labelExpr=expression, grid=False, labelOverlap=True)
        return alt.X("place:Q", title=printable(self.name), scale=scale, axis=axis)


def lines_chart(
    points: Sequence[tuple[ArmLevel, str, str]], fill: Mapping[str, str], facts: MetricFacts, axis: FactorAxis
) -> Any:
    """Return medians with their intervals along a factor: a line for each arm, a panel for each combination of others.

    `points` has the levels of arms, each with the arm's label and its panel; `fill` the colours by label.
    """
    rows = [_point(level, arm, axis.place(level.cell[axis.name]), panel) for level, arm, panel in points]
    panels = list(dict.fromkeys(row["panel"] for row in rows))
    colour, dash = _arms(list(fill), list(fill.values()))
    known = [row[end] for row in rows for end in ("low", "high")]
    low, high = min(known, default=0.0), max(known, default=1.0)
    far = low > 0 and high / low >= _VERY_FAR_APART
    room = 0.06 * (high - low) or abs(high) or 1.0
    scale = (  # the same for all panels, so that they can be compared
        alt.Scale(type="log", domain=[low / 1.2, high * 1.2], nice=False)
        if far
        else alt.Scale(domain=[min(low, max(0.0, low - room)), high + room], nice=False, zero=False)
    )
    tips = [alt.Tooltip("arm:N"), alt.Tooltip("shown:N", title="median")]
    drawn = []
    for number, panel in enumerate(panels):
        title = _axis_title(facts) if number % COLUMNS == 0 else None
        axis_y = unit_axis(facts.unit, domain=False, tickCount=5, labelOverlap=True)
        y = alt.Y("value:Q", title=title, scale=scale, axis=axis_y)
        data = alt.Data(values=[row for row in rows if row["panel"] == panel])
        base = alt.Chart(data).encode(x=axis.encoding(), color=colour)
        layers = [
            base.mark_rule(strokeWidth=1.4).encode(y=alt.Y("low:Q", scale=scale), y2="high:Q"),
            base.mark_line(strokeWidth=2).encode(y=y, strokeDash=dash),
            base.mark_point(filled=True, size=46, opacity=1).encode(y=y, tooltip=tips),
        ]
        width, height = (WIDTH_PX, HEIGHT_PX) if len(panels) == 1 else (PANEL_PX, PANEL_HEIGHT_PX)
        heading = {"title": alt.TitleParams(panel, fontSize=13, offset=8)} if panel else {}
        drawn.append(alt.layer(*layers).properties(width=width, height=height, **heading))
    heading_of_all = alt.TitleParams(
        f"{facts.label} by {printable(axis.name)}", subtitle=["Median over rounds with its interval."]
    )
    return alt.concat(*drawn, columns=COLUMNS, spacing=34).properties(title=heading_of_all)


def _point(level: ArmLevel, arm: str, place: float | str, panel: str) -> dict[str, Any]:
    low = level.median if level.low is None else level.low
    high = level.median if level.high is None else level.high
    shown = f"{wording.level(level)} ({wording.level_interval(level)}), n = {level.n}"
    return {"arm": arm, "place": place, "panel": panel, "value": level.median, "low": low, "high": high, "shown": shown}


def _arms(labels: Sequence[str], fill: Sequence[str]) -> tuple[Any, Any]:
    """Return the encodings of arms: a colour each, and dashes for readers who see no colours."""
    legend = alt.Legend(orient="bottom", columns=1, labelLimit=400, symbolStrokeWidth=2, symbolType="stroke")
    scale = alt.Scale(domain=list(labels), range=list(fill))
    dashes = alt.Scale(domain=list(labels), range=[_DASHES[number % len(_DASHES)] for number in range(len(labels))])
    return (
        alt.Color("arm:N", title=None, sort=list(labels), legend=legend, scale=scale),
        alt.StrokeDash("arm:N", title=None, sort=list(labels), legend=legend, scale=dashes),
    )


def _axis_title(facts: MetricFacts) -> str:
    return facts.label if facts.unit in ("", "s") else f"{facts.label} ({facts.unit})"


def curve_colours(arms: Sequence[str], compared: tuple[str | None, str | None]) -> dict[str, str]:
    """Return the colour of each arm, as everywhere: the baseline blue, the contender red."""
    return colours.arm_colours(arms, *compared)
