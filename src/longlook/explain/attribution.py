"""From counterfactual trials to verdicts: how much of a gap does a change close? Pure.

The gap of a round is ln(loser/winner) of a metric that is better when lower, and its negative otherwise. It is a
difference if the metric is not compared by ratios, or values are not positive (`analysis.stats.scales`). A change
closes d = gap − gap with the change, round by round on the same random numbers. Tests are about d; reports show the
share mean(d)/mean(gap), whose interval is Fieller's (J. R. Stat. Soc. B 16, 1954) for paired numerator and
denominator. On a path that loses packets at random, tests and interval allow for the loss that the rounds may have
missed, as verdicts do (`analysis.stats.rare_losses`).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum, StrEnum
from functools import partial

import numpy as np
import numpy.typing as npt

from longlook.analysis import Paired, Scale, libraries, looks, procedures, rare_losses, sequential
from longlook.core import Analysis

Floats = npt.NDArray[np.float64]


class Look(Enum):
    """When the rounds are read: there is one look after a number that was fixed, or several, the last of them known."""

    FIXED = "fixed"
    EARLY = "early"
    LAST = "last"


class Conclusion(StrEnum):
    """The conclusion of the trials about a suspected cause."""

    CONFIRMED = "confirmed"
    CONFIRMED_BOTH_WAYS = "confirmed both ways"  # the winner loses as much when it gets the cause
    WHERE = "shows where"  # a change of the occasion closes the gap, or one of an end that both arms have alike
    WHICH_END = "shows which end"  # the winner's program or version closes it
    ADVANTAGE = "advantage of the winner"  # a change of both arms closes the gap by making the winner worse
    REFUTED = "refuted"  # the change makes no difference beyond the margin
    INCONCLUSIVE = "inconclusive"
    NO_CHANGE = "changes nothing"  # every trial is what it was without the change, packet for packet
    UNTOUCHED = "leaves the cause as it was"  # the trial with the change shows the cause as before: it tested nothing
    UNTESTABLE = "untestable"


@dataclass(frozen=True)
class Share:
    """The share of a gap that a change closes, in %, with its interval; None if the interval has no bounds."""

    share_pct: float
    ci_low_pct: float | None
    ci_high_pct: float | None


@dataclass(frozen=True)
class Closed:
    """One change, tested: `p` that it closes no more than the margin, `p_none` that it closes or opens more.

    For a change in both arms, `p` is also that the loser gets no better by more than the margin. `p_winner` is that it
    closes no more, or that the winner gets no worse by more; it is None for other changes. `rounds` are the rounds in
    which all trials went well.
    """

    rounds: int
    share: Share | None
    closed: float  # by how much the loser's value gets smaller beside the winner's, in `unit`
    p: float | None
    p_none: float | None
    p_winner: float | None = None
    unit: str = "%"  # that of differences, if values are not compared by ratios


def concludes(p: float | None, p_none: float | None, alpha: float, p_winner: float | None = None) -> Conclusion:
    """Return what one change says, with the p values of `Closed` adjusted for all that were tested."""
    if p is not None and p < alpha:
        return Conclusion.CONFIRMED
    if p_winner is not None and p_winner < alpha:
        return Conclusion.ADVANTAGE
    if p_none is not None and p_none < alpha:
        return Conclusion.REFUTED
    return Conclusion.INCONCLUSIVE


@dataclass(frozen=True)
class Parts:
    """The gap of each round without and with a change, and the part of their difference that is the loser's own.

    All have shape (rounds,) and one scale, in one order of rounds. The winner loses the part that the loser does not
    gain itself: `own` is None if the winner stays as it was.
    """

    gap: Floats
    changed: Floats
    scale: Scale
    own: Floats | None = None

    @property
    def closed(self) -> Floats:
        """Return what the change closes of the gap."""
        return self.gap - self.changed


@dataclass(frozen=True)
class Room:
    """Room for losses that no round met (`analysis.stats.rare_losses`).

    A value of one round more may be larger by `unseen_pct`. The true mean may lie `beside` the mean that rounds sample,
    on the scale of logarithms: that is for arms that are nearly one program, whose losses are integrated.
    """

    unseen_pct: float = 0.0
    beside: float = 0.0

    def allowing(self, analyse: rare_losses.Analyse, part: Floats, scale: Scale) -> Paired:
        """Return what `analyse` finds in a part of a gap, shape (rounds,), with this room."""

        def with_round(advantage: Floats, *, skewed: bool = True) -> Paired:
            if not self.unseen_pct:
                return analyse(advantage, skewed=skewed)
            own = partial(analyse, skewed=skewed)
            return rare_losses.with_unseen(
                own, advantage, self.unseen_pct, is_log=scale.is_log, magnitude=scale.magnitude
            )

        return rare_losses.with_room(with_round, part, self.beside) if self.beside else with_round(part)

    def moved(self, part: Floats, sign: int, scale: Scale, *, further: bool) -> Floats:
        """Return a part of a gap with what was not seen at its far end below (`sign` −1) or above (1); 0: as it is.

        With a `further` round it has one more, the unseen one.
        """
        moved = part + sign * self.beside
        if not further:
            return moved
        distance = procedures.margin(self.unseen_pct, scale.is_log) * scale.magnitude
        return np.append(moved, float(np.median(moved)) + sign * distance)


@dataclass(frozen=True)
class Unseen:
    """The room for losses that no round met, in what a change closes and in the gap."""

    closed: Room
    gap: Room


def closed(parts: Parts, analysis: Analysis, unseen: Unseen | None = None, look: Look = Look.FIXED) -> Closed:
    """Return the part of the gap that a change closes.

    If rounds are looked at more than once, tests and interval hold at any time (`analysis.stats.sequential`).

    The margin is the metric's margin of equivalence: a change that closes less does not matter, even if its p is small.
    `unseen` is None if the path loses nothing at random. A change that made no difference in any round needs no room
    for one round more, as both trials would lose the same packet.

    A change of both arms must close the gap, and must do so in the arm that lost. Its p is the larger p of both
    statements. No correction for their number is needed: it is an intersection-union test (Berger, Technometrics 24,
    1982).
    """
    difference, scale = parts.closed, parts.scale
    analyse: rare_losses.Analyse = partial(_paired, margin=scale.margin, confidence=analysis.confidence, look=look)
    room = unseen or Unseen(Room(), Room())
    if np.max(np.abs(difference), initial=0.0) <= procedures.ROUNDING:
        room = Unseen(replace(room.closed, unseen_pct=0.0), replace(room.gap, unseen_pct=0.0))

    def p_beyond(part: Floats) -> float | None:
        found = room.closed.allowing(analyse, part - scale.margin, scale)
        if found.constant:
            return float(found.mean <= 0)
        return None if found.p is None else (found.p / 2 if found.mean > 0 else 1 - found.p / 2)

    around_zero = room.closed.allowing(analyse, difference, scale)
    p, p_winner = p_beyond(difference), None
    if parts.own is not None:
        losers, winners = p_beyond(parts.own), p_beyond(difference - parts.own)
        if p is not None and losers is not None and winners is not None:
            p, p_winner = max(p, losers), max(p, winners)
    return Closed(
        rounds=len(difference),
        share=_share_allowing(parts, analysis.confidence, room, look),
        closed=closed_effect(around_zero.mean, scale),
        p=p,
        p_none=around_zero.p_equivalence,
        p_winner=p_winner,
        unit=scale.unit,
    )


def _paired(advantage: Floats, margin: float, confidence: float, look: Look, *, skewed: bool = True) -> Paired:
    """Return the analysis for a kind of look; half of its p is one-sided."""
    if look is Look.FIXED:
        return procedures.paired(advantage, margin, confidence, skewed=skewed)
    last = look is Look.LAST
    found = sequential.paired(advantage, margin, confidence, last=last, skewed=skewed)
    p = min(sequential.p_beyond(side, last=last, skewed=skewed) for side in (advantage, -advantage))
    return replace(found, p=min(1.0, 2 * p))


def closed_effect(closed: float, scale: Scale) -> float:
    """Return by how much the loser's value gets smaller beside the winner's if this part of a gap closes.

    It is in the unit of the scale.
    """
    return -100 * math.expm1(-closed) if scale.is_log else closed * scale.size


LEAST_SPAN = 0.1
"""The share of the largest effect by which effects of doses have to differ."""
_UNSEEN = ((1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (-1, -1))
"""The three ways in which an unseen loss moves the closed part and the gap: it hits the changed trial, the trial that
this one replaces, or a trial that stays. A round of integrated losses is moved so by an unseen load.
"""


def _share_allowing(parts: Parts, confidence: float, room: Unseen, look: Look) -> Share | None:
    """Return the share with the widest interval if losses that no round met moved the closed part, the gap, or both.

    The share itself comes from the rounds seen.
    """
    part, whole, scale = parts.closed, parts.gap, parts.scale
    seen = share(part, whole, confidence, look)
    if room == Unseen(Room(), Room()) or seen is None or len(part) < 2:
        return seen
    further = bool(room.closed.unseen_pct or room.gap.unseen_pct)
    found = [seen]
    for first, second in _UNSEEN:
        moved, gap = (
            own.moved(values, sign, scale, further=further)
            for own, values, sign in ((room.closed, part, first), (room.gap, whole, second))
        )
        one = share(moved, gap, confidence, look)
        if one is None or np.mean(gap) * np.mean(whole) < 0:
            return Share(seen.share_pct, None, None)
        found.append(one)
    lows = [one.ci_low_pct for one in found if one.ci_low_pct is not None]
    highs = [one.ci_high_pct for one in found if one.ci_high_pct is not None]
    if min(len(lows), len(highs)) < len(found):
        return Share(seen.share_pct, None, None)
    return Share(seen.share_pct, min(lows), max(highs))


def share(part: Floats, whole: Floats, confidence: float, look: Look = Look.FIXED) -> Share | None:
    """Return mean(part)/mean(whole) in % with Fieller's interval; None if the whole is 0 on average.

    The interval has no bounds if the mean of the whole may be 0, and is a point if nothing varies. It has the shares r
    for which a mean of part − r·whole of 0 is not refuted. Student's t decides after a fixed number of rounds, else the
    t-test that holds at any time, so that rounds may stop at will.
    """
    mean_part, mean_whole, count = float(np.mean(part)), float(np.mean(whole)), len(part)
    if mean_whole == 0:
        return None
    ratio = mean_part / mean_whole
    if count < 2:
        return Share(100 * ratio, None, None)
    (var_part, cov), (_, var_whole) = np.cov(part, whole) / count
    if look is Look.FIXED:
        quantile2 = float(libraries.stats.t.ppf((1 + confidence) / 2, count - 1)) ** 2
    else:
        quantile2 = sequential.squared_quantile(count, confidence)
    if math.isinf(quantile2):
        return Share(100 * ratio, None, None)
    a = mean_whole**2 - quantile2 * var_whole
    b = mean_part * mean_whole - quantile2 * cov
    c = mean_part**2 - quantile2 * var_part
    if a <= 0:
        return Share(100 * ratio, None, None)
    root = math.sqrt(max(b**2 - a * c, 0.0))
    return Share(100 * ratio, 100 * (b - root) / a, 100 * (b + root) / a)


def monotone(effects: list[float], doses: list[float]) -> bool:
    """Return whether the closed share rises, or falls, with the dose throughout; False for fewer than three doses.

    Ties are allowed, but not values that all lie within LEAST_SPAN of the largest: such values follow nothing.
    """
    if len(doses) < 3:
        return False
    steps = np.diff(np.array(effects)[np.argsort(doses, kind="stable")])
    one_way = bool(np.all(steps >= 0) or np.all(steps <= 0))
    return one_way and float(np.ptp(effects)) > LEAST_SPAN * float(np.max(np.abs(effects)))


LATEST_FIRST_LOOK = 0.75
"""The share of the rounds by which the first look must come: fewer are not worth what the last look loses by it."""


def looks_at(rounds: int, tests: int, analysis: Analysis) -> Sequence[int]:
    """Return after how many of the rounds to look, the last time after all; only then if fewer rounds are of no use.

    An ordinary test must not be looked at again and again. If a cell has enough rounds, changes are tested as studies
    with `rounds = "decide"` are (`analysis.stats.sequential`), whose tests hold however often one looks. Their p values
    have a floor that falls with the rounds, so that few rounds cannot decide; such cells are read once, after all
    rounds.

    `tests` is the number of changes whose p values are adjusted together.
    """
    first = next((count for count in range(2, rounds) if _floor(count, tests, analysis) < analysis.alpha), rounds)
    return tuple(looks(first if first <= LATEST_FIRST_LOOK * rounds else rounds, rounds))


def is_firm(result: Closed, tests: int, analysis: Analysis) -> bool:
    """Return whether a change is confirmed or refuted already, whatever the p values of the other tests will be.

    Times the number of tests (Bonferroni) a p value is at least what Holm's correction makes of it in the end. An
    advantage of the winner is never firm: the loser may yet prove to gain.
    """
    count = 1 if analysis.correction == "none" else tests
    return any(p is not None and p * count < analysis.alpha for p in (result.p, result.p_none))


def _floor(count: int, tests: int, analysis: Analysis) -> float:
    return sequential.least_p(count) * (1 if analysis.correction == "none" else tests)
