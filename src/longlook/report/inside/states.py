"""Times in states as rows of tables."""

from collections.abc import Sequence
from typing import Any

from longlook.report import wording
from longlook.report.inside.content import InsideContent


def state_name(state: str) -> str:
    """Return the name of a state for people: `congestion avoidance`, `BBR startup`."""
    return state.replace("_", " ").replace("bbr", "BBR")


def source_of(sources: Sequence[str]) -> str:
    """Return `logged`, `derived`, or both."""
    kinds = {"derived" if source == "derived" else "logged" for source in sources}
    return " and ".join(sorted(kinds, reverse=True))


def time_rows(inside: InsideContent) -> list[dict[str, Any]]:
    """Return one row per state and arm; the first arm of a state has the number of its arms."""
    rows: list[dict[str, Any]] = []
    if inside.states is None:
        return rows
    states = list(dict.fromkeys(item.state for item in inside.states.times))
    for state in states:
        own = [item for item in inside.states.times if item.state == state]
        for position, item in enumerate(own):
            rows.append(
                {
                    "state": state,
                    "arms": len(own) if position == 0 else 0,
                    "name": state_name(state),
                    "arm": item.arm,
                    "share": share(item.share_pct),
                    "interval": span(item.low_pct, item.high_pct),
                    "time": wording.quantity(item.time_s, "s") if item.time_s else "0",
                    "visits": wording.number(item.visits) if item.visits else "0",
                    "source": source_of(item.sources) or wording.DASH,
                    "n": str(item.n),
                }
            )
    return rows


def difference_rows(inside: InsideContent) -> list[dict[str, Any]]:
    """Return contender minus baseline in percentage points, with interval and p; `differs` if significant."""
    if inside.states is None:
        return []
    alpha = inside.content.study.analysis.alpha
    return [
        {
            "state": item.state,
            "name": state_name(item.state),
            "points": signed(item.points),
            "interval": span(item.low, item.high, signs=True),
            "p": wording.p_value(item.p_adjusted),
            "n": str(item.n),
            "differs": item.p_adjusted is not None and item.p_adjusted < alpha and item.points != 0,
        }
        for item in inside.states.differences
    ]


def share(value: float) -> str:
    """Return a share of time as text: `31 %`, `0.42 %`."""
    return f"{_digits(value)}{wording.NBSP}%"


def signed(value: float) -> str:
    """Return a difference in percentage points with its sign."""
    return f"{'+' if value > 0 else ''}{_digits(value)}"


def span(low: float | None, high: float | None, *, signs: bool = False) -> str:
    """Return an interval without unit."""
    if low is None or high is None:
        return wording.DASH
    return f"{signed(low)} to {signed(high)}" if signs else f"{_digits(max(0.0, low))} to {_digits(min(100.0, high))}"


def _digits(value: float) -> str:
    size = abs(value)
    text = f"{value:.0f}" if size >= 10 else f"{value:.1f}" if size >= 1 else f"{value:.2f}"
    return "0" if float(text) == 0 else text.replace("-", wording.MINUS)
