"""Figures and numbers of a certification, from the data of its `certificate.json`; computes nothing but positions."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import altair as alt

from longlook.instruments.certify.rates import Limit, band
from longlook.report import BASELINE, CONTENDER, INK, INK_SOFT, export_figure

_ROUNDS_COLOURS = (BASELINE, CONTENDER, "#23764b")
_WIDTH_PX, _ROW_PX, _HEIGHT_PX = 420, 22, 240
_PADDING_PX = {"left": 90, "right": 5, "top": 5, "bottom": 5}  # a viewer's own font may be wider than the one measured
_LEAST_SHARE = 1e-4  # a logarithmic axis has no zero


def share_text(share: float | None) -> str:
    """Return a share in per cent with as many digits as tell it apart from 0 and from 100 %."""
    if share is None:
        return ""
    pct = 100 * share
    nearest = min(pct, 100 - pct)
    digits = 0 if pct in (0, 100) else 1 if nearest >= 1 else min(4, 1 - math.floor(math.log10(nearest)))
    return f"{pct:.{digits}f} %"


def level_text(nominal: float | None, limit: str | None) -> str:
    """Return a nominal level with what keeps it: `≤ 1.0 %`, or `93.0 % – 98.0 %` of a level of confidence."""
    if nominal is None or limit is None:
        return ""
    if limit == Limit.AT_MOST:
        return f"≤ {share_text(nominal)}"
    return " – ".join(map(share_text, band(nominal)))


def write_figures(certificate: Mapping[str, Any], folder: Path) -> list[Path]:
    """Write SVG, PNG and PDF of each figure that the certificate has data for; return their paths."""
    charts = (
        ("error-rates", _error_rates(certificate)),
        ("coverage", _coverage(certificate)),
        ("power", _power(certificate)),
    )
    return [path for name, chart in charts if chart is not None for path in export_figure(folder, name, chart)]


def _rates(certificate: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [rate for part in certificate["parts"].values() for rate in part["rates"] if rate["part"] != "power"]


def _error_rates(certificate: Mapping[str, Any]) -> Any:
    """Return the intervals of all error rates that have a level, each next to its level or the ends of its band, on a
    logarithmic axis.
    """
    rows = []
    for rate in _rates(certificate):
        if rate["nominal"] is None:
            continue
        share, low, high, event = rate["events"] / rate["trials"], rate["low"], rate["high"], rate["event"]
        least = most = rate["nominal"]
        if rate["limit"] == Limit.NEAR:  # its error is what is left
            share, low, high, event = 1 - share, 1 - high, 1 - low, event.replace("holds", "misses")
            most, least = (1 - end for end in band(rate["nominal"]))
        name = f"{rate['part']}, {rate['procedure']}: {event}"
        values = {"share": share, "low": low, "high": high, "least": least, "most": most}
        rows.append({"name": name, **{at: max(value, _LEAST_SHARE) for at, value in values.items()}})
    if not rows:
        return None
    base = alt.Chart(alt.Data(values=rows))
    y = alt.Y("name:N", title=None, sort=[row["name"] for row in rows], axis=alt.Axis(labelLimit=600))
    axis = alt.Axis(format="~%", values=[0.0001, 0.001, 0.01, 0.05, 0.1, 0.5, 1])
    title = [
        "error rate with its 95 % interval; marks are the level, or the ends of its band",
        "0 % stands at the left end",
    ]
    x = alt.X("low:Q", title=title, scale=alt.Scale(type="log", domain=[_LEAST_SHARE, 1]), axis=axis)
    return (
        base.mark_rule(color=BASELINE, strokeWidth=3).encode(y=y, x=x, x2="high:Q")
        + base.mark_point(color=BASELINE, filled=True, size=60, opacity=1).encode(y=y, x="share:Q")
        + base.mark_tick(color=INK, thickness=2, size=16).encode(y=y, x="least:Q")
        + base.mark_tick(color=INK, thickness=2, size=16).encode(y=y, x="most:Q")
    ).properties(width=_WIDTH_PX, height=_ROW_PX * len(rows), padding=_PADDING_PX)


def _coverage(certificate: Mapping[str, Any]) -> Any:
    rows = [row for part in certificate["parts"].values() for row in part["coverage"]]
    if not rows:
        return None
    rounds = sorted({row["rounds"] for row in rows})
    least = min(0.9, *(row["share"] for row in rows))
    points = (
        alt.Chart(alt.Data(values=[{**row, "label": f"{row['rounds']} rounds"} for row in rows]))
        .mark_point(filled=True, size=45, opacity=1)
        .encode(
            x=alt.X("skewness:Q", title="skewness of the cell's advantages", axis=alt.Axis(format="~g")),
            y=alt.Y(
                "share:Q",
                title="intervals that hold the true effect",
                scale=alt.Scale(domain=[least, 1]),
                axis=alt.Axis(format="~%"),
            ),
            color=_by_rounds([f"{number} rounds" for number in rounds], "label:N"),
        )
    )
    level = certificate["analysis"]["confidence"]
    rule = alt.Chart(alt.Data(values=[{"level": level}])).mark_rule(color=INK_SOFT).encode(y="level:Q")
    return (points + rule).properties(width=_WIDTH_PX, height=_HEIGHT_PX)


_SOURCES = {
    "delay": "longer round trips",
    "delay under loss": "longer round trips, random loss",
    "moved": "loads moved by",
}


def _power(certificate: Mapping[str, Any]) -> Any:
    rows = [row for part in certificate["parts"].values() for row in part["power"]]
    if not rows:
        return None
    rounds = [f"{number} rounds" for number in sorted({row["rounds"] for row in rows})]
    panels = []
    for source, title in _SOURCES.items():
        values = [
            {
                "difference": row["difference_pct"],
                "share": row["rate"]["events"] / row["rate"]["trials"],
                "label": f"{row['rounds']} rounds",
            }
            for row in rows
            if row["source"] == source
        ]
        if values:
            panels.append(_power_panel(values, title, rounds))
    return alt.hconcat(*panels)


def _power_panel(values: list[dict[str, Any]], title: str, rounds: Sequence[str]) -> Any:
    x = alt.X(
        "difference:Q",
        title=f"{title}, %",
        scale=alt.Scale(type="log", domain=[0.4, 6]),
        axis=alt.Axis(values=[0.5, 1, 2, 5]),
    )
    y = alt.Y("share:Q", title="found", scale=alt.Scale(domain=[0, 1]), axis=alt.Axis(format="~%"))
    lines = (
        alt.Chart(alt.Data(values=values))
        .mark_line(point=True, strokeWidth=2)
        .encode(x=x, y=y, color=_by_rounds(rounds, "label:N"))
    )
    rule = alt.Chart(alt.Data(values=[{"level": 0.8}])).mark_rule(color=INK_SOFT).encode(y="level:Q")
    return (lines + rule).properties(width=_WIDTH_PX * 0.7, height=_HEIGHT_PX)


def _by_rounds(labels: Sequence[str], column: str) -> Any:
    return alt.Color(
        column,
        title=None,
        sort=list(labels),
        scale=alt.Scale(domain=list(labels), range=list(_ROUNDS_COLOURS[: len(labels)])),
    )
