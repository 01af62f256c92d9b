"""Charts of one cell. Each is made once per contrast; the page puts a cell's rows into its named data sets."""

from typing import Any

import altair as alt

from longlook.core import Contrast
from longlook.report.charts import colours
from longlook.report.charts.theme import page_specification, unit_axis
from longlook.report.content import ReportContent
from longlook.report.contrasts.overview import shared_margin, shared_unit, signed_labels

SPREAD = 0.34
"""The width over which the rounds of an arm are laid side by side, in units of the distance between the arms."""

FAILED_RAIL_PX = -12
"""The height above the plot at which crosses mark attempts without a value."""


def cell_charts(content: ReportContent, contrast: Contrast) -> dict[str, Any]:
    """Return Vega-Lite without its rows: `samples`, `effect` and `goodput`."""
    charts = {"samples": _samples(content, contrast), "effect": _effect(content, contrast), "goodput": _goodput()}
    specs = {}
    for name, chart in charts.items():
        specs[name] = page_specification(chart.properties(width="container"))
    return specs


def _samples(content: ReportContent, contrast: Contrast) -> Any:
    """Return a slope chart: a line joins the two arms of a round; the rounds of an arm run from left to right."""
    facts = content.facts(contrast.metric)
    labels = [content.short_label(contrast.baseline), content.short_label(contrast.contender)]
    x = alt.X(
        "x:Q",
        title=None,
        scale=alt.Scale(domain=[-0.62, 1.62], nice=False),
        axis=alt.Axis(
            values=[0, 1],
            labelExpr="arms[datum.value]",
            labelFontSize=13,
            labelColor=colours.INK,
            labelPadding=8,
            grid=False,
            ticks=False,
            domain=False,
        ),
    )
    y = alt.Y(
        "value:Q",
        title=facts.label if facts.unit in ("", "s") else f"{facts.label} ({facts.unit})",
        scale=alt.Scale(zero=False, padding=12),
        axis=unit_axis(facts.unit, domain=False, ticks=False, tickCount=6),
    )
    colour = alt.Color("colour:N", scale=None)
    shape = alt.Shape("shape:N", scale=None)
    tooltip = [alt.Tooltip(f"{name}:N") for name in ("arm", "round", "shown", "trial")]
    samples, failed = alt.Chart(alt.NamedData("samples")), alt.Chart(alt.NamedData("failed"))
    medians = alt.Chart(alt.NamedData("medians"))
    layers = [
        alt.Chart(alt.NamedData("pairs"))
        .mark_line(color="#a9a49b", strokeWidth=1, opacity=0.6)
        .encode(x=x, y=y, detail="round:N"),
        samples.mark_point(filled=True, size=58, opacity=0.85).encode(
            x=x, y=y, color=colour, shape=shape, tooltip=tooltip
        ),
        medians.mark_rule(strokeWidth=2.5).encode(x="from:Q", x2="to:Q", y=y, color=colour),
        medians.transform_filter("datum.arm == 0")
        .mark_text(align="right", dx=-6, fontSize=12)
        .encode(x="from:Q", y=y, text="shown:N", color=colour),
        medians.transform_filter("datum.arm == 1")
        .mark_text(align="left", dx=6, fontSize=12)
        .encode(x="to:Q", y=y, text="shown:N", color=colour),
        failed.mark_point(shape="M-.5,-.5L.5,.5M.5,-.5L-.5,.5", size=60, strokeWidth=1.6, opacity=1).encode(
            x=x,
            y=alt.value(FAILED_RAIL_PX),
            color=colour,
            tooltip=[alt.Tooltip(f"{name}:N") for name in ("arm", "round", "outcome", "reason")],
        ),
    ]
    return alt.layer(*layers).properties(height=300).add_params(alt.param("arms", value=labels))


def _effect(content: ReportContent, contrast: Contrast) -> Any:
    """Return the cell's effect and interval beside the equivalence margin, with a published value as a diamond."""
    estimates = content.estimates_of(contrast)
    margin = shared_margin(estimates, content)
    band = alt.Chart(alt.Data(values=[{"from": -margin, "to": margin}]))
    zero = alt.Chart(alt.Data(values=[{"zero": 0}]))
    effect = alt.Chart(alt.NamedData("effect"))
    published = alt.Chart(alt.NamedData("published"))
    axis = alt.Axis(labelExpr=signed_labels(shared_unit(estimates)), domain=False, tickCount=6, labelOverlap=True)
    x = alt.X("value:Q", title=None, scale=alt.Scale(padding=14, nice=False), axis=axis)
    colour = alt.Color("colour:N", scale=None)
    layers = [
        band.mark_rect(color="#eeece6").encode(x="from:Q", x2="to:Q"),
        zero.mark_rule(color="#8d8881").encode(x="zero:Q"),
        effect.mark_rule(strokeWidth=3).encode(x="low:Q", x2="high:Q", color=colour),
        effect.mark_point(filled=True, size=110, opacity=1).encode(
            x=x, color=colour, tooltip=[alt.Tooltip("shown:N", title="effect")]
        ),
        published.mark_point(shape="diamond", size=110, strokeWidth=1.6, color=colours.INK, opacity=1).encode(
            x=x, y=alt.value(14), tooltip=[alt.Tooltip("shown:N", title="published")]
        ),
    ]
    return alt.layer(*layers).properties(height=64)


def _goodput() -> Any:
    """Return goodput over time, one thin line per trial."""
    return (
        alt.Chart(alt.NamedData("goodput"))
        .mark_line(strokeWidth=1.1, opacity=0.55, interpolate="step-after")
        .encode(
            x=alt.X("time_s:Q", title="time, s", axis=alt.Axis(grid=False, tickCount=6), scale=alt.Scale(nice=False)),
            y=alt.Y("mbps:Q", title="goodput, Mbit/s", axis=alt.Axis(domain=False, ticks=False, tickCount=4)),
            color=alt.Color("colour:N", scale=None),
            detail="trial:N",
        )
        .properties(height=150)
    )
