"""The rate of one of two flows against the other's, over time: a path through their plane."""

from itertools import pairwise
from typing import Any

import altair as alt

from longlook.report.charts.colours import INK, INK_SOFT
from longlook.report.charts.drawn import Drawn
from longlook.report.flows.rates import ArmFlows, AxisScales, Rates, thinned

SIDE_PX = 290
BIN_RTTS = 10
"""The width of a bin: long enough to even out what a window does within a few round trips."""

FAINT = "#dcd8d0"
_LABELS = ("start", "end")


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
