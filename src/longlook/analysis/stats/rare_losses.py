"""Room for random losses: the rounds may have missed the loss that costs most.

A short load takes its usual time until the loss of one certain packet makes it wait for a timeout, and the mean over
many loads depends on how often that happens. Rounds that did not meet this loss say nothing of it, and no interval that
is made from the rounds alone holds such a mean (Bahadur and Savage, Ann. Math. Stat. 27, 1956). The path is known
besides: whether it loses packets at random, and how many each load lost.

So, on such a path, tests and intervals are also made with one round more, an unseen one at the far end of what may be.
Bounds of a mean that assume no shape are made so: the end of the support is added to the sample. Anderson (Stanford
Technical Report 1, 1969), Gaffke (Mathematical Methods of Statistics 14, 2005) and Learned-Miller and Thomas
(arXiv:1905.06208) do it. A round more among n at a distance of d moves the end of a t interval by about d·(1 + t)/(n +
1). A loss with that effect moves the mean as far if n rounds miss it in one of forty cases. Here the end is a choice,
and no bound: in the unseen round one arm's value is larger, and at most twice as large. It is larger by the share by
which a number of losses fluctuates, 1/√L with L losses a load. docs/explanation/statistics.md has how often that was
enough.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from longlook.analysis.stats import procedures
from longlook.analysis.stats.procedures import Floats, Paired

_MOST_TIMES = 20
"""As many times the rounds that there are, and `rounds_needed` gives up."""


class Analyse(Protocol):
    """A test and interval of advantages, shape (rounds,); without `skewed` it does not allow for skewness."""

    def __call__(self, advantage: Floats, *, skewed: bool = True) -> Paired:
        """Return the analysis."""


def larger_pct(losses: float) -> float:
    """Return by how much a value of the unseen round is larger than usual, in %, with `losses` random losses a load."""
    return 100 / math.sqrt(max(1.0, losses))


def with_unseen(
    analyse: Analyse, advantage: Floats, unseen_pct: float, *, is_log: bool, magnitude: float = 1.0
) -> Paired:
    """Return what `analyse` finds in the advantages, with room for one round that was not seen.

    The unseen round lies below or above the median, whichever is worse for the statement. The interval is the widest of
    the three, each p value the largest, and p of a difference is 1 if the round would change the sign of the mean. The
    unseen round is what makes a sample skewed, so it is allowed for once, not again by Hall's transformation. The mean
    is over the rounds seen. `advantage` has shape (rounds,). One arm's value of the unseen round is larger by
    `unseen_pct` (`larger_pct`; `analysis.integrated` if losses are integrated). If advantages are differences,
    `magnitude` is the mean magnitude of the values on their scale.
    """
    seen = analyse(advantage)
    if seen.p is None or seen.p_equivalence is None:
        return seen
    usual, distance = float(np.median(advantage)), procedures.margin(unseen_pct, is_log) * magnitude
    below, above = (analyse(np.append(advantage, usual + end), skewed=False) for end in (-distance, distance))
    against = below if seen.mean > 0 else above
    p_unseen = 1.0 if against.p is None or against.mean * seen.mean <= 0 else against.p
    return Paired(
        seen.mean,
        None if seen.low is None or below.low is None else min(seen.low, below.low),
        None if seen.high is None or above.high is None else max(seen.high, above.high),
        max(seen.p, p_unseen),
        max(
            seen.p_equivalence, *(1.0 if side.p_equivalence is None else side.p_equivalence for side in (below, above))
        ),
        constant=False,
    )


def unseen_share(error: float, count: int) -> float:
    """Return the largest share of all patterns that `count` draws miss with a probability of `error`.

    It is 1 − error^(1/count), the exact bound if nothing was seen (Clopper and Pearson, Biometrika 26, 1934), and about
    3/count at 5 % (Hanley and Lippman-Hand, JAMA 249, 1983). Draws that miss a share now have missed it at each earlier
    look, so that the bound holds at whatever number of draws one stops.
    """
    return float(1 - error ** (1 / count))


@dataclass(frozen=True)
class Apart:
    """The distance by which patterns that no round drew may part two arms.

    It is `distance` on the scale of logarithms if all patterns of a stratum were so. A round has `trials` in it.
    """

    distance: float
    trials: int

    def room(self, rounds: int, error: float) -> float:
        """Return by how much the true mean may lie beside the mean that a number of rounds sample, if they miss what
        parts the arms with a probability of at most `error`.
        """
        return self.distance * unseen_share(error, rounds * self.trials)


def with_room(analyse: Analyse, advantage: Floats, room: float) -> Paired:
    """Return what `analyse` finds if the true mean is up to `room` below or above the mean that the rounds sample.

    The interval holds both, each p value is the largest, and p of a difference is 1 if `room` would change the sign of
    the mean. `advantage` has shape (rounds,), and `room` is on its scale.
    """
    seen = analyse(advantage)
    if seen.p is None or seen.p_equivalence is None:
        return seen
    below, above = (analyse(advantage + end) for end in (-room, room))
    against = below if seen.mean > 0 else above
    p_moved = 1.0 if against.p is None or against.mean * seen.mean <= 0 else against.p
    return Paired(
        seen.mean,
        below.low,
        above.high,
        max(seen.p, p_moved),
        max(1.0 if side.p_equivalence is None else side.p_equivalence for side in (below, seen, above)),
        constant=False,
    )


def allowing(analyse: Analyse, advantage: Floats, losses: float, *, is_log: bool, magnitude: float = 1.0) -> Paired:
    """Return the same for loads that lose this number of packets at random on average (`larger_pct`)."""
    return with_unseen(analyse, advantage, larger_pct(losses), is_log=is_log, magnitude=magnitude)


def analysed(
    analyse: Analyse, advantage: Floats, losses: Floats | None, *, is_log: bool, magnitude: float = 1.0
) -> Paired:
    """Return what `analyse` finds in the advantages, with room for losses that the rounds may have missed.

    `losses` are the random losses of each of these rounds; None if the path loses nothing at random.
    """
    if losses is None:
        return analyse(advantage)
    return allowing(analyse, advantage, float(np.mean(losses)), is_log=is_log, magnitude=magnitude)


def rounds_needed(decides: Callable[[Floats], bool], advantage: Floats) -> int | None:
    """Return about how many rounds like these `decides` needs; None if 20 times as many do not suffice."""
    count = len(advantage)
    while count < _MOST_TIMES * len(advantage):
        count += -(-count // 8)
        if decides(np.resize(advantage, count)):
            return count
    return None


def sentence(losses: float, needed: int | None = None) -> str:
    """Return what a reader must know: that losses are random, and how many rounds would be enough (None: unknown)."""
    more = "" if needed is None else f"; about {needed} rounds like these would decide"
    return (
        f"each load lost {losses:.2g} packets at random on average, and rounds may have missed the loss that costs "
        f"most: interval and tests allow for one more round with a value {larger_pct(losses):.0f} % larger{more}"
    )


def sentence_of_strata(unseen_pct: float) -> str:
    """Return what a reader must know of losses that are integrated."""
    return (
        "losses are integrated: each round is a mean over all loads, and interval and tests allow for one more round "
        f"with a value {unseen_pct:.2g} % larger"
    )


def sentence_of_pairs(room_pct: float) -> str:
    """Return what a reader must know of arms with nearly the same programs, whose losses are integrated."""
    return (
        "losses are integrated: each round is a mean over all loads, and interval and tests allow for patterns of "
        f"losses that no round drew, which may part these arms by {room_pct:.2g} % of the mean"
    )


def not_counted(rounds: int) -> str:
    """Return what a reader must know of rounds whose random losses no log tells."""
    return (
        f"{rounds} rounds have no log of a link, so that it is not known how many packets they lost at random: they "
        "count as rounds without loss, for which most is allowed"
    )
