"""Test whether two sets of traces differ: the unit of the tests is the trace, not the step."""

from collections.abc import Iterator
from itertools import combinations
from math import comb

import numpy as np
import numpy.typing as npt

from longlook.analysis import libraries

Numbers = npt.NDArray[np.float64]

FEWEST_TRACES = 4
"""The smallest number of traces in each set with which a test over traces can be significant at the usual levels."""

_MOST_EXACT = 20_000
"""The number of ways to deal the traces into two sets up to which all are tried; beyond, as many are drawn at
random.
"""
_CELLS_AT_ONCE = 4_000_000
_SEED = 2017


class Deals:
    """The ways to deal traces into two sets of their actual sizes; the first `many_a` traces are A's.

    Permutation tests (Fisher, The Design of Experiments, 1935): if the sets were alike, every deal would be as likely
    as the real one. Random deals come from a fixed seed, so a result repeats; the real deal counts as one more of them.
    """

    def __init__(self, many_a: int, many_b: int) -> None:
        self._size, self._many_a = many_a + many_b, many_a
        self.exact = comb(self._size, many_a) <= _MOST_EXACT

    def p_values(self, parts: Numbers, wholes: Numbers) -> Numbers:
        """Return, per column, the share of deals that set the two ratios of sums (parts of wholes) as far apart as they
        are.

        There is a row per trace, A's first; the test is two-sided. A deal that leaves a set without any whole counts
        against a difference; if the real one does, p is 1.
        """
        real = np.arange(self._size) < self._many_a
        observed = _distance(real[np.newaxis], parts, wholes)[0]
        as_far, deals = np.zeros(parts.shape[1]), 0
        for dealt in self._dealt():
            as_far += (_distance(dealt, parts, wholes) >= observed * (1 - 1e-9)).sum(axis=0)
            deals += len(dealt)
        p = as_far / deals if self.exact else (as_far + 1) / (deals + 1)
        return np.where(np.isfinite(observed), p, 1.0)

    def _dealt(self) -> Iterator[npt.NDArray[np.bool_]]:
        """Yield deals in portions: a row each, true for the traces in A."""
        if self.exact:
            chosen = np.array(list(combinations(range(self._size), self._many_a)))
            dealt = np.zeros((len(chosen), self._size), dtype=bool)
            np.put_along_axis(dealt, chosen, values=True, axis=1)
            yield dealt
            return
        random = np.random.default_rng(_SEED)
        real = np.arange(self._size) < self._many_a
        at_once = max(1, _CELLS_AT_ONCE // self._size)
        for begin in range(0, _MOST_EXACT, at_once):
            rows = min(at_once, _MOST_EXACT - begin)
            yield random.permuted(np.broadcast_to(real, (rows, self._size)), axis=1)


def _distance(dealt: npt.NDArray[np.bool_], parts: Numbers, wholes: Numbers) -> Numbers:
    """Return the distance of the ratios per deal and column; infinite if a set has no whole."""
    chosen = dealt.astype(np.float64)
    part_a, whole_a = chosen @ parts, chosen @ wholes
    part_b, whole_b = parts.sum(axis=0) - part_a, wholes.sum(axis=0) - whole_a
    with np.errstate(divide="ignore", invalid="ignore"):
        distance = np.abs(part_a / whole_a - part_b / whole_b)
    return np.where((whole_a > 0) & (whole_b > 0), distance, np.inf)


def fisher_p(taken_a: int, left_a: int, taken_b: int, left_b: int) -> float:
    """Return the p value of Fisher's exact test of counts, two-sided.

    It takes steps for independent, which the steps of one trace are not.
    """
    return float(
        libraries.stats.fisher_exact(np.array([[taken_a, left_a - taken_a], [taken_b, left_b - taken_b]])).pvalue
    )
