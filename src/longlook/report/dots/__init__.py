"""Every arm's median in every cell as points beside each other, one cell below the other: for many cells and arms whose
values lie far apart, or are missing.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import altair as alt

from longlook.core import DOTS, ArmLevel
from longlook.report import wording
from longlook.report.chart_section import ChartSection
from longlook.report.charts.colours import RULE, arm_colours
from longlook.report.charts.theme import page_specification, unit_axis
from longlook.report.content import ReportContent
from longlook.report.flows.shares import levels_of
from longlook.report.layout import SEPARATOR, make_grid

_ARM_PX = 8
"""The height that an arm takes of a cell."""
_WIDTH_PX = 620
_FAR_APART = 10.0
"""The axis is logarithmic if the largest value is at least this multiple of the smallest."""
_BEYOND = 1.25
"""Missing values are shown at this multiple of the largest value."""
_MISSING = "no value"
_SHAPES = ("circle", "square", "diamond", "triangle-up", "triangle-down", "cross")

Rows = list[dict[str, Any]]


@dataclass(frozen=True)
class DotsSection(ChartSection):
    """The dot plot of one metric, whose label is `label`."""

    template: ClassVar[str] = "dots/section.html.j2"

    label: str
    about: str


def make_dots(content: ReportContent) -> list[DotsSection]:
    """Return the section, or nothing if the study's figure is another."""
    study = content.study
    if study.figure.kind != DOTS:
        return []
    metric = study.figure_metric
    facts = content.facts(metric)
    rows = _rows(content, metric)
    known = [row["high"] for row in rows if not row["missing"]]
    least = min((row["low"] for row in rows if not row["missing"]), default=0.0)
    far = bool(known) and least > 0 and max(known) / least >= _FAR_APART
    about = ["Median over rounds with its interval." + (" The axis is logarithmic." if far else "")]
    if any(row["missing"] for row in rows):
        about.append(f"A cross at the right end: {_MISSING}, as no round of the arm was good there.")
    chart = _chart(rows, facts.unit, max(known, default=1.0), far=far)
    specs = {"dots": page_specification(chart.properties(width="container"))}
    charts = {"dots": chart.properties(width=_WIDTH_PX, title=alt.TitleParams(facts.label, subtitle=about))}
    return [DotsSection("dots", "Arms", specs, charts, facts.label, " ".join(about))]


def _rows(content: ReportContent, metric: str) -> Rows:
    study = content.study
    grid = make_grid(content, study.first_contrast)
    levels = levels_of(content, metric)
    arms = [arm.name for arm in study.arms]
    colours = arm_colours(arms, *content.compared_first)
    rows: Rows = []
    for place in grid.in_order():
        if place.cell_id is None:
            continue
        cell = SEPARATOR.join(part for part in (place.row if place.row != "all" else "", place.column) if part)
        for arm in arms:
            names = {"cell": cell, "arm": content.short_label(arm), "colour": colours[arm]}
            rows.append({**names, **_values(levels.get((place.cell_id, arm)))})
    return rows


def _values(level: ArmLevel | None) -> dict[str, Any]:
    if level is None or level.median is None:
        return {"missing": True, "value": None, "low": None, "high": None, "shown": _MISSING}
    return {
        "missing": False,
        "value": level.median,
        "low": level.median if level.low is None else level.low,
        "high": level.median if level.high is None else level.high,
        "shown": f"{wording.level(level)} ({wording.level_interval(level)}), n = {level.n}",
    }


def _chart(rows: Rows, unit: str, largest: float, *, far: bool) -> Any:
    arms = list(dict.fromkeys(row["arm"] for row in rows))
    cells = list(dict.fromkeys(row["cell"] for row in rows))
    colours = list({row["arm"]: row["colour"] for row in rows}.values())
    end = largest * _BEYOND
    scale = alt.Scale(type="log", nice=False) if far else alt.Scale(zero=True, nice=False, domain=[0, end])
    labels = {"labelOverlap": "greedy", "labelSeparation": 10}
    axis_x = unit_axis(unit, domain=False, ticks=False, tickCount=6, **labels)
    x = alt.X("value:Q", title=None if unit == "s" else unit or None, scale=scale, axis=axis_x)
    axis = alt.Axis(domain=False, ticks=False, grid=True, gridColor=RULE, labelPadding=8, labelLimit=260)
    y = alt.Y("cell:N", sort=cells, title=None, axis=axis, scale=alt.Scale(paddingInner=0.25))
    offset = alt.YOffset("arm:N", sort=arms)
    colour = alt.Color("arm:N", scale=alt.Scale(domain=arms, range=colours), sort=arms, title=None)
    shapes = [_SHAPES[number % len(_SHAPES)] for number in range(len(arms))]
    shape = alt.Shape("arm:N", scale=alt.Scale(domain=arms, range=shapes), sort=arms, title=None)
    legend = alt.Legend(orient="top", columns=2, columnPadding=24, labelLimit=360, symbolOpacity=1)
    tips = [alt.Tooltip(f"{name}:N") for name in ("cell", "arm", "shown")]
    known = alt.Chart(alt.Data(values=[row for row in rows if not row["missing"]]))
    missing = [{**row, "value": end} for row in rows if row["missing"]]
    layers = [
        known.mark_rule(strokeWidth=2, opacity=1).encode(
            x=alt.X("low:Q"), x2=alt.X2("high:Q"), y=y, yOffset=offset, color=colour
        ),
        known.mark_point(filled=True, size=46, opacity=1).encode(
            x=x, y=y, yOffset=offset, color=colour.legend(legend), shape=shape.legend(legend), tooltip=tips
        ),
        alt.Chart(alt.Data(values=missing))
        .mark_text(text="×", fontSize=13, dy=1)
        .encode(x=x, y=y, yOffset=offset, color=colour, tooltip=tips),
    ]
    return alt.layer(*layers).properties(height=alt.Step(_ARM_PX))
