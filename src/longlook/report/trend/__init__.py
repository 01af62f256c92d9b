"""Arms by date of release: the level of each in each cell, and the consecutive versions that differ."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import altair as alt

from longlook.core import ArmLevel, Estimate, Verdict
from longlook.report import wording
from longlook.report.chart_section import CellPanel, ChartSection, cell_panel
from longlook.report.charts import colours
from longlook.report.charts.theme import unit_axis
from longlook.report.content import ReportContent
from longlook.report.layout import make_grid, ordered
from longlook.report.section import slug

PANEL_SIZE = (250, 130)
LEAST_SPAN = 0.2
"""The least span of the vertical axis as a share of its middle, so that small differences look small."""

_COLOURS = {Verdict.BETTER: colours.CONTENDER, Verdict.WORSE: colours.BASELINE}
_SHAPES = {Verdict.BETTER: "triangle-up", Verdict.WORSE: "triangle-down"}
_PLAIN = "#77736d"


@dataclass(frozen=True)
class TrendSection(ChartSection):
    """One metric over the releases: a small chart for each cell, and the same as one figure to export.

    `changes` are the rows of the table of neighbours that differ; `header` are its columns.
    """

    template: ClassVar[str] = "trend/section.html.j2"

    metric: str
    direction: str
    panels: Sequence[CellPanel]
    header: Sequence[str]
    changes: Sequence[Sequence[str]]
    compared: int


def make_trends(content: ReportContent) -> list[TrendSection]:
    """Return a trend for each metric of the study's contrasts; nothing if the study's figure is not a trend."""
    known = {item.metric for item in content.levels}
    metrics = dict.fromkeys(contrast.metric for contrast in content.study.contrasts if contrast.metric in known)
    taken: set[str] = set()
    shown = enumerate(metrics) if content.releases else ()
    return [_trend(content, metric, f"trend{number}", slug(metric, taken)) for number, metric in shown]


def _trend(content: ReportContent, metric: str, anchor: str, file_name: str) -> TrendSection:
    facts = content.facts(metric)
    contrasts = [contrast for contrast in content.study.contrasts if contrast.metric == metric]
    changes = _changes(content, metric)
    grid = make_grid(content, contrasts[0])
    levels = {place.cell_id: _levels(content, metric, place.cell_id) for place in grid.in_order() if place.cell_id}
    panels: list[CellPanel] = []
    for place in grid.in_order():
        rows = [
            _row(content, item, changes.get((item.cell_id, item.arm))) for item in levels.get(place.cell_id or "", [])
        ]
        if rows:
            panels.append(cell_panel(place, f"panel{len(panels)}", _panel(rows, facts.unit), PANEL_SIZE))
    charts = {(panel.place.row, panel.place.column): panel.chart for panel in panels}
    lines = [
        alt.hconcat(*(charts[row, column] for column in grid.columns if (row, column) in charts), spacing=28)
        for row in grid.rows
    ]
    title = f"{facts.label} by release"
    about = [
        f"Median over rounds with {wording.percent(content.study.analysis.confidence)} interval. "
        "▲ red: better than the release before, ▼ blue: worse, both significant after correction.",
        "Each panel has a scale of its own, which spans at least a fifth of its middle.",
    ]
    figure = alt.vconcat(*lines, spacing=22, title=alt.TitleParams(title, subtitle=about))
    return TrendSection(
        anchor=anchor,
        title=title,
        metric=facts.label,
        direction=wording.direction(facts.better),
        panels=panels,
        specs={panel.name: panel.spec for panel in panels},
        charts={f"trend-{file_name}": figure},
        header=("change", *(factor.name for factor in content.study.factors), "before", "after", "effect", "interval",
                "p adj"),
        changes=[_change_row(content, item) for item in ordered(content.study, changes.values()) if _differs(item)],
        compared=len(changes),
    )  # fmt: skip


def _levels(content: ReportContent, metric: str, cell_id: str) -> list[ArmLevel]:
    found = [item for item in content.levels if item.metric == metric and item.cell_id == cell_id]
    return sorted(found, key=lambda item: content.releases[item.arm].released)


def _changes(content: ReportContent, metric: str) -> dict[tuple[str, str], Estimate]:
    """Return the estimates of consecutive versions by cell and the later arm."""
    families = {contrast.name for contrast in content.study.contrasts if contrast.family}
    return {
        (item.cell_id, item.contender): item
        for item in content.estimates
        if item.metric == metric and item.contrast in families
    }


def _differs(item: Estimate) -> bool:
    return item.verdict in _COLOURS


def _row(content: ReportContent, item: ArmLevel, change: Estimate | None) -> dict[str, Any]:
    release = content.releases[item.arm]
    verdict = change.verdict if change is not None and _differs(change) else None
    shown = wording.DASH
    if change is not None:
        span = wording.interval_in_unit(change)
        shown = f"{wording.SYMBOLS[change.verdict]} {wording.effect_of(change)} ({span})"
    return {
        "release": release.program,
        "date": release.released,
        "median": item.median,
        "low": item.median if item.low is None else item.low,
        "high": item.median if item.high is None else item.high,
        "shown": wording.quantity(item.median, item.unit),
        "change": shown,
        "mark": release.program.partition("@")[2] if verdict else "",
        "colour": _COLOURS[verdict] if verdict else _PLAIN,
        "shape": _SHAPES[verdict] if verdict else "circle",
        "size": 90 if verdict else 26,
    }


def _panel(rows: Sequence[dict[str, Any]], unit: str) -> Any:
    known = [row[name] for row in rows for name in ("low", "high") if row[name] is not None]
    low, high = (min(known), max(known)) if known else (0.0, 1.0)
    middle, half = (low + high) / 2, max((high - low) / 2 * 1.25, (low + high) / 2 * LEAST_SPAN / 2)
    base = alt.Chart(alt.Data(values=list(rows))).encode(
        x=alt.X(
            "date:T",
            title=None,
            scale=alt.Scale(padding=12),
            axis=alt.Axis(format="%Y", tickCount="year", grid=False, labelOverlap=True),
        )
    )
    y = alt.Y(
        "median:Q",
        title=None,
        scale=alt.Scale(domain=[middle - half, middle + half], nice=False, zero=False),
        axis=unit_axis(unit, tickCount=4, domain=False, ticks=False),
    )
    tooltip = [
        alt.Tooltip(f"{name}:N", title=title)
        for name, title in (("release", "release"), ("date", "released"), ("shown", "median"), ("change", "change"))
    ]
    colour = alt.Color("colour:N", scale=None)
    marked = alt.datum.mark != ""
    return alt.layer(
        base.mark_line(color="#c9c5bd", strokeWidth=1.2).encode(y=y),
        base.mark_rule(strokeWidth=1.6).encode(y=alt.Y("low:Q"), y2="high:Q", color=colour),
        base.mark_point(filled=True, opacity=1).encode(
            y=y, color=colour, shape=alt.Shape("shape:N", scale=None), size=alt.Size("size:Q", scale=None),
            tooltip=tooltip,
        ),
        base.transform_filter(marked)
        .mark_text(fontSize=10, dy=-13)
        .encode(y=alt.Y("high:Q"), text="mark:N", color=colour),
    )  # fmt: skip


def _change_row(content: ReportContent, item: Estimate) -> tuple[str, ...]:
    before, after = (content.releases[name].program for name in (item.baseline, item.contender))
    return (
        f"{before} → {after}",
        *(item.cell.get(factor.name, "") for factor in content.study.factors),
        *(wording.quantity(level, item.unit) for level in item.levels),
        f"{wording.SYMBOLS[item.verdict]} {wording.effect_of(item)}",
        wording.interval_in_unit(item),
        wording.p_value(item.p_adjusted),
    )
