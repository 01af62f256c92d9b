"""The effect of each round against what it drew: charts of a cell, and of all cells that stand on a cliff."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import altair as alt

from longlook.analysis import RoundEffects, name_of, scale_of, sentence
from longlook.core import Contrast, Dependence, Estimate, Shape
from longlook.report import wording
from longlook.report.charts import colours
from longlook.report.charts.theme import page_specification
from longlook.report.content import ReportContent
from longlook.report.contrasts.overview import shared_unit, signed_labels
from longlook.report.layout import cell_label

HEIGHT_PX = 130
PANEL_PX, PANEL_HEIGHT_PX, COLUMNS = 380, 200, 2

_BYTES = (
    "abs(datum.value) >= 1e6 ? format(datum.value / 1e6, ',.4~r') + ' MB' : "
    "abs(datum.value) >= 1e3 ? format(datum.value / 1e3, ',.4~r') + ' KB' : datum.value + ' B'"
)


@dataclass(frozen=True)
class DrawnPlot:
    """The plot of one setting of a cell: the name of its chart, its title and what was found."""

    chart: str
    title: str
    found: str
    is_cliff: bool


def drawn_charts(content: ReportContent, contrast: Contrast) -> dict[str, Any]:
    """Return Vega-Lite without its rows for each setting that rounds drew, by the name of the chart."""
    estimates = content.estimates_of(contrast)
    settings, unit = {found.setting for item in estimates for found in item.dependences}, shared_unit(estimates)
    return {
        chart_name(setting): page_specification(
            _chart(setting, alt.NamedData(f"points {setting}"), alt.NamedData(f"fit {setting}"), unit).properties(
                width="container", height=HEIGHT_PX
            )
        )
        for setting in sorted(settings)
    }


def chart_name(setting: str) -> str:
    """Return the name of a setting's chart."""
    return f"drawn {setting}"


def drawn_plots(content: ReportContent, estimate: Estimate | None) -> tuple[DrawnPlot, ...]:
    """Return the plots of a cell, the setting that explains most first."""
    if estimate is None:
        return ()
    alpha = content.study.analysis.alpha
    return tuple(
        DrawnPlot(chart_name(item.setting), name_of(item.setting), _found(item, alpha), item.is_cliff)
        for item in estimate.dependences
    )


def _found(item: Dependence, alpha: float) -> str:
    p_text = wording.p_value(item.p)
    p_part = f"p {p_text}" if p_text.startswith("<") else f"p = {p_text}"
    if item.p >= alpha:
        return f"not distinguishable from noise ({p_part})"
    return f"{wording.points(100 * item.share)}{wording.NBSP}% of the variance ({p_part})"


def drawn_data(rounds: RoundEffects | None, estimate: Estimate | None, alpha: float) -> dict[str, Any]:
    """Return a cell's effects and draws as columns, which report.js turns into rows, and the fits that are drawn."""
    if rounds is None or estimate is None or not estimate.dependences:
        return {}
    shown = {item.setting for item in estimate.dependences}
    return {
        "rounds": [number + 1 for number in rounds.rounds],
        "effects": [None if effect is None else float(f"{effect:.6g}") for effect in rounds.effects],
        "settings": {
            name: [float(f"{value:.6g}") for value in values] for name, values in rounds.drawn.items() if name in shown
        },
        "fits": {item.setting: _segments(item) for item in estimate.dependences if item.p < alpha},
    }


def _segments(item: Dependence) -> list[dict[str, Any]]:
    """Return the lines of a fit: both levels of a step with the split between them, or the one line of a trend."""
    colour = colours.INK if item.is_cliff else "#9a958d"
    ends = [(item.low, item.ends.low), (item.high, item.ends.high)]
    if item.shape is Shape.STEP and item.split is not None:
        corners = [ends[0], (item.split, ends[0][1]), (item.split, ends[1][1]), ends[1]]
    else:
        corners = ends
    return [
        {"drawn": drawn, "effect": effect, "colour": colour, "order": at} for at, (drawn, effect) in enumerate(corners)
    ]


def _chart(setting: str, points: Any, fit: Any, effect_unit: str) -> Any:
    _, unit = scale_of(setting, 0.0)
    label = name_of(setting)
    in_bytes = unit == "B"
    labels: dict[str, Any] = {"labelExpr": _BYTES} if in_bytes else {"format": ",.4~r"}
    axis = alt.Axis(
        title=label if in_bytes or not unit else f"{label}, {unit}",
        grid=False,
        tickCount=4,
        labelOverlap=True,
        **labels,
    )
    x = alt.X("drawn:Q", scale=alt.Scale(zero=False, nice=False, padding=8), axis=axis)
    effect_axis = alt.Axis(labelExpr=signed_labels(effect_unit), domain=False, ticks=False, tickCount=4)
    y = alt.Y("effect:Q", title=None, scale=alt.Scale(zero=False, padding=8), axis=effect_axis)
    tooltip = [alt.Tooltip("round:N"), alt.Tooltip("drawn:Q", title=label), alt.Tooltip("effect:Q", format="+.2f")]
    return alt.layer(
        alt.Chart(fit)
        .mark_line(strokeWidth=1.6)
        .encode(x=x, y=y, order="order:Q", color=alt.Color("colour:N", scale=None)),
        alt.Chart(points)
        .mark_point(filled=True, size=34, opacity=1, color=colours.CONTENDER)
        .encode(x=x, y=y, tooltip=tooltip),
    )


def cliff_chart(
    content: ReportContent, contrast: Contrast, rounds: Mapping[str, RoundEffects], title: str
) -> Any | None:
    """Return a panel for each cell that stands on a cliff, against the setting that it depends on; None without one."""
    marked = [item for item in content.estimates_of(contrast) if item.cliff is not None and item.cell_id in rounds]
    if not marked:
        return None
    panels = [_panel(item, rounds[item.cell_id]) for item in marked]
    lines = [alt.hconcat(*panels[start : start + COLUMNS], spacing=34) for start in range(0, len(panels), COLUMNS)]
    about = [
        "Effect of each round against the setting that it depends on most.",
        "Line: the mean on both sides, or a trend.",
    ]
    return alt.vconcat(*lines, spacing=26, title=alt.TitleParams(title, subtitle=about))


def _panel(estimate: Estimate, rounds: RoundEffects) -> Any:
    item = estimate.cliff
    if item is None:
        raise ValueError(f"cell {estimate.cell_id} stands on no cliff")
    points = [
        {"drawn": drawn, "effect": effect, "round": number + 1}
        for number, drawn, effect in zip(rounds.rounds, rounds.drawn[item.setting], rounds.effects, strict=True)
    ]
    chart = _chart(item.setting, alt.Data(values=points), alt.Data(values=_segments(item)), rounds.unit)
    heading = alt.TitleParams(cell_label(estimate.cell), subtitle=sentence(item), fontSize=14, offset=10)
    return chart.properties(width=PANEL_PX, height=PANEL_HEIGHT_PX, title=heading)
