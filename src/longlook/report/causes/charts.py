"""Charts of an answer: where both arms' time went, the steps from one load to the other, shares of the gap, doses."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt

from longlook.explain import Answer, Dose, Share
from longlook.report import wording
from longlook.report.causes.waterfall import class_name, load_ms, ordered_classes, parts, steps
from longlook.report.charts import colours
from longlook.report.charts.theme import unit_axis
from longlook.report.content import printable
from longlook.report.contrasts.overview import SIGNED
from longlook.report.layout import abbreviated

WIDTH_PX = 640
BAR_PX, STEP_PX, SHARE_PX = 46, 25, 30
LABEL_CHARACTERS = 34
LEGEND_COLUMNS = 5
LETTER_PX = 6.0
"""The width of a letter of a chart's labels at most, on average."""

LOWEST_PCT, HIGHEST_PCT = -150.0, 250.0
"""Shares of a gap beyond these are not drawn; tables beside the charts have them."""

_OTHERS = "#8d8881"
_FITS = f"length(datum.class) * {LETTER_PX} + 6 <= datum.share * width"


@dataclass(frozen=True)
class ShareRow:
    """One row of a chart of shares; `is_filled` says that its point is filled."""

    label: str
    share: Share
    colour: str = colours.INK
    is_filled: bool = True


def short_label(label: str) -> str:
    """Return an arm's label without what it has in brackets."""
    return printable(label.split(" (", maxsplit=1)[0] or label)


def arm_labels(answer: Answer) -> tuple[str, str]:
    """Return the labels of the losing and the winning arm, without their brackets if they differ without them."""
    short = short_label(answer.loser_label), short_label(answer.winner_label)
    return short if short[0] != short[1] else (printable(answer.loser_label), printable(answer.winner_label))


def ledger_chart(answer: Answer, width: int | str, *, legend: bool) -> Any:
    """Return the time of both arms as bars on one axis, cut into classes; parts with room have their names in them."""
    ledger_ms = answer.ledger_ms or {}
    loser, winner = arm_labels(answer)
    rows = [(winner, ledger_ms[answer.winner]), (loser, ledger_ms[answer.loser])]
    longest = max(load_ms(classes) for _, classes in rows)
    values = [
        {
            "row": number,
            "arm": label,
            "class": class_name(part.name),
            "start": part.start_ms / 1e3,
            "end": part.end_ms / 1e3,
            "middle": (part.start_ms + part.end_ms) / 2e3,
            "time": wording.quantity((part.end_ms - part.start_ms) / 1e3, "s"),
            "ink": colours.text_colour(colours.LEDGER_COLOURS[part.name]),
            "share": (part.end_ms - part.start_ms) / longest,
        }
        for number, (label, classes) in enumerate(rows)
        for part in parts(classes)
    ]
    base = alt.Chart(alt.Data(values=values)).encode(y=_rows_axis([label for label, _ in rows]))
    x = alt.X("start:Q", title="time of the load, mean over rounds", axis=unit_axis("s", tickCount=7, grid=False))
    tooltip = [alt.Tooltip(f"{name}:N") for name in ("arm", "class", "time")]
    return alt.layer(
        base.mark_bar(height=BAR_PX - 12, stroke="#ffffff", strokeWidth=0.6).encode(
            x=x, x2="end:Q", color=_class_colours(ledger_ms, legend=legend), tooltip=tooltip
        ),
        base.mark_text(fontSize=12).encode(
            x="middle:Q",
            text="class:N",
            fill=alt.Fill("ink:N", scale=None),
            opacity=alt.condition(_FITS, alt.value(1), alt.value(0)),
        ),
    ).properties(width=width, height=BAR_PX * len(rows))


def _class_colours(ledger_ms: Mapping[str, Mapping[str, float]], *, legend: bool) -> Any:
    """Return the colour of each class that is there, with a legend that names all, if there is to be one."""
    names = ordered_classes(ledger_ms)
    scale = alt.Scale(
        domain=[class_name(name) for name in names], range=[colours.LEDGER_COLOURS[name] for name in names]
    )
    key = alt.Legend(title=None, orient="top", columns=LEGEND_COLUMNS) if legend else None
    return alt.Color("class:N", scale=scale, legend=key)


def waterfall_chart(answer: Answer, width: int | str) -> Any:
    """Return the steps from the winning arm's mean load, at the top, to the losing arm's, at the bottom."""
    ledger_ms = answer.ledger_ms or {}
    loser, winner = arm_labels(answer)
    found = steps(answer)
    ends = [(winner, load_ms(ledger_ms[answer.winner])), (loser, load_ms(ledger_ms[answer.loser]))]
    bars = [
        {
            "row": number,
            "class": step.label,
            "start": step.start_ms / 1e3,
            "end": step.end_ms / 1e3,
            "right": max(step.start_ms, step.end_ms) / 1e3,
            "shown": signed_time(step.change_ms),
            "colour": colours.LEDGER_COLOURS.get(step.name, _OTHERS),
        }
        for number, step in enumerate(found, start=1)
    ]
    totals = [
        {"row": row, "at": spent / 1e3, "shown": f"{wording.quantity(spent / 1e3, 's')}", "arm": label}
        for row, (label, spent) in zip((0, len(found) + 1), ends, strict=True)
    ]
    joins = [{"row": number, "next": number + 1, "at": at / 1e3} for number, at in enumerate(_levels(answer))]
    y = _rows_axis([winner, *(step.label for step in found), loser])
    x = alt.X(
        "start:Q",
        title="mean load; the axis does not begin at 0",
        scale=alt.Scale(zero=False, nice=False, padding=34),
        axis=unit_axis("s", tickCount=6, grid=True),
    )
    changed = alt.Chart(alt.Data(values=bars)).encode(y=y)
    whole = alt.Chart(alt.Data(values=totals)).encode(y=y)
    tooltip = [alt.Tooltip("class:N"), alt.Tooltip("shown:N", title="longer in the arm that lost by")]
    return alt.layer(
        alt.Chart(alt.Data(values=joins))
        .mark_rule(color="#b5b0a8", strokeWidth=1)
        .encode(x=alt.X("at:Q"), y=alt.Y("row:O"), y2="next:O"),
        changed.mark_bar(height=STEP_PX - 8, stroke="#77736d", strokeWidth=0.5).encode(
            x=x, x2="end:Q", color=alt.Color("colour:N", scale=None), tooltip=tooltip
        ),
        changed.mark_text(align="left", dx=6, fontSize=12, color=colours.INK).encode(x="right:Q", text="shown:N"),
        whole.mark_tick(color=colours.INK, opacity=1, thickness=3, size=STEP_PX - 6).encode(x="at:Q"),
        whole.mark_text(align="left", dx=7, fontSize=12, color=colours.INK).encode(x="at:Q", text="shown:N"),
    ).properties(width=width, height=STEP_PX * (len(found) + 2))


def _levels(answer: Answer) -> list[float]:
    """Return the times at which each row of a waterfall is joined to the next."""
    found = steps(answer)
    return [found[0].start_ms, *(step.end_ms for step in found)] if found else []


def signed_time(change_ms: float) -> str:
    """Return a difference of times with its sign: `+908 ms`."""
    text = wording.quantity(change_ms / 1e3, "s")
    return f"+{text}" if change_ms > 0 else text


def waterfall_figure(answer: Answer, title: str, about: Sequence[str]) -> Any:
    """Return both bars above the waterfall, whose rows name their colours, as one figure to export."""
    charts = [ledger_chart(answer, WIDTH_PX, legend=True)]
    if steps(answer):
        charts.append(waterfall_chart(answer, WIDTH_PX))
    heading = alt.TitleParams(printable(title), subtitle=[printable(line) for line in about])
    return alt.vconcat(*charts, spacing=26, title=heading).resolve_scale(x="independent", y="independent")


def share_chart(rows: Sequence[ShareRow], width: int | str) -> Any:
    """Return shares of the gap as points with intervals; at 0 % nothing closes, at 100 % all of it."""
    names = abbreviated([row.label for row in rows], LABEL_CHARACTERS)
    lows = [row.share.share_pct if row.share.ci_low_pct is None else row.share.ci_low_pct for row in rows]
    highs = [row.share.share_pct if row.share.ci_high_pct is None else row.share.ci_high_pct for row in rows]
    values = [
        {
            "row": number,
            "share": row.share.share_pct,
            "low": lows[number],
            "high": highs[number],
            "shown": f"{wording.points(row.share.share_pct)} %",
            "interval": wording.interval_pct(row.share.ci_low_pct, row.share.ci_high_pct),
            "change": row.label,
            "colour": row.colour,
            "fill": row.colour if row.is_filled else "#ffffff",
        }
        for number, row in enumerate(rows)
    ]
    low = max(min(0.0, *lows), LOWEST_PCT)
    high = min(max(100.0, *highs), HIGHEST_PCT)
    marks = alt.Chart(alt.Data(values=[{"at": 0}, {"at": 100}]))
    base = alt.Chart(alt.Data(values=values)).encode(y=_rows_axis([printable(names[row.label]) for row in rows]))
    colour = alt.Color("colour:N", scale=None)
    x = alt.X(
        "share:Q",
        title="share of the gap that closes",
        scale=alt.Scale(domain=[low, high], nice=False, padding=16),
        axis=alt.Axis(labelExpr=SIGNED.replace("'+'", "''"), tickCount=6, domain=False, grid=False),
    )
    tooltip = [alt.Tooltip(f"{name}:N") for name in ("change", "shown", "interval")]
    return alt.layer(
        marks.mark_rule(color="#b5b0a8").encode(x="at:Q"),
        base.mark_rule(strokeWidth=3, clip=True).encode(x=alt.X("low:Q"), x2="high:Q", color=colour),
        base.mark_point(size=90, opacity=1, strokeWidth=1.8, clip=True).encode(
            x=x, stroke=colour, fill=alt.Fill("fill:N", scale=None), tooltip=tooltip
        ),
    ).properties(width=width, height=SHARE_PX * len(rows))


def dose_chart(doses: Sequence[Dose], width: int | str) -> Any:
    """Return by how much each value of a dose brings the arms closer."""
    values = [{"dose": dose.value, "closed": dose.closed, "change": dose.change} for dose in doses]
    unit = doses[0].unit
    base = alt.Chart(alt.Data(values=values)).encode(
        x=alt.X(
            "dose:Q",
            title="dose",
            scale=alt.Scale(zero=False, nice=False, padding=14),
            axis=alt.Axis(values=sorted({dose.value for dose in doses}), format=",.4~r", grid=False, labelOverlap=True),
        ),
        y=alt.Y(
            "closed:Q",
            title="arms get closer by" if unit == "%" else f"arms get closer by, {unit}",
            axis=alt.Axis(labelExpr=SIGNED if unit == "%" else "datum.label", tickCount=4, domain=False, ticks=False),
        ),
    )
    tooltip = [alt.Tooltip("change:N"), alt.Tooltip("closed:Q", format="+.3~r", title=f"closer by, {unit}")]
    return alt.layer(
        base.mark_line(color="#9a958d", strokeWidth=1.4),
        base.mark_point(filled=True, size=60, opacity=1, color=colours.INK).encode(tooltip=tooltip),
    ).properties(width=width, height=130)


def _rows_axis(labels: Sequence[str]) -> Any:
    """Return the rows of a chart by their number: labels may be equal."""
    axis = alt.Axis(
        labelExpr=f"{json.dumps(labels)}[datum.value]", domain=False, ticks=False, grid=False, labelPadding=8
    )
    return alt.Y("row:O", title=None, axis=axis)
