"""Charts of all cells at once: every interval, and published values against ours."""

from collections.abc import Sequence
from typing import Any

import altair as alt

from longlook.core import Agreement, ClaimResult, Contrast, Estimate
from longlook.report import wording
from longlook.report.charts import colours
from longlook.report.content import ReportContent
from longlook.report.layout import abbreviated, cell_label, ordered

AXIS_LIMIT_PCT = 120.0
"""Effects beyond are drawn at the edge with an arrow; their numbers are written in full."""

CELL_CHARACTERS = 20
"""Longer labels of levels are abbreviated."""

VERDICT_COLOURS = {
    "better": colours.CONTENDER,
    "worse": colours.BASELINE,
    "equivalent": colours.INK,
    "inconclusive": "#9a958d",
}
SIGNED = "(datum.value > 0 ? '+' : datum.value < 0 ? '−' : '') + abs(datum.value) + ' %'"


def interval_chart(content: ReportContent, contrast: Contrast, *, title: str | None, width: int | str) -> Any:
    """Return effect and interval of every cell of a contrast, in the order of the study."""
    estimates = ordered(content.study, content.estimates_of(contrast))
    cells = abbreviated([cell_label(item.cell) for item in estimates], CELL_CHARACTERS)
    values = [{**_interval_row(item), "cell": cells[cell_label(item.cell)]} for item in estimates]
    margin = content.study.analysis.equivalence_margin_pct
    axis = alt.Axis(domain=False, ticks=False, labelPadding=10)
    y = alt.Y("cell:N", sort=list(cells.values()), title=None, axis=axis)
    base = alt.Chart(alt.Data(values=values)).encode(y=y)
    tooltip = [alt.Tooltip("cell:N"), alt.Tooltip("shown:N", title="effect"), alt.Tooltip("verdict:N")]
    colour = alt.Color("colour:N", scale=None)
    layers = [
        _band(margin),
        _zero(),
        base.mark_rule(strokeWidth=2).encode(x=_effect_axis("low", values, margin), x2="high:Q", color=colour),
        base.mark_point(filled=True, size=62, opacity=1).encode(
            x="effect:Q", color=colour, shape=alt.Shape("shape:N", scale=None), tooltip=tooltip
        ),
        base.mark_text(align="left", fontSize=11.5, color=colours.INK_SOFT).encode(
            x=alt.value("width"), xOffset=alt.value(14), text="shown:N"
        ),
    ]
    properties: dict[str, Any] = {"title": title} if title else {}
    return alt.layer(*layers).properties(width=width, height=24 * max(1, len(values)), **properties)


def _interval_row(item: Estimate) -> dict[str, Any]:
    low, high = item.ci_low_pct, item.ci_high_pct
    span = f" ({wording.interval(low, high)})" if low is not None and high is not None else ""
    clipped = item.effect_pct is not None and abs(item.effect_pct) > AXIS_LIMIT_PCT
    return {
        "effect": _clip(item.effect_pct),
        "low": _clip(low),
        "high": _clip(high),
        "shape": ("triangle-left" if (item.effect_pct or 0) < 0 else "triangle-right") if clipped else "circle",
        "shown": f"{wording.SYMBOLS[item.verdict]} {wording.effect(item.effect_pct)}{span}"
        f"{f' {wording.CLIFF}' if item.cliff else ''}",
        "verdict": str(item.verdict),
        "colour": VERDICT_COLOURS[item.verdict],
    }


def _clip(value: float | None) -> float | None:
    return None if value is None else round(max(-AXIS_LIMIT_PCT, min(AXIS_LIMIT_PCT, value)), 3)


def _band(margin_pct: float) -> Any:
    band = alt.Chart(alt.Data(values=[{"from": -margin_pct, "to": margin_pct}]))
    return band.mark_rect(color="#efede8").encode(x="from:Q", x2="to:Q")


def _zero() -> Any:
    return alt.Chart(alt.Data(values=[{"zero": 0}])).mark_rule(color="#8d8881").encode(x="zero:Q")


def _effect_axis(field: str, values: Sequence[dict[str, Any]], margin_pct: float) -> alt.X:
    known = [row[name] for row in values for name in ("effect", "low", "high") if row[name] is not None]
    low, high = min([*known, -margin_pct, 0.0]), max([*known, margin_pct, 0.0])
    room = 0.04 * (high - low) or 1.0
    return alt.X(
        f"{field}:Q",
        title="effect (positive: contender better)",
        scale=alt.Scale(domain=[low - room, high + room], nice=False),
        axis=alt.Axis(labelExpr=SIGNED, domain=False, tickCount=7),
    )


def claims_chart(claims: Sequence[ClaimResult], *, title: str | None, width: int | str, height: int) -> Any:
    """Return published effects across, ours with their intervals upwards; on the diagonal both agree."""
    values = [_claim_row(item) for item in claims if _is_drawn(item)]
    domain = _square_domain(values)
    scale = alt.Scale(domain=domain, nice=False)
    axis = alt.Axis(labelExpr=SIGNED, tickCount=6, domain=False)
    x = alt.X("published:Q", scale=scale, axis=axis, title="published effect")
    y = alt.Y("ours:Q", scale=scale, axis=axis, title="our effect, with interval")
    base = alt.Chart(alt.Data(values=values))
    colour = alt.Color("colour:N", scale=None)
    corner = [{"at": value} for value in domain]
    diagonal = (
        alt.Chart(alt.Data(values=corner)).mark_line(color="#b9b4ab", strokeDash=[4, 4]).encode(x="at:Q", y="at:Q")
    )
    zero = alt.Chart(alt.Data(values=[{"zero": 0}]))
    tooltip = [alt.Tooltip(f"{name}:N", title=label) for name, label in _CLAIM_TOOLTIP]
    layers = [
        zero.mark_rule(color="#c9c5bd").encode(x="zero:Q"),
        zero.mark_rule(color="#c9c5bd").encode(y="zero:Q"),
        diagonal,
        base.mark_rule(strokeWidth=1.3).encode(x=x, y=alt.Y("low:Q"), y2="high:Q", color=colour),
        base.mark_point(filled=True, size=58, opacity=1).encode(
            x=x, y=y, color=colour, shape=alt.Shape("shape:N", scale=None), tooltip=tooltip
        ),
    ]
    properties: dict[str, Any] = {"title": title} if title else {}
    return alt.layer(*layers).properties(width=width, height=height, **properties)


def _square_domain(values: Sequence[dict[str, Any]]) -> list[float]:
    """Return one domain for both axes: all that is drawn, zero and a margin."""
    known = [row[name] for row in values for name in ("published", "ours", "low", "high") if row[name] is not None]
    low, high = min([*known, 0.0]), max([*known, 0.0])
    room = 0.06 * (high - low) or 1.0
    return [low - room, high + room]


_CLAIM_TOOLTIP = (("cell", "cell"), ("source", "published"), ("shown", "ours"), ("result", "result"))
_CLAIM_SHAPES = {
    Agreement.OTHER_SIZE: "triangle-up",
    Agreement.CONTRADICTED: "cross",
    Agreement.OPEN: "diamond",
    Agreement.NOT_TESTABLE: "square",
}


def _is_drawn(item: ClaimResult) -> bool:
    return item.claim.effect_pct is not None and item.estimate is not None and item.estimate.effect_pct is not None


def _claim_row(item: ClaimResult) -> dict[str, Any]:
    estimate = item.estimate
    if estimate is None:
        raise ValueError(f"claim {item.claim.id} has no estimate to draw")
    span = wording.interval(estimate.ci_low_pct, estimate.ci_high_pct)
    return {
        "cell": cell_label(item.claim.cell),
        "published": _clip(item.claim.effect_pct),
        "source": wording.published(item.claim),
        "ours": _clip(estimate.effect_pct),
        "low": _clip(estimate.ci_low_pct),
        "high": _clip(estimate.ci_high_pct),
        "shown": f"{wording.effect(estimate.effect_pct)} ({span})",
        "result": wording.result(item.result, item.factor),
        "colour": colours.RESULT_COLOURS[item.result],
        "shape": _CLAIM_SHAPES.get(item.result, "circle"),
    }
