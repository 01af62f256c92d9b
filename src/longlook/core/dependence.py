"""How an effect depends on a setting that each round draws from its neighbourhood (docs/explanation/method.md)."""

from dataclasses import dataclass, field
from enum import StrEnum


class Shape(StrEnum):
    """The form in which an effect depends on a drawn setting."""

    STEP = "step"
    TREND = "trend"


@dataclass(frozen=True)
class Ends:
    """The two effects between which a dependence goes, in the unit of a difference."""

    low: float | None
    high: float | None
    unit: str


@dataclass(frozen=True)
class Dependence:
    """The effect of one contrast in one cell as a step or a line over the values that one setting drew.

    Values of the setting are in the unit that its name ends in, as in `network.rtt_ms`. An effect is None if it is
    too large for a float. Both ends are in `difference` if the contrast's effect is a difference.
    """

    setting: str  # its column of samples without `drawn.`
    n: int  # rounds with a value on both arms
    low: float  # the least value drawn
    high: float  # the greatest
    shape: Shape
    split: float | None  # of a step: the first value of its upper side, rounded to a short one between two draws
    effect_low_pct: float | None  # mean below the split; of a trend: the line's at `low`
    effect_high_pct: float | None  # mean from the split on; of a trend: the line's at `high`
    share: float  # of the effect's variance, 0 to 1, less what chance alone explains
    p: float  # of no dependence on any drawn setting, adjusted for all of them and all their splits
    p_cliff: float | None  # of a difference within the margin, adjusted alike; None where the found one is within it
    is_cliff: bool  # p and p_cliff are both below the study's alpha
    difference: Ends | None = field(default=None, metadata={"omitted_when_empty": True})

    @property
    def ends(self) -> Ends:
        """The effects at both ends, in their own unit."""
        return self.difference or Ends(self.effect_low_pct, self.effect_high_pct, "%")
