"""Whether what traces do differs between two sets of them: tests in which the trace is the unit, not the step."""

from collections.abc import Iterator
from itertools import combinations
from math import comb

import numpy as np
import numpy.typing as npt
from scipy.stats import fisher_exact

Numbers = npt.NDArray[np.float64]

FEWEST_TRACES = 4
"""Of each set, for a test over traces to be able to say anything at the usual levels."""

_MOST_EXACT = 20_000
"""Up to so many ways to deal the traces into two sets, all are tried; else as many at random."""
_CELLS_AT_ONCE = 4_000_000
_SEED = 2017


class Deals:
    """Ways to deal traces into two sets of the sizes that they have; the first `many_a` traces are those of A.

    Permutation tests (Fisher, The Design of Experiments, 1935): were the sets alike, every deal would be as likely as
    the real one. Random deals come from a fixed seed, so a result repeats; of them the real one counts as one more.
    """

    def __init__(self, many_a: int, many_b: int) -> None:
        self._size, self._many_a = many_a + many_b, many_a
        self.exact = comb(self._size, many_a) <= _MOST_EXACT

    def p_values(self, parts: Numbers, wholes: Numbers) -> Numbers:
        """Per column: how often a deal sets the two ratios of sums, parts of wholes, as far apart as they are.

        A row per trace, those of A first. Two-sided. A deal that leaves a set without any whole tells nothing, and
        counts against a difference; where the real one does, p is 1.
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
        """Deals in portions: a row each, true for the traces in A."""
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
    """Per deal and column, how far apart the ratios are; infinite where a set has no whole."""
    chosen = dealt.astype(np.float64)
    part_a, whole_a = chosen @ parts, chosen @ wholes
    part_b, whole_b = parts.sum(axis=0) - part_a, wholes.sum(axis=0) - whole_a
    with np.errstate(divide="ignore", invalid="ignore"):
        distance = np.abs(part_a / whole_a - part_b / whole_b)
    return np.where((whole_a > 0) & (whole_b > 0), distance, np.inf)


def fisher_p(taken_a: int, left_a: int, taken_b: int, left_b: int) -> float:
    """Fisher's exact test of counts, two-sided: it takes every step for independent, which those of a trace are not."""
    return float(fisher_exact(np.array([[taken_a, left_a - taken_a], [taken_b, left_b - taken_b]])).pvalue)
