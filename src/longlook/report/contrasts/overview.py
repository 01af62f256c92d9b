"""Charts of all cells at once: every interval, and published values against ours."""

import json
from collections import Counter
from collections.abc import Sequence
from typing import Any

import altair as alt

from longlook.analysis import margin_in_unit
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


def signed_labels(unit: str) -> str:
    """Return the expression of an axis' labels of effects in a unit, with their signs."""
    return SIGNED if unit == "%" else SIGNED.replace("' %'", json.dumps(f" {unit}"))


def shared_unit(estimates: Sequence[Estimate]) -> str:
    """Return the unit of most effects: a ratio metric has differences in the cells that have a value of 0."""
    units = Counter(item.effect.unit for item in estimates if item.effect is not None)
    return units.most_common(1)[0][0] if units else "%"


def shared_margin(estimates: Sequence[Estimate], content: ReportContent) -> float:
    """Return the margin of equivalence in this unit."""
    unit = shared_unit(estimates)
    own = (item for item in estimates if item.effect is not None and item.effect.unit == unit)
    return next((margin_in_unit(item, content.study.analysis) for item in own), content.study.analysis.margin_pct)


def interval_chart(content: ReportContent, contrast: Contrast, *, title: str | None, width: int | str) -> Any:
    """Return effect and interval of every cell of a contrast, in the order of the study."""
    estimates = ordered(content.study, content.estimates_of(contrast))
    cells = abbreviated([cell_label(item.cell) for item in estimates], CELL_CHARACTERS)
    unit, margin = shared_unit(estimates), shared_margin(estimates, content)
    values = [{**_interval_row(item, unit), "cell": cells[cell_label(item.cell)]} for item in estimates]
    axis = alt.Axis(domain=False, ticks=False, labelPadding=10)
    y = alt.Y("cell:N", sort=list(cells.values()), title=None, axis=axis)
    base = alt.Chart(alt.Data(values=values)).encode(y=y)
    tooltip = [alt.Tooltip("cell:N"), alt.Tooltip("shown:N", title="effect"), alt.Tooltip("verdict:N")]
    colour = alt.Color("colour:N", scale=None)
    layers = [
        _band(margin),
        _zero(),
        base.mark_rule(strokeWidth=2).encode(x=_effect_axis("low", values, margin, unit), x2="high:Q", color=colour),
        base.mark_point(filled=True, size=62, opacity=1).encode(
            x="effect:Q", color=colour, shape=alt.Shape("shape:N", scale=None), tooltip=tooltip
        ),
        base.mark_text(align="left", fontSize=11.5, color=colours.INK_SOFT).encode(
            x=alt.value("width"), xOffset=alt.value(14), text="shown:N"
        ),
    ]
    properties: dict[str, Any] = {"title": title} if title else {}
    return alt.layer(*layers).properties(width=width, height=24 * max(1, len(values)), **properties)


def _interval_row(item: Estimate, unit: str) -> dict[str, Any]:
    found = item.effect if item.effect is not None and item.effect.unit == unit else None
    value, low, high = (None, None, None) if found is None else (found.value, found.low, found.high)
    interval = wording.interval_of(item)
    span = "" if interval == wording.DASH else f" ({interval})"
    limit = AXIS_LIMIT_PCT if unit == "%" else float("inf")
    clipped = value is not None and abs(value) > limit
    return {
        "effect": _clip(value, limit),
        "low": _clip(low, limit),
        "high": _clip(high, limit),
        "shape": ("triangle-left" if (value or 0) < 0 else "triangle-right") if clipped else "circle",
        "shown": f"{wording.SYMBOLS[item.verdict]} {wording.effect_of(item)}{span}"
        f"{f' {wording.CLIFF}' if item.cliff else ''}",
        "verdict": str(item.verdict),
        "colour": VERDICT_COLOURS[item.verdict],
    }


def _clip(value: float | None, limit: float = AXIS_LIMIT_PCT) -> float | None:
    return None if value is None else float(f"{max(-limit, min(limit, value)):.6g}")


def _band(margin: float) -> Any:
    band = alt.Chart(alt.Data(values=[{"from": -margin, "to": margin}]))
    return band.mark_rect(color="#efede8").encode(x="from:Q", x2="to:Q")


def _zero() -> Any:
    return alt.Chart(alt.Data(values=[{"zero": 0}])).mark_rule(color="#8d8881").encode(x="zero:Q")


def _effect_axis(field: str, values: Sequence[dict[str, Any]], margin: float, unit: str) -> alt.X:
    known = [row[name] for row in values for name in ("effect", "low", "high") if row[name] is not None]
    low, high = min([*known, -margin, 0.0]), max([*known, margin, 0.0])
    room = 0.04 * (high - low) or 1.0
    return alt.X(
        f"{field}:Q",
        title="effect (positive: contender better)",
        scale=alt.Scale(domain=[low - room, high + room], nice=False),
        axis=alt.Axis(labelExpr=signed_labels(unit), domain=False, tickCount=7),
    )


def claims_chart(claims: Sequence[ClaimResult], *, title: str | None, width: int | str, height: int) -> Any:
    """Return published effects across, ours with their intervals upwards; on the diagonal both agree."""
    values = [_claim_row(item) for item in claims if is_drawn(item)]
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


def is_drawn(item: ClaimResult) -> bool:
    """Return whether a claim has a number, and this run has one for its cell."""
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
