"""Rates with what they are to keep: how often something happened, its interval, and the nominal level. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from longlook.analysis import exact_interval


class Limit(StrEnum):
    """How a rate is to lie to its nominal level."""

    AT_MOST = "at most"
    NEAR = "near"  # within a band on both sides of it (`band`)


class RateFinding(StrEnum):
    """How a rate's interval lies to what is promised. *Missed*, *known* and *too wide* are findings against the method;
    only *missed* makes the command fail.
    """

    HELD = "held"  # all of the interval keeps the promise
    COMPATIBLE = "compatible"  # part of it does
    MISSED = "missed"  # none of it does: errors are more frequent
    KNOWN = "missed, known"  # the same, of a procedure that docs/explanation/trust.md says to miss the level there
    TOO_WIDE = "too wide"  # none of it does: errors are less frequent, so that intervals are wider than they need be
    MEASURED = "measured"  # there is no nominal level


def band(nominal: float) -> tuple[float, float]:
    """Return the shares that are near to a nominal level of confidence: for 95 % from 93 to 98 %.

    The share of errors is then between 0.4 and 1.4 times the share that is allowed.
    """
    allowed = 1 - nominal
    return 1 - 1.4 * allowed, 1 - 0.4 * allowed


@dataclass(frozen=True)
class Rate:
    """A share of events, with its interval of 95 % (`exact_interval`).

    `part` is the part of the certification, `procedure` what was tried, `event` what was counted, in words; `unit` what
    a trial is. `nominal` is the level that the method promises, None if it promises none. `known` says that
    docs/explanation/trust.md has the level as one that is missed.
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
    known: bool = False

    @property
    def share(self) -> float:
        """Return events / trials."""
        return self.events / self.trials

    @property
    def finding(self) -> RateFinding:
        """Return whether the rate keeps its promise; one that does not has its whole interval outside."""
        if self.nominal is None or self.limit is None:
            return RateFinding.MEASURED
        missed = RateFinding.KNOWN if self.known else RateFinding.MISSED
        if self.limit is Limit.AT_MOST:
            if self.low > self.nominal:
                return missed
            return RateFinding.HELD if self.high <= self.nominal else RateFinding.COMPATIBLE
        least, most = band(self.nominal)
        if self.high < least:
            return missed
        if self.low > most:
            return RateFinding.TOO_WIDE
        return RateFinding.HELD if least <= self.low and self.high <= most else RateFinding.COMPATIBLE


@dataclass(frozen=True)
class Promise:
    """The event that is counted, and the level that the method promises for it; `known` as in `Rate`."""

    part: str
    procedure: str
    event: str
    unit: str
    nominal: float | None = None
    limit: Limit | None = None
    known: bool = False

    def rate(self, happened: Iterable[bool]) -> Rate | None:
        """Return the rate of what happened in trials; None without any trial."""
        seen = list(happened)
        if not seen:
            return None
        events = sum(map(bool, seen))
        low, high = exact_interval(events, len(seen))
        return Rate(**vars(self), events=events, trials=len(seen), low=low, high=high)


def found(rates: Iterable[Rate | None]) -> list[Rate]:
    """Return the rates without those for which there was no trial."""
    return [rate for rate in rates if rate is not None]
