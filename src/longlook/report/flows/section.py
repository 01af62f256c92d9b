"""The section on competing flows, cell by cell: their rates over time, and one flow's rate against the other's."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar

import altair as alt

from longlook.core import Study, units
from longlook.explain import Round, choose_round
from longlook.report import wording
from longlook.report.charts.colours import INK, INK_SOFT
from longlook.report.charts.drawn import Drawn
from longlook.report.charts.theme import PAGE_FONT, page_specification, specification
from longlook.report.content import ReportContent
from longlook.report.flows.charts import band_chart, height_px, highest_mbps, round_chart
from longlook.report.flows.rates import ArmFlows, AxisScales, Rates, arm_flows, thinned
from longlook.report.layout import cell_label, make_grid
from longlook.report.section import Section, slug
from longlook.study import cell_settings

SIDE_PX = 290
BIN_RTTS = 10
"""The width of a bin: long enough to even out what a window does within a few round trips."""

FAINT = "#dcd8d0"
_LABELS = ("start", "end")
ANCHOR = "flows"
DUEL = 2
"""The number of competing flows for which a phase plot is drawn."""

_EXPORT_PX, _NAMES_PX = 430, 110
"""The width of exported figures, and the room for the names beside them."""


def phase_chart(drawn: Drawn, flows: ArmFlows, number: int, scale: AxisScales) -> Any:
    """Return one round as a path coloured by time, the other rounds faint behind it."""
    one, other = flows.competing
    rounds = {each: _binned(rates, scale.rtt_s) for each, rates in flows.rounds.items()}
    shown = rounds[number]
    path = list(zip(*(shown.flows[flow].round(4).tolist() for flow in (one, other)), shown.middles_s.tolist(),
                    strict=True))  # fmt: skip
    steps = [
        {"x": x, "y": y, "x2": x2, "y2": y2, "time_s": round(time_s, 3)}
        for (x, y, time_s), (x2, y2, _) in pairwise(path)
    ]
    ends = [
        {"x": path[place][0], "y": path[place][1], "name": name}
        for place, name in zip((0, -1), _LABELS, strict=True)
        if path
    ]
    faint = [
        {"round": each, **{axis: _rounded(rates, flow) for axis, flow in (("x", one), ("y", other))}}
        for each, rates in rounds.items()
        if each != number
    ]
    x, y = _axis(alt.X, "x", one, scale.top_mbps), _axis(alt.Y, "y", other, scale.top_mbps)
    colour = alt.Color(
        "time_s:Q",
        scale=alt.Scale(scheme="viridis", domain=[0, round(shown.bins * shown.bin_s, 3)]),
        legend=alt.Legend(
            orient="bottom", title="s since the first start", gradientLength=SIDE_PX - 90, titleOrient="right",
            gradientThickness=8, offset=8, titleLimit=160, tickCount=4,
        ),
    )  # fmt: skip
    behind = [
        drawn.rows(faint)
        .transform_flatten(["x", "y"])
        .transform_window(step="row_number()", groupby=["round"])
        .mark_line(color=FAINT, strokeWidth=0.7, opacity=1, clip=True)
        .encode(x=x, y=y, detail=alt.Detail("round:N"), order=alt.Order("step:Q"))
    ]
    walked = drawn.rows(steps).encode(x=x, y=y)
    marked = drawn.rows(ends).encode(x=alt.X("x:Q"), y=alt.Y("y:Q"))
    return alt.layer(
        *(behind if faint else []),
        *_references(drawn, shown, scale.top_mbps),
        walked.mark_rule(strokeWidth=1.2, opacity=1, clip=True).encode(
            x2=alt.X2("x2:Q"), y2=alt.Y2("y2:Q"), color=colour
        ),
        # A dot is a stroke without length: points would have a legend of another kind.
        walked.mark_rule(strokeWidth=4.5, strokeCap="round", opacity=1, clip=True).encode(
            x2=alt.X2("x:Q"), y2=alt.Y2("y:Q"), color=colour, tooltip=alt.Tooltip("time_s:Q", title="s")
        ),
        marked.mark_point(filled=True, size=46, color=INK, opacity=1),
        # One below its place, the other above: they may be close.
        *(
            marked.transform_filter(f"datum.name == '{name}'")
            .mark_text(align="left", dx=6, dy=dy, fontSize=11.5, color=INK)
            .encode(text=alt.Text("name:N"))
            for name, dy in zip(_LABELS, (10, -7), strict=True)
        ),
    ).properties(width=SIDE_PX, height=SIDE_PX)


def _binned(rates: Rates, rtt_s: float) -> Rates:
    """Return rates in bins of about BIN_RTTS round trips, unless they are wider, and at most as many as a line
    draws.
    """
    return thinned(rates.widened(rates.bin_s * max(1, round(BIN_RTTS * rtt_s / rates.bin_s))))


def _references(drawn: Drawn, rates: Rates, top: float) -> list[Any]:
    """Return the line of equal rates, and the line on which both together fill the link, if its rate is constant."""
    lines = [{"x": 0.0, "y": 0.0, "x2": top, "y2": top}]
    names = [{"x": top, "y": top, "name": "equal parts", "align": "right"}]
    link = None if rates.link is None or not len(rates.link) else float(rates.link.mean())
    if link is not None and rates.link is not None and rates.link.max() - rates.link.min() < 1e-3 * link:
        lines.append({"x": 0.0, "y": link, "x2": link, "y2": 0.0})
        names.append({"x": link * 0.3, "y": link * 0.7, "name": "link full", "align": "left"})
    text = drawn.rows(names).encode(x=alt.X("x:Q"), y=alt.Y("y:Q"), text=alt.Text("name:N"))
    rule = drawn.rows(lines).mark_rule(color=INK_SOFT, strokeDash=[5, 3], strokeWidth=1, opacity=1)
    return [
        rule.encode(x=alt.X("x:Q"), y=alt.Y("y:Q"), x2=alt.X2("x2:Q"), y2=alt.Y2("y2:Q")),
        text.transform_filter("datum.align == 'right'").mark_text(
            align="right", dx=-16, dy=4, fontSize=11.5, color=INK_SOFT
        ),
        text.transform_filter("datum.align == 'left'").mark_text(
            align="left", dx=7, dy=-5, fontSize=11.5, color=INK_SOFT
        ),
    ]


def _axis(kind: Any, field: str, flow: str, top: float) -> Any:
    axis = alt.Axis(domain=False, ticks=False, tickCount=5)
    return kind(f"{field}:Q", title=f"{flow}, Mbit/s", scale=alt.Scale(domain=[0, top], nice=False), axis=axis)


def _rounded(rates: Rates, flow: str) -> list[float]:
    return [float(f"{value:.3g}") for value in rates.flows[flow].tolist()]


@dataclass(frozen=True)
class ArmFigures:
    """The figures of one arm in a cell, by name of the chart; None if it has none."""

    label: str
    who: str
    note: str
    round_chart: str
    band_chart: str | None
    phase_chart: str | None


@dataclass(frozen=True)
class FlowCell:
    """One cell of the section, which the page shows when it is selected."""

    anchor: str
    cell_id: str
    cell: Mapping[str, str]
    label: str
    chosen: str
    arms: Sequence[ArmFigures]


@dataclass(frozen=True)
class FlowSection(Section):
    """All cells with flows, in the order of the heatmaps. `charts` are Vega-Lite by name, `exported` are Altair's."""

    template: ClassVar[str] = "flows/section.html.j2"

    cells: Sequence[FlowCell]
    charts: Mapping[str, Any]
    exported: Mapping[str, Any]

    @property
    def anchors(self) -> dict[str, str]:
        """The anchors of the cells on the page, by the cells' ids."""
        return {cell.cell_id: cell.anchor for cell in self.cells}

    def data(self) -> Mapping[str, Any]:
        """Return the charts, which hold their rows, and no further rows for any cell."""
        return {"charts": self.charts, "cells": {cell.anchor: {} for cell in self.cells}}

    def figures(self) -> Mapping[str, Any]:
        """Return the rates over time of each cell, and the phase plots of arms with two flows."""
        return self.exported


def make_flow_section(content: ReportContent) -> FlowSection:
    """Return the figures of every cell in which flows competed; the section has no cells if there is none."""
    taken: set[str] = set()
    cells: list[FlowCell] = []
    charts: dict[str, Any] = {}
    figures: dict[str, Any] = {}
    found = arm_flows(content)
    grid = make_grid(content, content.study.first_contrast)
    for place in grid.in_order():
        if not (arms := found.get(place.cell_id or "")):
            continue
        anchor = f"{ANCHOR}-{len(cells) + 1}"
        chosen = _choose(content, arms[0].cell_id)
        scale = AxisScales(highest_mbps(arms, chosen.number), height_px(arms), _rtt_s(content.study, place.cell))
        title = cell_label(place.cell)
        shown = [_arm(content, each, chosen, scale, f"{anchor}-{number}") for number, each in enumerate(arms)]
        for _, own in shown:
            charts |= own
        cells.append(
            FlowCell(
                anchor=anchor,
                cell_id=arms[0].cell_id,
                cell=place.cell,
                label=title,
                chosen=wording.chosen_round(content, chosen),
                arms=[each for each, _ in shown],
            )
        )
        figures |= _exported(content, arms, chosen, scale, title, slug(arms[0].cell_id, taken))
    return FlowSection(ANCHOR, "Rates over time", cells, charts, figures)


def _rtt_s(study: Study, cell: Mapping[str, str]) -> float:
    levels = {f.name: level for f in study.factors for level in f.levels if level.label == cell.get(f.name)}
    try:
        return units.parse_time(cell_settings(study, levels).get("network.rtt")) / 1e9
    except units.UnitError:
        return 0.0


def _choose(content: ReportContent, cell_id: str) -> Round:
    own = content.samples[content.samples["cell"] == cell_id]
    return choose_round(own, content.study, cell_id)


def _arm(
    content: ReportContent, flows: ArmFlows, chosen: Round, scale: AxisScales, prefix: str
) -> tuple[ArmFigures, dict[str, Any]]:
    """Return the description of one arm, and its charts."""
    number = flows.shown(chosen.number)
    charts = {f"{prefix}-round": _on_page(lambda drawn: _wide(round_chart(drawn, flows, number, scale)))}
    if len(flows.rounds) > 1:
        charts[f"{prefix}-band"] = _on_page(lambda drawn: _wide(band_chart(drawn, flows, scale)))
    if len(flows.competing) == DUEL:
        charts[f"{prefix}-phase"] = _on_page(lambda drawn: phase_chart(drawn, flows, number, scale), fitted=False)
    note = "" if number == chosen.number else f"Round {number + 1}: this arm has no rates of the other one."
    figures = ArmFigures(
        label=content.short_label(flows.arm),
        who=_who(flows),
        note=note,
        round_chart=f"{prefix}-round",
        band_chart=name if (name := f"{prefix}-band") in charts else None,
        phase_chart=name if (name := f"{prefix}-phase") in charts else None,
    )
    return figures, charts


def _on_page(make: Callable[[Drawn], Any], *, fitted: bool = True) -> dict[str, Any]:
    """Return the Vega-Lite of a chart, fitted to its place on the page or as it is."""
    drawn = Drawn()
    drawn.chart = make(drawn)
    return page_specification(drawn) if fitted else specification(drawn, PAGE_FONT)


def _wide(chart: Any) -> Any:
    return chart.properties(width="container")


def _who(flows: ArmFlows) -> str:
    """Return the flow mix of an arm: `quic against 4 tcp`, with cross traffic apart."""

    def named(group: str) -> str:
        count = len(flows.groups[group])
        return group if count == 1 else f"{count} {group}"

    competing = [named(group) for group in flows.groups if group not in flows.cross]
    crossing = [named(group) for group in flows.cross]
    return " against ".join(competing) + (f"; cross traffic: {', '.join(crossing)}" if crossing else "")


def _exported(
    content: ReportContent, arms: Sequence[ArmFlows], chosen: Round, scale: AxisScales, title: str, name: str
) -> dict[str, Any]:
    """Return the figures of a cell as files: rates over time of all arms, phase plots of arms with two flows."""
    rates, phases = Drawn(), Drawn()
    lines = []
    duels = []
    for flows in arms:
        number = flows.shown(chosen.number)
        label = f"{content.short_label(flows.arm)}: {_who(flows)}"
        charts = [_titled(round_chart(rates, flows, number, scale),
                          f"{label}, round {number + 1}")]  # fmt: skip
        if len(flows.rounds) > 1:
            band = band_chart(rates, flows, scale)
            charts.append(_titled(band, f"median and quartiles of {len(flows.rounds)} rounds"))
        lines.append(alt.hconcat(*(chart.properties(width=_EXPORT_PX) for chart in charts), spacing=_NAMES_PX))
        if len(flows.competing) == DUEL:
            duel = phase_chart(phases, flows, number, scale)
            duels.append(_titled(duel, f"{label}, round {number + 1}"))
    rates.chart = alt.vconcat(*lines, spacing=26, title=alt.TitleParams(f"Rates over time: {title}"))
    figures = {f"flows-{name}": rates}
    if duels:
        heading = alt.TitleParams(f"One flow’s rate against the other’s: {title}")
        phases.chart = alt.hconcat(*duels, spacing=40, title=heading)
        figures[f"phase-{name}"] = phases
    return figures


def _titled(chart: Any, text: str) -> Any:
    return chart.properties(title=alt.TitleParams(text, fontSize=12, offset=8))
