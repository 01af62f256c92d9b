"""The page of a calibration in real time: one HTML file that opens from disk, with charts of delay error and
spacing.
"""

import math
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import altair as alt

from longlook.instruments.calibrate.link.live import Curve, LiveCalibration
from longlook.report import (
    BASELINE,
    CONTENDER,
    PAGE_FONT,
    asset,
    embedded_json,
    export_figure,
    specification,
    template,
    vega,
)

PAGE = "index.html"
_COLOURS = (CONTENDER, BASELINE, "#23764b", "#8a6d00")
_LEAST_US = 0.1  # a logarithmic axis has no zero


def write_page(result: LiveCalibration, out: Path) -> Path:
    """Write `index.html` and the figures into a folder; return the page's path."""
    figures = dict(_figures(result, width=640))
    for name, chart in figures.items():
        export_figure(out / "figures", name, chart)
    specs = {name: _in_page(chart) for name, chart in _figures(result, width="container")}
    page = template("instruments/calibrate/page.html.j2").render(
        result=result,
        facts=facts(result),
        rows=[*_rows(result)],
        has_netem=any(row.netem is not None for row in result.rows),
        css=asset("assets/report.css"),
        vega=vega(),
        data=embedded_json(specs),
    )
    path = out / PAGE
    path.write_text(page, encoding="utf-8")
    return path


def facts(result: LiveCalibration) -> str:
    """Return the conditions of the calibration in one sentence."""
    priority = "real-time priority" if result.realtime else "no real-time priority, so busy times cost accuracy"
    day = time.strftime("%Y-%m-%d", time.gmtime(result.made_unix_s))
    return (
        f"{day}, {result.system}, {result.cpus} CPUs, load {result.load:g} before it began, {priority}; "
        f"link emulator {result.link[:12]}."
    )


def number(value: float | None, tolerance: float) -> str:
    """Return a value with one digit more than the tolerance begins with; further digits have no meaning."""
    if value is None:
        return "–"
    digits = 1 - math.floor(math.log10(tolerance)) if 0 < tolerance < 1 else 1 if 0 < abs(value) < 10 else 0
    return f"{value:.{digits}f}"


def _rows(result: LiveCalibration) -> Iterator[dict[str, Any]]:
    shown = ""
    for row in result.rows:
        yield {
            "case": row.case if row.case != shown else "",
            "quantity": row.quantity,
            "unit": row.unit,
            "reason": row.reason,
            "passed": row.passed,
            **{name: number(getattr(row, name), row.tolerance) for name in ("theory", "tolerance", "probe", "netem")},
            "log": number(row.log, row.log_tolerance or row.tolerance),
        }
        shown = row.case


def _figures(result: LiveCalibration, width: int | str) -> Iterator[tuple[str, Any]]:
    for kind, title in (("delay", "error of the delay, µs"), ("spacing", "error of the spacing, µs")):
        curves = [curve for curve in result.curves if curve.kind == kind]
        if curves:
            yield kind, _distribution(curves, title).properties(width=width, height=320)
    if result.aa:
        yield "aa", _differences(result).properties(width=width, height=120)


def _distribution(curves: list[Curve], title: str) -> Any:
    """Return a chart of shares of packets, on an axis that gives the last per cent as much room as the first."""
    values = [
        {"name": curve.name, "error": max(value, _LEAST_US), "beyond": max(1 - share, 1e-4), "share": share}
        for curve in curves
        for share, value in zip(curve.shares, curve.values_us, strict=True)
    ]
    names = [curve.name for curve in curves]
    return (
        alt.Chart(alt.Data(values=values))
        .mark_line(strokeWidth=2, interpolate="step-after")
        .encode(
            x=alt.X("error:Q", title=title, scale=alt.Scale(type="log"), axis=alt.Axis(format="~g", tickCount=6)),
            y=alt.Y(
                "beyond:Q",
                title="share of packets beyond",
                scale=alt.Scale(type="log", domain=[3e-4, 1]),
                axis=alt.Axis(format="~%", values=[1, 0.1, 0.01, 0.001]),
            ),
            color=alt.Color(
                "name:N", title=None, sort=names, scale=alt.Scale(domain=names, range=list(_COLOURS[: len(names)]))
            ),
            tooltip=[alt.Tooltip("name:N"), alt.Tooltip("error:Q", format=".1f"), alt.Tooltip("share:Q", format=".4f")],
        )
    )


def _differences(result: LiveCalibration) -> Any:
    values = [
        {"protocol": protocol, "difference": value}
        for protocol in ("h2", "h3")
        for value in (result.aa or {})[protocol]["differences_pct"]
    ]
    return (
        alt.Chart(alt.Data(values=values))
        .mark_tick(thickness=2, size=26)
        .encode(
            x=alt.X("difference:Q", title="difference of page load time, second against first, %"),
            y=alt.Y("protocol:N", title=None),
            color=alt.Color(
                "protocol:N", legend=None, scale=alt.Scale(domain=["h2", "h3"], range=[BASELINE, CONTENDER])
            ),
        )
    )


def _in_page(chart: Any) -> dict[str, Any]:
    return {**specification(chart, PAGE_FONT), "autosize": {"type": "fit-x", "contains": "padding"}}
