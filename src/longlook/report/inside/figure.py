"""The same timeline as a still figure for papers: the whole load, an Altair chart in the look of the others."""

from typing import Any

import altair as alt
import numpy as np

from longlook.explain import Inside, Series, thin_bands, thin_marks, thin_series
from longlook.report.charts import colours
from longlook.report.charts.drawn import Drawn
from longlook.report.inside.content import InsideContent
from longlook.report.inside.panels import PANELS, TRACKS, Panel, PanelLine

WIDTH_PX = 760
VALUES = 2 * WIDTH_PX
"""The number of values of each series, thinned as on the page; the file is drawn at twice the pixels."""

MARKS = WIDTH_PX
BANDS = 1_500
"""The most stretches that a row draws one by one; if there are more, the row draws shares of time."""

BAND_COLOURS = {**colours.VIEWER_COLOURS, **colours.LEDGER_COLOURS, **colours.STATE_COLOURS}
LEGEND_COLUMNS = 6

BINS_S = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0)
RATE_BINS = 150
SCALES = {"bytes": ((1e6, "MB"), (1e3, "KB"), (1.0, "B")), "us": ((1e9, "s"), (1e6, "ms")), "bit/s": ((1e6, "Mbit/s"),)}


def inside_figure(inside: InsideContent, title: str, subtitle: str) -> Drawn:
    """Return the tracks of each arm above panels of all arms, over one axis of time."""
    drawn = Drawn()
    end_s = max(trial.duration_s for trial in inside.shown.values())
    panels = [_panel(drawn, inside, panel, end_s) for panel in PANELS]
    charts = [
        *(_tracks(drawn, inside, arm, end_s) for arm in inside.shown),
        *(panel for panel in panels if panel is not None),
    ]
    seen = {
        name: {kind for trial in inside.shown.values() if name in trial.bands for kind in trial.bands[name].name}
        for name in ("viewer", "ledger", "state")
    }
    legend = [_legend(drawn, [kind for kind in BAND_COLOURS if kind in kinds]) for kinds in seen.values() if kinds]
    heading = alt.TitleParams(f"{title}, from inside", subtitle=[subtitle])
    drawn.chart = alt.vconcat(*legend, *charts, spacing=10, title=heading).resolve_scale(color="independent")
    return drawn


def _x(end_s: float, *, labelled: bool) -> Any:
    axis = alt.Axis(grid=True, tickCount=8, labels=labelled, ticks=labelled, domain=labelled)
    return alt.X(
        "t:Q",
        title="time since the first request, s" if labelled else None,
        axis=axis,
        scale=alt.Scale(domain=[0, end_s], nice=False),
    )


def _panel(drawn: Drawn, inside: InsideContent, panel: Panel, end_s: float) -> Any:
    rows = [
        (arm, line, *_points(line, trial))
        for arm, trial in inside.shown.items()
        for line in panel.lines
        if line.series in trial.series
    ]
    rows = [row for row in rows if len(row[2])]
    if not rows:
        return None
    largest = max(float(np.max(values)) for *_, values in rows)
    factor, unit = next((scale for scale in SCALES[panel.unit] if largest >= scale[0]), SCALES[panel.unit][-1])
    layers = []
    for arm, line, times, values in sorted(rows, key=lambda row: row[1].style != "points"):
        points = [
            {"t": round(t, 6), "v": float(f"{v / factor:.6g}")}
            for t, v in zip(times.tolist(), values.tolist(), strict=True)
        ]
        y = alt.Y("v:Q", title=[panel.title, unit], axis=alt.Axis(domain=False, ticks=False, tickCount=4))
        layers.append(
            _mark(drawn.rows(points), line, inside.colours[arm]).encode(
                x=_x(end_s, labelled=panel.name == _last(inside)), y=y
            )
        )
    return alt.layer(*layers).properties(width=WIDTH_PX, height=round(panel.height * 0.7))


def _last(inside: InsideContent) -> str:
    return [
        panel.name
        for panel in PANELS
        if any(line.series in trial.series for line in panel.lines for trial in inside.shown.values())
    ][-1]


def _mark(chart: Any, line: PanelLine, colour: str) -> Any:
    if line.style == "points":
        return chart.mark_point(filled=True, size=3, opacity=1, color=_pale(colour), shape="square")
    dash = [4, 3] if line.style == "dash" else [1, 0]
    width = {"step": 1.3, "rate": 1.2}.get(line.style, 0.8)
    return chart.mark_line(interpolate="step-after", strokeWidth=width, strokeDash=dash, color=colour)


def _pale(colour: str) -> str:
    """Return a colour mixed with paper: transparency would change the order of a PDF's parts."""
    parts = [int(colour[place : place + 2], 16) for place in (1, 3, 5)]
    return "#" + "".join(f"{round(255 - (255 - part) * 0.4):02x}" for part in parts)


def _points(line: PanelLine, trial: Inside) -> tuple[Any, Any]:
    series = trial.series[line.series]
    if line.style == "rate":
        return _rate(series, trial.duration_s)
    thin = thin_series(series, VALUES)
    within = (thin.time_ns >= 0) & (thin.time_ns <= trial.duration_s * 1e9)
    return thin.time_ns[within] / 1e9, thin.value[within].astype(np.float64)


def _rate(series: Series, duration_s: float) -> tuple[Any, Any]:
    """Return bit/s over bins of one width."""
    bin_s = next((width for width in BINS_S if duration_s / width <= RATE_BINS), duration_s / RATE_BINS)
    edges = np.append(np.arange(0.0, duration_s, bin_s), duration_s)
    place = np.searchsorted(series.time_ns, edges * 1e9, side="right") - 1
    so_far = np.where(place >= 0, series.value[np.maximum(place, 0)], 0)
    return edges[:-1], np.diff(so_far) * 8 / np.maximum(np.diff(edges), 1e-9)


def _tracks(drawn: Drawn, inside: InsideContent, arm: str, end_s: float) -> Any:
    """Return the tracks of one arm: its states, limits and losses."""
    trial = inside.shown[arm]
    labels = [label for name, label, _ in TRACKS if name in trial.bands or name in trial.marks]
    y = alt.Y(
        "track:N",
        title=None if arm in inside.flows else inside.content.short_label(arm),
        scale=alt.Scale(domain=labels or ["none"]),
        axis=alt.Axis(domain=False, ticks=False, titleColor=inside.colours[arm]),
    )
    layers = []
    for name, label, _ in TRACKS:
        if name in trial.bands:
            bands = thin_bands(trial.bands[name], BANDS)
            rows = [
                {
                    "t": round(bands.start_ns[i] / 1e9, 6),
                    "to": round(bands.end_ns[i] / 1e9, 6),
                    "track": label,
                    "colour": BAND_COLOURS.get(bands.name[i], "#8d8881"),
                }
                for i in range(len(bands.name))
            ]
            chart = drawn.rows(rows).mark_rect(height=11, clip=True)
            layers.append(
                chart.encode(x=_x(end_s, labelled=False), x2="to:Q", y=y, color=alt.Color("colour:N", scale=None))
            )
        elif name in trial.marks:
            times = thin_marks(trial.marks[name], MARKS).time_ns / 1e9
            rows = [{"t": round(time, 6), "track": label} for time in times.tolist()]
            chart = drawn.rows(rows).mark_tick(thickness=0.7, bandSize=9, color=colours.INK, opacity=1, clip=True)
            layers.append(chart.encode(x=_x(end_s, labelled=False), y=y))
    if not layers:
        layers.append(drawn.rows([]).mark_tick().encode(x=_x(end_s, labelled=False), y=y))
    tracks = alt.layer(*layers).properties(width=WIDTH_PX, height=max(1, len(labels)) * 14)
    if arm not in inside.flows:
        return tracks
    # Names of many flows beside their few rows would be longer than these are high.
    return tracks.properties(title=alt.TitleParams(arm, fontSize=11, offset=4, color=inside.colours[arm]))


def _legend(drawn: Drawn, kinds: list[str]) -> Any:
    rows = [
        {
            "x": index % LEGEND_COLUMNS,
            "y": index // LEGEND_COLUMNS,
            "name": kind.replace("_", " ").replace("bbr", "BBR"),
            "colour": BAND_COLOURS[kind],
        }
        for index, kind in enumerate(kinds)
    ]
    lines = -(-len(kinds) // LEGEND_COLUMNS)
    x = alt.X("x:Q", axis=None, scale=alt.Scale(domain=[0, LEGEND_COLUMNS], nice=False))
    y = alt.Y("y:Q", axis=None, scale=alt.Scale(domain=[lines - 0.5, -0.5], nice=False))
    base = drawn.rows(rows).encode(x=x, y=y)
    squares = base.mark_point(filled=True, shape="square", size=90, opacity=1).encode(
        color=alt.Color("colour:N", scale=None)
    )
    names = base.mark_text(align="left", dx=9, fontSize=10, color=colours.INK_SOFT).encode(text="name:N")
    return alt.layer(squares, names).properties(width=WIDTH_PX, height=14 * lines)
