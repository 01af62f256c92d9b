"""The table of stalls on the page about the inside of a cell."""

from dataclasses import dataclass

from longlook.explain.inside.playback import Stall
from longlook.report import wording
from longlook.report.inside.content import InsideContent

MOST_CLASSES = 4
LEAST_SHARE = 0.02
"""Of what a segment's time went on, a row has what took more than this."""


@dataclass(frozen=True)
class StallRow:
    """One stall, as text."""

    arm: str
    begins: str
    lasts: str
    segment: str
    took: str
    spent: str


def stall_rows(inside: InsideContent) -> list[StallRow]:
    """Return a row for each stall, arm by arm in order of time."""
    return [_row(arm, stall) for arm, trial in inside.arms.items() for stall in trial.stalls]


def _row(arm: str, stall: Stall) -> StallRow:
    begins, lasts = (wording.quantity(ns / 1e9, "s") for ns in (stall.start_ns, stall.end_ns - stall.start_ns))
    if stall.late is None or stall.position_ns is None:
        return StallRow(arm, begins, lasts, "none came before the end", "–", "–")
    asked_ns, came_ns = stall.position_ns
    segment = f"{stall.late.number}, {stall.late.rung}, {stall.late.size_bytes / 1000:.0f} KB"
    took = f"{wording.quantity((came_ns - asked_ns) / 1e9, 's')}, asked for at {wording.quantity(asked_ns / 1e9, 's')}"
    total = sum(stall.spent_ns.values())
    parts = [
        f"{100 * ns / total:.0f} % {name.replace('_', ' ')}"
        for name, ns in list(stall.spent_ns.items())[:MOST_CLASSES]
        if ns > LEAST_SHARE * total
    ]
    return StallRow(arm, begins, lasts, segment, took, ", ".join(parts) or "–")
