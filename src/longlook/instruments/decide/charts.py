"""The two charts of an answer: users in the order of their change, and the distribution of both arms."""

from typing import Any

import altair as alt

from longlook.analysis import AnswerOfUsers, CellOfUsers
from longlook.report import BASELINE, CONTENDER, RULE, unit_axis

_HEIGHT_PX = 260
_MOST_PCT = 100.0
"""The change up to which bars are drawn; a tip has the number."""


def _shown(cell: CellOfUsers) -> float:
    """Return a cell's change; the most that is drawn if only one arm failed in most of its loads."""
    if cell.effect_pct is not None:
        return cell.effect_pct
    before, after = cell.failed_pct
    return _MOST_PCT if before > after else -_MOST_PCT if after > before else 0.0


def change_chart(answer: AnswerOfUsers) -> Any:
    """Return users in the order of their change: a bar for each cell, as wide as its share of them."""
    rows: list[dict[str, Any]] = []
    at = 0.0
    for cell in sorted(answer.cells, key=_shown):
        effect = _shown(cell)
        rows.append(
            {
                "from": round(at, 4),
                "to": round(at + cell.share_pct, 4),
                "zero": 0.0,
                "change": round(max(-_MOST_PCT, min(_MOST_PCT, effect)), 3),
                "effect": round(effect, 2),
                "cell": ", ".join(cell.labels.values()),
                "users": round(cell.share_pct, 3),
                "side": "better" if effect > answer.margin_pct else "worse" if effect < -answer.margin_pct else "alike",
            }
        )
        at += cell.share_pct
    colours = alt.Scale(domain=["better", "alike", "worse"], range=[CONTENDER, RULE, BASELINE])
    return (
        alt.Chart(alt.Data(values=rows))
        .mark_rect(stroke="#ffffff", strokeWidth=1)
        .encode(
            x=alt.X("from:Q", title="% of the users", scale=alt.Scale(domain=[0, 100], nice=False)),
            x2="to:Q",
            y=alt.Y("change:Q", title="change in %"),
            y2="zero:Q",
            color=alt.Color("side:N", title=None, scale=colours, legend=None),
            tooltip=[
                alt.Tooltip("cell:N"),
                alt.Tooltip("users:Q", title="% of the users"),
                alt.Tooltip("effect:Q", title="change in %"),
            ],
        )
        .properties(width="container", height=_HEIGHT_PX)
    )


def times_chart(answer: AnswerOfUsers, baseline: str, contender: str) -> Any:
    """Return the share of loads that have ended by each time; loads that failed never end."""
    rows: list[dict[str, Any]] = [
        {"arm": arm, "share": share, "value": value}
        for share, one, other in answer.curve
        for arm, value in ((baseline, one), (contender, other))
        if value not in (float("inf"), float("-inf"))
    ]
    arms = [baseline, contender]
    values = [row["value"] for row in rows]
    log = bool(values) and min(values) > 0 and max(values) / min(values) > 8
    scale = alt.Scale(type="log", nice=False) if log else alt.Scale(zero=False, nice=False)
    colour = alt.Scale(domain=arms, range=[BASELINE, CONTENDER])
    return (
        alt.Chart(alt.Data(values=rows))
        .mark_line(interpolate="step-after", strokeWidth=2)
        .encode(
            x=alt.X("value:Q", title=None, scale=scale, axis=unit_axis(answer.unit, tickCount=5, labelOverlap=True)),
            y=alt.Y("share:Q", title="% of the loads", scale=alt.Scale(domain=[0, 100])),
            color=alt.Color("arm:N", title=None, scale=colour, legend=alt.Legend(orient="bottom", labelLimit=300)),
            order="share:Q",
        )
        .properties(width="container", height=_HEIGHT_PX)
    )
