"""Figures of values themselves, which most papers have: bars, boxes, distributions, and lines along a factor.

Rows of the study's figure are panels and its columns are on the axis, as in a heatmap. All panels have one scale.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt

from longlook.core import ArmLevel, Outcome
from longlook.report import wording
from longlook.report.charts.colours import RULE
from longlook.report.charts.theme import unit_axis
from longlook.report.content import MetricFacts, ReportContent, printable
from longlook.report.curves import FactorAxis, cdf_chart, curve_colours, lines_chart
from longlook.report.flows.shares import levels_of
from longlook.report.layout import Grid, make_grid

PANELS_ACROSS = 3
_PANEL_PX, _HEIGHT_PX = 230, 180
_ALL = "all"
"""The name of a row or a column if the study places no factor there."""
_MEANS = "If the losses of a cell are integrated, the value of a round is a mean over all loads."


@dataclass(frozen=True)
class _Arms:
    """The arms of a study: short labels, in its order, and their colours."""

    labels: Mapping[str, str]
    colours: Mapping[str, str]

    @classmethod
    def of(cls, content: ReportContent) -> "_Arms":
        names = [arm.name for arm in content.study.arms]
        colours = curve_colours(names, content.compared_first)
        labels = {name: printable(content.short_label(name)) for name in names}
        return cls(labels, {labels[name]: colour for name, colour in colours.items()})

    def colour(self) -> Any:
        scale = alt.Scale(domain=list(self.colours), range=list(self.colours.values()))
        legend = alt.Legend(
            orient="bottom", columns=2, labelLimit=400, title=None, symbolType="square", symbolOpacity=1
        )
        return alt.Color("arm:N", sort=list(self.colours), scale=scale, legend=legend)


def absolute_figure(kind: str, content: ReportContent, metric: str) -> Any:
    """Return a figure of a metric, of a kind in `style.KINDS`; None if no cell has a value.

    Bars and lines have the median of each arm over rounds with its interval, which `content.levels` must hold. Boxes
    and distributions have every round.
    """
    chart = _DRAW[kind](content, metric)
    if chart is not None and any(item.is_integrated for item in content.estimates):
        chart.title.subtitle = [*chart.title.subtitle, _MEANS]
    return chart


def _bars(content: ReportContent, metric: str) -> Any:
    facts, arms, grid = content.facts(metric), _Arms.of(content), make_grid(content, content.study.first_contrast)
    levels = levels_of(content, metric)
    rows = [
        {"row": place.row, "column": place.column, "arm": label, **_ends(level)}
        for place in grid.in_order()
        for arm, label in arms.labels.items()
        if place.cell_id is not None and (level := levels.get((place.cell_id, arm))) and level.median is not None
    ]

    def layers(base: Any, y: Any, offset: Any) -> list[Any]:
        return [
            base.mark_bar().encode(y=y, xOffset=offset, color=arms.colour()),
            base.mark_rule(strokeWidth=1.4).encode(y=alt.Y("low:Q"), y2="high:Q", xOffset=offset),
        ]

    about = "Median over rounds with its interval."
    return _panels(rows, grid, facts, arms, about, layers, from_zero=True)


def _box(content: ReportContent, metric: str) -> Any:
    facts, arms, grid = content.facts(metric), _Arms.of(content), make_grid(content, content.study.first_contrast)
    values = _values(content, metric)
    rows = [
        {"row": place.row, "column": place.column, "arm": label, "value": value, "low": value, "high": value}
        for place in grid.in_order()
        for arm, label in arms.labels.items()
        for value in values.get((place.cell_id or "", arm), ())
    ]

    def layers(base: Any, y: Any, offset: Any) -> list[Any]:
        box = base.mark_boxplot(extent="min-max", size=14, median={"color": "#ffffff"}, ticks=False, opacity=1)
        return [box.encode(y=y, xOffset=offset, color=arms.colour())]

    about = "Box: quartiles and median over rounds; whiskers: the lowest and the highest round."
    return _panels(rows, grid, facts, arms, about, layers, from_zero=False)


def _cdf(content: ReportContent, metric: str) -> Any:
    facts, arms, grid = content.facts(metric), _Arms.of(content), make_grid(content, content.study.first_contrast)
    values = _values(content, metric)
    charts = []
    for place in grid.in_order():
        own = {label: list(values.get((place.cell_id or "", arm), ())) for arm, label in arms.labels.items()}
        if any(own.values()):
            name = " · ".join(part for part in (place.row, place.column) if part != _ALL)
            heading = alt.TitleParams(printable(name), fontSize=12, offset=6, anchor="start")
            charts.append(cdf_chart(own, arms.colours, facts, name).properties(width=_PANEL_PX, title=heading))
    if not charts:
        return None
    title = alt.TitleParams(facts.label, subtitle=["The share of rounds with at most each value."])
    return alt.concat(*charts, columns=PANELS_ACROSS, spacing=26, title=title).resolve_scale(
        color="independent", strokeDash="independent"
    )


def _lines(content: ReportContent, metric: str) -> Any:
    study = content.study
    arms, levels = _Arms.of(content), levels_of(content, metric)
    grid = make_grid(content, study.first_contrast)
    points: list[tuple[ArmLevel, str, str]] = [
        (level, label, "" if place.row == _ALL else place.row)
        for place in grid.in_order()
        for arm, label in arms.labels.items()
        if place.cell_id is not None and (level := levels.get((place.cell_id, arm))) and level.median is not None
    ]
    factor = next((each for each in study.factors if each.name == study.figure.columns), None)
    if not points or factor is None:
        return None
    ran = {level.cell[factor.name] for level, *_ in points}
    axis = FactorAxis(factor.name, {each.label: None for each in factor.levels if each.label in ran})
    return lines_chart(points, arms.colours, content.facts(metric), axis)


_DRAW: Mapping[str, Callable[[ReportContent, str], Any]] = {"bars": _bars, "box": _box, "cdf": _cdf, "lines": _lines}


def _ends(level: ArmLevel) -> dict[str, Any]:
    low = level.median if level.low is None else level.low
    high = level.median if level.high is None else level.high
    return {"value": level.median, "low": low, "high": high, "shown": wording.level(level)}


def _values(content: ReportContent, metric: str) -> dict[tuple[str, str], list[float]]:
    """Return the values of a metric by cell and arm: of each round its last attempt, if that went well."""
    samples = content.samples
    good = (samples["outcome"] == Outcome.OK) & (samples["round"] >= 0) & samples["value"].notna()
    own = samples[(samples["metric"] == metric) & good]
    last = own.drop_duplicates(["cell", "arm", "round"], keep="last")
    return {
        (str(cell), str(arm)): [float(value) for value in group["value"]]
        for (cell, arm), group in last.groupby(["cell", "arm"], sort=False)
    }


def _panels(
    rows: Sequence[Mapping[str, Any]],
    grid: Grid,
    facts: MetricFacts,
    arms: _Arms,
    about: str,
    layers: Callable[[Any, Any, Any], list[Any]],
    *,
    from_zero: bool,
) -> Any:
    if not rows:
        return None
    low, high = min(row["low"] for row in rows), max(row["high"] for row in rows)
    room = 0.05 * (high - low) or abs(high) or 1.0
    begin = min(0.0, low) if from_zero else low - room
    scale = alt.Scale(domain=[begin, high + room], nice=False, zero=False)
    columns = [column for column in grid.columns if any(row["column"] == column for row in rows)]
    charts = []
    for number, panel in enumerate(row for row in grid.rows if any(each["row"] == row for each in rows)):
        label = facts.label if number % PANELS_ACROSS == 0 else None
        axis = unit_axis(facts.unit, domain=False, tickCount=5, gridColor=RULE, labelOverlap=True)
        y = alt.Y("value:Q", title=label, scale=scale, axis=axis)
        data = alt.Data(values=[dict(row) for row in rows if row["row"] == panel])
        x = alt.X("column:N", sort=columns, title=grid.column_title or None, axis=alt.Axis(labelAngle=0, ticks=False))
        offset = alt.XOffset("arm:N", sort=list(arms.colours))
        heading = {"title": alt.TitleParams(printable(panel), fontSize=12, offset=6)} if panel != _ALL else {}
        drawn = alt.layer(*layers(alt.Chart(data).encode(x=x), y, offset))
        charts.append(
            drawn.properties(width=max(_PANEL_PX, 26 * len(columns) * len(arms.labels)), height=_HEIGHT_PX, **heading)
        )
    title = alt.TitleParams(facts.label, subtitle=[about])
    return alt.concat(*charts, columns=PANELS_ACROSS, spacing=26, title=title)
