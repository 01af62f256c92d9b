"""Rates of competing flows over time: every flow of one round, and a flow of each group over all rounds."""

from collections.abc import Sequence
from typing import Any

import altair as alt
import numpy as np

from longlook.report import wording
from longlook.report.charts.colours import INK_SOFT, PAPER, mix
from longlook.report.charts.drawn import Drawn
from longlook.report.charts.labels import LABEL_PX, apart
from longlook.report.flows.colours import flow_colours, group_colours
from longlook.report.flows.rates import ArmFlows, AxisScales, Numbers, thinned
from longlook.report.layout import abbreviated

LEAST_PX, LABELS_ROOM_PX = 210, 30
MOST_LABELS = 12
"""With more flows in one figure, only the groups are named."""

NAME_CHARACTERS = 16
"""Longer names are abbreviated; the caption has them in full."""

_LEADER_PX = 12
_ENDING = 0.1
"""The share of a line at its end whose mean is the place of its name."""


def highest_mbps(arms: Sequence[ArmFlows], wanted: int | None) -> float:
    """Return the top of the axis of rates that the arms of a cell share: the link's capacity and all that is drawn."""
    tops = [0.0]
    for flows in arms:
        rates = thinned(flows.rounds[flows.shown(wanted)])
        tops += [float(values.max()) for values in rates.flows.values() if len(values)]
        tops += [] if rates.link is None else [float(rates.link.max())]
    return max(tops) * 1.06 or 1.0


def height_px(arms: Sequence[ArmFlows]) -> int:
    """Return the height of each figure of a cell, with room for the names of all lines."""
    return max(LEAST_PX, *(LABELS_ROOM_PX + int(LABEL_PX) * _labels(flows) for flows in arms))


def round_chart(drawn: Drawn, flows: ArmFlows, number: int, scale: AxisScales) -> Any:
    """Return every flow of one round, each with its name and its mean while all flows competed."""
    rates = thinned(flows.rounds[number])
    colours = flow_colours(flows.groups, flows.cross)
    order = [flow for group in reversed(list(flows.groups)) for flow in flows.groups[group] if flow in rates.flows]
    means = flows.means.get(number, {})
    rows = [
        {
            "flow": flow,
            "mean": wording.quantity(means[flow] * 1e6, "bit/s") if flow in means else wording.DASH,
            "colour": colours[flow],
            "time_s": _rounded(rates.middles_s),
            "mbps": _rounded(rates.flows[flow]),
        }
        for flow in order
    ]
    lines = (
        drawn.rows(rows)
        .transform_flatten(["time_s", "mbps"])
        .mark_line(strokeWidth=1.5, opacity=1, clip=True)
        .encode(
            x=_x(rates.bins * rates.bin_s),
            y=_y(scale.top_mbps),
            color=alt.Color("colour:N", scale=None),
            detail=alt.Detail("flow:N"),
            tooltip=[alt.Tooltip("flow:N"), alt.Tooltip("mean:N")],
        )
    )
    if len(order) > MOST_LABELS:
        shades = group_colours(list(flows.groups), flows.cross)
        ends = [
            (_group_name(flows, group), flows.group_mean(group), shades[group],
             np.mean([rates.flows[flow] for flow in members if flow in rates.flows], axis=0))
            for group, members in flows.groups.items() if any(flow in rates.flows for flow in members)
        ]  # fmt: skip
    else:
        ends = [(flow, means.get(flow), colours[flow], rates.flows[flow]) for flow in order]
    return alt.layer(*_link(drawn, rates.link, rates.middles_s), lines, *_names(drawn, ends, scale)).properties(
        height=scale.height_px
    )


def band_chart(drawn: Drawn, flows: ArmFlows, scale: AxisScales) -> Any:
    """Return a flow of each group over the rounds: median and quartiles at each time."""
    bands = list(flows.bands())
    colours = group_colours(list(flows.groups), flows.cross)
    times_s = (np.arange(flows.band_bins) + 0.5) * flows.band_bin_s
    rows = [
        {
            "group": _group_name(flows, band.group),
            "colour": colours[band.group],
            "tint": mix(colours[band.group], PAPER, 0.82),
            "edge": mix(colours[band.group], PAPER, 0.5),
            "time_s": _rounded(times_s),
            "low": _rounded(band.low),
            "mbps": _rounded(band.middle),
            "high": _rounded(band.high),
        }
        for band in reversed(bands)
    ]
    base = (
        drawn.rows(rows)
        .transform_flatten(["time_s", "low", "mbps", "high"])
        .encode(x=_x(len(times_s) * flows.band_bin_s), detail=alt.Detail("group:N"))
    )
    ends = [(_group_name(flows, band.group), flows.group_mean(band.group), colours[band.group], band.middle)
            for band in bands]  # fmt: skip
    # Nothing transparent, for the PDF's sake: where bands overlap, their edges still show.
    edges = alt.Color("edge:N", scale=None)
    return alt.layer(
        *_link(drawn, flows.typical_link(), times_s),
        base.mark_area(opacity=1, clip=True).encode(
            y=_y(scale.top_mbps, "low"), y2=alt.Y2("high:Q"), fill=alt.Fill("tint:N", scale=None)
        ),
        *(
            base.mark_line(strokeWidth=0.8, opacity=1, clip=True).encode(y=_y(scale.top_mbps, edge), color=edges)
            for edge in ("low", "high")
        ),
        base.mark_line(strokeWidth=1.8, opacity=1, clip=True).encode(
            y=_y(scale.top_mbps), color=alt.Color("colour:N", scale=None), tooltip=alt.Tooltip("group:N")
        ),
        *_names(drawn, ends, scale),
    ).properties(height=scale.height_px)


def _link(drawn: Drawn, link: Numbers | None, times_s: Numbers) -> list[Any]:
    """Return the link's capacity; one line across if it is constant."""
    if link is None or not len(link):
        return []
    style = {"color": INK_SOFT, "strokeDash": [5, 3], "strokeWidth": 1.1, "opacity": 1}
    if np.ptp(link) < 1e-3 * link.max():
        rows = [{"mbps": float(f"{link[0]:.4g}"), "name": f"link {link[0]:.4g} Mbit/s"}]
        base = drawn.rows(rows).encode(y=alt.Y("mbps:Q"))
        name = base.mark_text(align="right", baseline="bottom", dy=-2, fontSize=11, color=INK_SOFT)
        return [base.mark_rule(**style), name.encode(x=alt.XValue("width"), text=alt.Text("name:N"))]
    series = drawn.rows([{"time_s": _rounded(times_s), "mbps": _rounded(link)}])
    steps = series.transform_flatten(["time_s", "mbps"]).mark_line(interpolate="step", **style)
    return [steps.encode(x=alt.X("time_s:Q"), y=alt.Y("mbps:Q"), tooltip=alt.TooltipValue("what the link could carry"))]


End = tuple[str, float | None, str, Numbers]
"""Name, mean in Mbit/s, colour and values of a line."""


def _names(drawn: Drawn, ends: Sequence[End], scale: AxisScales) -> list[Any]:
    """Return each line's name and mean to the right of its end, joined by a leader if it was moved."""
    last = [float(values[-max(1, round(len(values) * _ENDING)) :].mean()) if len(values) else 0.0
            for *_, values in ends]  # fmt: skip
    top, height = scale.top_mbps, scale.height_px
    places = apart([height * (1 - value / top) for value in last], LABEL_PX, 0, height)
    short = abbreviated([name for name, *_ in ends], NAME_CHARACTERS)
    rows = [
        {
            "name": f"{short[name]} {_mean(mean)}" if mean is not None else short[name],
            "colour": colour,
            "from": round(value, 5),
            "to": round(top * (1 - place / height), 5),
        }
        for (name, mean, colour, _), value, place in zip(ends, last, places, strict=True)
    ]
    base = drawn.rows(rows).encode(color=alt.Color("colour:N", scale=None))
    leaders = base.mark_rule(strokeWidth=0.8, opacity=1, xOffset=2, x2Offset=_LEADER_PX)
    names = base.mark_text(align="left", dx=_LEADER_PX + 3, fontSize=11.5)
    return [
        leaders.encode(x=alt.XValue("width"), x2=alt.X2Value("width"), y=alt.Y("from:Q"), y2=alt.Y2("to:Q")),
        names.encode(x=alt.XValue("width"), y=alt.Y("to:Q"), text=alt.Text("name:N")),
    ]


def _mean(mbps: float) -> str:
    """Return a mean with two decimals, so that the means of one figure look alike, and more decimals only below 0.1."""
    return f"{mbps:.2f}" if mbps >= 0.1 else wording.number(mbps, 2)


def _labels(flows: ArmFlows) -> int:
    count = sum(len(members) for members in flows.groups.values())
    return count if count <= MOST_LABELS else len(flows.groups)


def _group_name(flows: ArmFlows, group: str) -> str:
    count = len(flows.groups[group])
    return group if count == 1 else f"{group}, each of {count}"


def _x(end_s: float) -> alt.X:
    axis = alt.Axis(grid=False, tickCount=6, labelFlush=True)
    return alt.X(
        "time_s:Q", title="s since the first start", scale=alt.Scale(domain=[0, end_s or 1], nice=False), axis=axis
    )


def _y(top: float, field: str = "mbps") -> alt.Y:
    axis = alt.Axis(domain=False, ticks=False, tickCount=5)
    return alt.Y(f"{field}:Q", title="Mbit/s", scale=alt.Scale(domain=[0, top], nice=False), axis=axis)


def _rounded(values: Numbers) -> list[float]:
    return [float(f"{value:.4g}") for value in values.tolist()]
