"""The expectations of a study about each of its trials, and how each was judged. Plain data."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Bounds:
    """An interval of values in `unit`; a bound is None if there is none on its side.

    `low_counts` and `high_counts` tell whether a bound itself lies inside. With `of_ns` the bounds are % of the
    quantity's own value at that time, in ns since the load began.
    """

    unit: str
    low: float | None = None
    high: float | None = None
    low_counts: bool = True
    high_counts: bool = True
    of_ns: int | None = None

    def hold(self, value: float) -> bool:
        """Return whether a value lies inside; a value that differs from a bound by rounding alone is equal to it."""
        return _beyond(value, self.low, self.low_counts, 1) and _beyond(value, self.high, self.high_counts, -1)

    def room(self, value: float) -> float:
        """Return the distance from a value to the nearest bound; it is below 0 outside of the interval."""
        distances = [
            *([] if self.low is None else [value - self.low]),
            *([] if self.high is None else [self.high - value]),
        ]
        return min(distances, default=math.inf)


def _beyond(value: float, bound: float | None, counts: bool, sign: int) -> bool:
    if bound is None:
        return True
    if math.isclose(value, bound, rel_tol=1e-9, abs_tol=1e-12):
        return counts
    return sign * (value - bound) > 0


@dataclass(frozen=True)
class Expectation:
    """One expectation about a quantity of each trial, or of the trials of one arm or of some levels.

    Times are ns since the load began: at one moment (`begin_ns` equals `end_ns`), from a time on, until a time, or
    between two; None is the load's own begin or end. The quantity has `bounds`, or it is a state of a sender and has
    `states`: one of them holds, or with `never` none does. It holds all the time, or with `once` at one moment at
    least.
    """

    quantity: str  # as the study names it, such as `server_window`
    text: str  # as the study states it
    begin_ns: int | None = None
    end_ns: int | None = None
    once: bool = False
    bounds: Bounds | None = None
    states: tuple[str, ...] = ()
    never: bool = False
    group: str = ""  # of flows that compete; "": of all, or of the first group
    arm: str = ""  # "": of every arm
    levels: Mapping[str, str] = field(default_factory=dict)  # factor → level; empty: of every cell

    @property
    def name(self) -> str:
        """The key of the study file: the quantity, and the group of flows if it is about one."""
        return f"{self.quantity}.{self.group}" if self.group else self.quantity

    @property
    def at_moment(self) -> bool:
        """Whether it is about one moment."""
        return self.begin_ns is not None and self.begin_ns == self.end_ns

    def is_about(self, arm: str, cell: Mapping[str, str]) -> bool:
        """Return whether it is about the trials of an arm in a cell, which has the label of each factor's level."""
        return self.arm in ("", arm) and all(cell.get(factor) == label for factor, label in self.levels.items())


@dataclass(frozen=True)
class JudgedExpectation:
    """An expectation in one trial. `seen` is the value that decides, in `unit`, or the state; None if nothing is known.

    The value that decides is the first that is outside, else the value nearest to a bound. `time_s` is when it was
    seen, in s since the load began; None if it is of a whole span. An expectation of which the trial says nothing does
    not hold, and `reason` says why.
    """

    expectation: Expectation
    trial_id: str
    arm: str
    cell: Mapping[str, str]
    cell_id: str
    round: int
    holds: bool
    seen: float | str | None = None
    unit: str = ""
    time_s: float | None = None
    flow: str = ""  # the connection, if the trial has several
    reason: str = ""
