"""Rates with what they are to keep: how often something happened, its interval, and the nominal level. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from longlook.analysis import exact_interval


class Limit(StrEnum):
    """On which side of its nominal level a rate is to lie."""

    AT_MOST = "at most"
    AT_LEAST = "at least"


class RateFinding(StrEnum):
    """How a rate's interval lies to its nominal level."""

    HELD = "held"  # all of the interval is on the right side
    COMPATIBLE = "compatible"  # the level is within the interval
    MISSED = "missed"  # all of the interval is on the wrong side
    MEASURED = "measured"  # there is no nominal level


@dataclass(frozen=True)
class Rate:
    """A share of events, with its interval of 95 % (`exact_interval`).

    `part` is the part of the certification, `procedure` what was tried, `event` what was counted, in words; `unit` what
    a trial is. `nominal` is the level that the method promises, None if it promises none.
    """

    part: str
    procedure: str
    event: str
    unit: str
    events: int
    trials: int
    low: float
    high: float
    nominal: float | None = None
    limit: Limit | None = None

    @property
    def share(self) -> float:
        """Return events / trials."""
        return self.events / self.trials

    @property
    def finding(self) -> RateFinding:
        """Return whether the rate keeps its nominal level."""
        if self.nominal is None or self.limit is None:
            return RateFinding.MEASURED
        right, wrong = self.high <= self.nominal, self.low > self.nominal
        if self.limit is Limit.AT_LEAST:
            right, wrong = self.low >= self.nominal, self.high < self.nominal
        return RateFinding.MISSED if wrong else RateFinding.HELD if right else RateFinding.COMPATIBLE


@dataclass(frozen=True)
class Promise:
    """The event that is counted, and the level that the method promises for it."""

    part: str
    procedure: str
    event: str
    unit: str
    nominal: float | None = None
    limit: Limit | None = None

    def rate(self, happened: Iterable[bool]) -> Rate | None:
        """Return the rate of what happened in trials; None without any trial."""
        seen = list(happened)
        if not seen:
            return None
        events = sum(map(bool, seen))
        low, high = exact_interval(events, len(seen))
        return Rate(
            self.part, self.procedure, self.event, self.unit, events, len(seen), low, high, self.nominal, self.limit
        )


def found(rates: Iterable[Rate | None]) -> list[Rate]:
    """Return the rates without those for which there was no trial."""
    return [rate for rate in rates if rate is not None]
