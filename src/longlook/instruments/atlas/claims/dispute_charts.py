"""The chart of a dispute: our values with their intervals over the levels of a factor, beside the sources'
positions.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

from longlook.instruments.atlas.claims.dispute import (
    PREDICTED,
    Dispute,
    DisputeEvidence,
    Holds,
    judged_by,
    unit_of,
)
from longlook.instruments.atlas.claims.dispute_judge import JudgedEvidence, Point
from longlook.instruments.atlas.claims.survey import SurveyedDispute
from longlook.report import SIGNED, colours, unit_axis, wording

HEIGHT_PX = 210
EXPORTED_PX = 420
UNDECIDED = "#9a958d"
SEVERAL = colours.INK
"""The colour of levels at which several positions hold, or none does."""


def position_colours(dispute: Dispute) -> dict[str, str]:
    """Return a colour for each position, and grey for what is predicted of controls; blue and red mean baseline and
    contender everywhere, so these are others.
    """
    names = [position.name for position in dispute.positions]
    return {**colours.arm_colours(names, None, None), PREDICTED: UNDECIDED}


def dispute_figure(item: SurveyedDispute, titles: Sequence[str]) -> Any:
    """Return all pieces of evidence that have values as one figure to export, or None without any."""
    panels = [
        evidence_chart(judged, item.dispute, EXPORTED_PX).properties(
            title=alt.TitleParams(title, fontSize=13, offset=8, subtitle=judged.conclusion.text)
        )
        for judged, title in zip(item.evidence, titles, strict=True)
        if has_values(judged)
    ]
    if not panels:
        return None
    title = alt.TitleParams(item.dispute.question, subtitle=item.conclusion.text)
    return alt.vconcat(_key(item.dispute), alt.concat(*panels, columns=2, spacing=26), title=title, spacing=26)


def _key(dispute: Dispute) -> Any:
    """Return the positions with their sources and colours, a line each."""
    shades = position_colours(dispute)
    rows = [
        {"line": number, "text": f"{position.name}: {position.source}", "colour": shades[position.name]}
        for number, position in enumerate(dispute.positions)
    ]
    base = alt.Chart(alt.Data(values=rows)).encode(
        y=alt.Y("line:O", axis=None), color=alt.Color("colour:N", scale=None), x=alt.value(6)
    )
    points = base.mark_point(filled=True, opacity=1, size=70)
    texts = base.mark_text(align="left", dx=12, fontSize=12).encode(text="text:N")
    return alt.layer(points, texts).properties(width=EXPORTED_PX, height=20 * len(rows))


def has_values(judged: JudgedEvidence) -> bool:
    """Return whether a piece of evidence has a value to draw."""
    return any(point.value is not None for point in judged.points)


def evidence_chart(judged: JudgedEvidence, dispute: Dispute, width: int | str) -> Any:
    """Return a point for each level in the colour of the position that holds there; dashed lines are bounds of
    positions.
    """
    evidence, unit = judged.evidence, unit_of(judged.evidence)
    shades = position_colours(dispute)
    values = [_row(judged, number, unit, shades) for number in range(len(judged.points))]
    drawn = [row for row in values if row["value"] is not None]
    bounds = _bounds(judged_by(evidence, dispute.positions), shades)
    y = alt.Y(
        "value:Q",
        title=_axis_title(evidence, unit),
        scale=alt.Scale(domain=_domain(drawn, [row["value"] for row in bounds]), nice=False),
        axis=alt.Axis(labelExpr=SIGNED, domain=False, tickCount=5)
        if evidence.contrast and unit == "%"
        else unit_axis(unit, domain=False, tickCount=5),
    )
    base = alt.Chart(alt.Data(values=values)).encode(
        x=alt.X(
            "level:N",
            sort=list(evidence.levels),
            scale=alt.Scale(domain=list(evidence.levels)),
            title=evidence.factor,
            axis=alt.Axis(
                labelAngle=0, labelFontSize=11, labelOverlap="greedy", labelSeparation=4, domain=False, ticks=False
            ),
        )
    )
    colour = alt.Color("colour:N", scale=None)
    tooltip = [alt.Tooltip(f"{name}:N", title=name) for name in ("level", "ours", "holds", "n")]
    return alt.layer(
        alt.Chart(alt.Data(values=bounds))
        .mark_rule(strokeDash=[5, 4], strokeWidth=1.4)
        .encode(y="value:Q", color=colour, tooltip=alt.Tooltip("bound:N", title="position")),
        base.mark_line(color="#c9c5bd", strokeWidth=1.2).encode(y=y),
        base.mark_rule(strokeWidth=2.2).encode(y="low:Q", y2="high:Q", color=colour),
        base.mark_point(filled=True, opacity=1, size=70).encode(
            y=y, color=colour, shape=alt.Shape("shape:N", scale=None), tooltip=tooltip
        ),
        base.mark_text(fontSize=11, dy=-12).encode(y="top:Q", text="shown:N", color=colour),
    ).properties(width=width, height=HEIGHT_PX)


def _axis_title(evidence: DisputeEvidence, unit: str) -> str:
    if not evidence.contrast:
        return evidence.metric.replace("_", " ")
    return f"effect{'' if unit == '%' else f' in {unit}'} (positive: contender better)"


def shown(point: Point, unit: str, *, signed: bool) -> str:
    """Return a value as it is written at its point and in the table."""
    return wording.signed(point.value, unit) if signed else wording.quantity(point.value, unit)


def shown_interval(point: Point, unit: str, *, signed: bool) -> str:
    """Return the interval of a value as text."""
    if point.low is None or point.high is None:
        return wording.DASH
    if signed:
        return wording.interval_with(point.low, point.high, unit)
    return f"{wording.quantity(point.low, unit)} to {wording.quantity(point.high, unit)}"


def _row(judged: JudgedEvidence, number: int, unit: str, shades: Mapping[str, str]) -> dict[str, Any]:
    point, answer = judged.points[number], judged.answer(number)
    signed = judged.evidence.contrast is not None
    names = [name for name in shades if answer and name in answer]
    if answer is None:
        without = (
            "undecided, or no position applies" if judged.evidence.control is None else "a control decides nothing"
        )
        colour, shape, holds = UNDECIDED, "circle", point.missing or without
    else:
        colour = shades[names[0]] if len(names) == 1 else SEVERAL
        shape, holds = ("circle" if names else "cross"), " and ".join(names) or "none"
    return {
        "level": point.level,
        "value": point.value,
        "low": point.low,
        "high": point.high,
        "top": point.value if point.high is None else point.high,
        "shown": shown(point, unit, signed=signed) if point.value is not None else "",
        "ours": f"{shown(point, unit, signed=signed)} ({shown_interval(point, unit, signed=signed)})",
        "n": point.n,
        "colour": colour,
        "shape": shape,
        "holds": holds,
    }


def _bounds(conditions: Mapping[str, Holds], shades: Mapping[str, str]) -> list[dict[str, Any]]:
    return [
        {"value": bound, "colour": shades[name], "bound": f"{name}: {words} {bound:g}"}
        for name, holds in conditions.items()
        for words, bound in (("at least", holds.at_least), ("at most", holds.at_most))
        if bound is not None
    ]


def _domain(drawn: Sequence[Mapping[str, Any]], bounds: Sequence[float]) -> list[float]:
    """Return the domain of all that is drawn: with zero if values have a sign, and with room for the numbers above."""
    known = [row[name] for row in drawn for name in ("value", "low", "high") if row[name] is not None]
    low, high = min([*known, *bounds, 0.0]), max([*known, *bounds, 0.0])
    span = high - low or 1.0
    return [low - 0.06 * span, high + 0.16 * span]
