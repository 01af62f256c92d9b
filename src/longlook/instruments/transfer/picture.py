"""The picture of one trace: classes of time, sequence, windows, round trips and streams over one axis of time."""

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import altair as alt
import numpy as np

from longlook.core import InputError
from longlook.explain import Bands, Integers, Series, thin_bands, thin_series
from longlook.instruments.transfer.answer import TransferAnswer
from longlook.instruments.transfer.classes import TimeClass
from longlook.instruments.transfer.recording import APPLICATION
from longlook.instruments.transfer.show import summary
from longlook.report import BASELINE, CONTENDER, INK_SOFT, RULE, colours, export_figure

WIDTH_PX = 760
_VALUES = 2 * WIDTH_PX
_BANDS = 1_000
_MOST_STREAMS = 24
_ENDINGS = ("svg", "png", "pdf")
_COLOURS = {
    **{name: colours.LEDGER_COLOURS[name] for name in map(str, TimeClass) if name in colours.LEDGER_COLOURS},
    TimeClass.PATH: colours.LEDGER_COLOURS["link_useful"],
    TimeClass.ARRIVING: colours.LEDGER_COLOURS["link_overhead"],
    TimeClass.SENDING: colours.LEDGER_COLOURS["cpu"],
    TimeClass.PEER_IDLE: colours.LEDGER_COLOURS["client_idle"],
}


def write_picture(answers: Sequence[TransferAnswer], out: Path) -> Path:
    """Draw each trace below the other and write the drawing; raise InputError for another ending or place."""
    ending = out.suffix.removeprefix(".")
    if ending not in _ENDINGS:
        raise InputError(f"{out}: is no kind of picture", "write a name that ends in .svg, .png or .pdf")
    if not out.absolute().parent.is_dir():
        raise InputError(f"{out}: no such folder", f"make it first: mkdir -p {out.absolute().parent}")
    charts = [_trace(answer) for answer in answers]
    with tempfile.TemporaryDirectory(prefix="longlook-picture-") as folder:
        export_figure(Path(folder), "trace", alt.vconcat(*charts, spacing=24).resolve_scale(color="independent"))
        out.write_bytes((Path(folder) / f"trace.{ending}").read_bytes())
    return out


def _trace(answer: TransferAnswer) -> Any:
    recording, end_s = answer.recording, answer.intervals.end_ns[-1] / 1e9
    panels = [
        _classes(answer, end_s),
        _sequence(answer, end_s),
        _windows(answer, end_s),
        _round_trips(answer, end_s),
        _streams(answer, end_s),
    ]
    shown = [panel for panel in panels if panel is not None]
    title = alt.TitleParams(
        f"{Path(recording.name).name}: {recording.producer}, {recording.end} end", subtitle=[summary(answer)]
    )
    return alt.vconcat(*shown, spacing=8, title=title).resolve_scale(color="independent")


def _x(end_s: float) -> Any:
    return alt.X(
        "t:Q", title="time since the first packet, s", axis=alt.Axis(tickCount=8), scale=alt.Scale(domain=[0, end_s])
    )


def _classes(answer: TransferAnswer, end_s: float) -> Any:
    own = answer.intervals
    names = tuple(map(str, TimeClass))
    whole = Bands(own.start_ns, own.end_ns, tuple(names[place] for place in own.place.tolist()), ("",) * len(own.place))
    bands = thin_bands(whole, _BANDS)
    rows = [
        {"t": start / 1e9, "to": end / 1e9, "class": name}
        for start, end, name in zip(bands.start_ns.tolist(), bands.end_ns.tolist(), bands.name, strict=True)
    ]
    used = [name for name in names if name in {row["class"] for row in rows}]
    scale = alt.Scale(domain=used, range=[_COLOURS[TimeClass(name)] for name in used])
    legend = alt.Legend(orient="top", title=None, columns=6, columnPadding=20)
    colour = alt.Color("class:N", scale=scale, legend=legend)
    return (
        _chart(rows)
        .mark_rect(height=22, clip=True)
        .encode(x=_x(end_s), x2="to:Q", color=colour)
        .properties(width=WIDTH_PX, height=26)
    )


def _sequence(answer: TransferAnswer, end_s: float) -> Any:
    data, recording = answer.case.data, answer.recording
    sent = Series.of(data.time_ns, np.cumsum(np.maximum(data.size_bytes, 0)))
    layers = [_steps({"sent" if recording.sends else "received": sent}, end_s, [CONTENDER], 1e6, "MB of data")]
    lost = recording.lost.take(recording.lost.space == APPLICATION)
    if recording.sends and len(lost):
        at = np.searchsorted(sent.time_ns, lost.time_ns, side="right") - 1
        rows = [
            {"t": time / 1e9, "v": float(sent.value[max(place, 0)]) / 1e6}
            for time, place in zip(lost.time_ns[:_VALUES].tolist(), at.tolist(), strict=False)
        ]
        layers.append(_chart(rows).mark_point(shape="cross", color=INK_SOFT, size=24).encode(x=_x(end_s), y="v:Q"))
    return alt.layer(*layers).properties(width=WIDTH_PX, height=150)


def _windows(answer: TransferAnswer, end_s: float) -> Any:
    figures = answer.recording.figures
    series = {
        "congestion window": Series.of(figures.cwnd_bytes.time_ns, figures.cwnd_bytes.value),
        "in flight": Series.of(figures.in_flight_bytes.time_ns, figures.in_flight_bytes.value),
    }
    known = {name: each for name, each in series.items() if len(each.time_ns)}
    if not known:
        return None
    return _steps(known, end_s, [CONTENDER, BASELINE][: len(known)], 1e3, "KB").properties(width=WIDTH_PX, height=130)


def _round_trips(answer: TransferAnswer, end_s: float) -> Any:
    figures, trips = answer.recording.figures, answer.case.trips
    series = {
        "measured": Series.of(trips.sent_ns, trips.length_ns),
        "smoothed": Series.of(figures.smoothed_rtt_ns.time_ns, figures.smoothed_rtt_ns.value),
    }
    known = {name: each for name, each in series.items() if len(each.time_ns)}
    if not known:
        return None
    drawn = _steps(known, end_s, [BASELINE, CONTENDER][-len(known) :], 1e6, "round trip, ms")
    return drawn.properties(width=WIDTH_PX, height=110)


def _streams(answer: TransferAnswer, end_s: float) -> Any:
    """Return when parts of each stream arrived: how requests and answers share the connection."""
    streams = answer.recording.streams
    names, counts = np.unique(streams.stream, return_counts=True)
    if len(names) < 2:
        return None
    shown = np.sort(names[np.argsort(-counts, kind="stable")[:_MOST_STREAMS]])
    rows = []
    for name in shown.tolist():
        times = _thinned(streams.time_ns[streams.stream == name], _VALUES // len(shown))
        rows += [{"t": time / 1e9, "stream": str(name)} for time in times.tolist()]
    order = [str(name) for name in shown.tolist()]
    y = alt.Y("stream:N", title="stream", sort=order)
    drawn = _chart(rows).mark_tick(color=BASELINE, thickness=1).encode(x=_x(end_s), y=y)
    return drawn.properties(width=WIDTH_PX, height=max(40, 10 * len(order)))


def _thinned(times_ns: Integers, most: int) -> Integers:
    places = np.unique(np.linspace(0, len(times_ns) - 1, min(len(times_ns), max(most, 2))).astype(np.int64))
    return times_ns[places]


def _steps(series: dict[str, Series], end_s: float, drawn_in: Sequence[str], factor: float, title: str) -> Any:
    rows = []
    for name, each in series.items():
        thin = thin_series(each, _VALUES)
        rows += [
            {"t": at / 1e9, "v": value / factor, "series": name}
            for at, value in zip(thin.time_ns.tolist(), thin.value.tolist(), strict=True)
            if 0 <= at <= end_s * 1e9
        ]
    colour = alt.Color(
        "series:N",
        scale=alt.Scale(domain=list(series), range=list(drawn_in)),
        legend=alt.Legend(orient="right", title=None) if len(series) > 1 else None,
    )
    y = alt.Y("v:Q", title=title, axis=alt.Axis(tickCount=4, gridColor=RULE))
    return _chart(rows).mark_line(interpolate="step-after", strokeWidth=1).encode(x=_x(end_s), y=y, color=colour)


def _chart(rows: list[dict[str, Any]]) -> Any:
    return alt.Chart(alt.Data(values=rows))
