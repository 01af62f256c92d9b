"""Tests and intervals of advantages that repeat: counts, shares that are often 0, the same value round after round.

Student's t estimates an error from the spread of the rounds. Values that repeat have a spread that says little: ten
equal advantages have none, and a t interval of no width. But they are ten draws, and a part q of all that could be
drawn is missed by n draws with a probability of (1 − q)ⁿ. So here nothing is estimated from the spread.

- **Test.** If the arms are alike, each advantage is as likely as its negative, because the arms could be swapped in any
  round. The signs are flipped in all ways, and p is the share of ways whose mean is at least as far from 0 (Fisher, The
  Design of Experiments, 1935, 21; Pitman, J. R. Stat. Soc. Suppl. 4, 1937). It is exact. For values that are 0 or 1 it
  is the exact McNemar test. Beyond EXACT rounds FLIPS random ways are drawn, with p = (1 + b)/(1 + B), which is valid
  for any B (Phipson and Smyth, SAGMB 9, 2010).
- **Interval.** Gaffke's bounds of a mean (Mathematical Methods of Statistics 14, 2005), which assume no shape but that
  nothing lies beyond an end. Between the n ordered advantages and that end lie n + 1 parts of the probability, as
  between the order statistics of n uniform draws; a bound is a quantile of the mean over these parts. It is exactly
  Clopper and Pearson's if values are 0 or the end (Biometrika 26, 1934). The ends are ± the largest advantage seen: an
  unseen round may be as bad as the worst one was good. If advantages have several sizes, the largest seen need not be
  the end; the interval is then the wider of Gaffke's and the one by `procedures.paired`.
- **Equivalence.** The larger p of these procedures, and at least 1/2ⁿ: if most of what could be drawn were beyond the
  margin, n rounds within it would have at most this probability.

Random numbers are the same for every cell with as many rounds, so that a result can be repeated.
"""

from functools import cache
from itertools import product

import numpy as np
import numpy.typing as npt

from longlook.analysis.stats import procedures
from longlook.analysis.stats.procedures import ROUNDING, Floats, Paired

EXACT = 12
"""Up to this number of rounds all ways of flipping signs are counted: 4,096."""

FLIPS = 19_999
"""The number of random ways beyond that."""

_DRAWS = 20_000
"""The number of uniform samples behind Gaffke's bounds; a bound at 97.5 % then errs by 0.1 % of the probability."""

_SEED = 19352005
_EQUAL = 1 - 1e-9
"""A way that reaches the same sum has the same mean, apart from rounding."""


def repeats(advantage: Floats) -> bool:
    """Return whether an advantage is 0, or two of them are equal except for their sign: no continuous law gives these.

    `advantage` has shape (rounds,) and at least one round.
    """
    sizes = np.sort(np.abs(advantage))
    return bool(sizes[0] <= ROUNDING * sizes[-1] or np.any(np.diff(sizes) <= ROUNDING * sizes[-1]))


def paired(advantage: Floats, margin: float, confidence: float) -> Paired:
    """Return the test, the interval and the test of equivalence of the mean advantage against ±`margin`.

    The interval has no bounds with so few rounds that all of them have one sign with a probability of more than
    1 − `confidence`. `advantage` has shape (rounds,) and at least one round.
    """
    count, mean = len(advantage), float(np.mean(advantage))
    if count < 2:
        return Paired(mean, None, None, None, None, constant=False)
    p_within = 0.5**count
    one_sided = (1 + confidence) / 2
    bounded = 2 * p_within <= 1 - confidence
    above, below = mean_bounds(advantage), mean_bounds(-advantage)
    low, high = -_quantile(below, one_sided), _quantile(above, one_sided)
    p_equivalence = max(p_within, _p_reaches(above, margin), _p_reaches(below, margin))
    by_spread = None if _has_one_size(advantage) else procedures.paired(advantage, margin, confidence)
    if by_spread is not None and by_spread.low is not None and by_spread.high is not None:
        low, high = min(low, by_spread.low), max(high, by_spread.high)
        p_equivalence = max(p_equivalence, by_spread.p_equivalence or 0.0)
    return Paired(
        mean,
        low if bounded else None,
        high if bounded else None,
        p_flipped(advantage),
        p_equivalence,
        constant=False,
    )


def _has_one_size(advantage: Floats) -> bool:
    """Return whether all advantages but zeros, two or more, have the same size, as if each value is 0 or 1."""
    sizes = np.abs(advantage)
    largest = float(np.max(sizes))
    none, whole = sizes <= ROUNDING * largest, sizes >= (1 - ROUNDING) * largest
    return bool(np.all(none | whole) and (np.count_nonzero(whole) >= 2 or largest == 0))


def p_flipped(advantage: Floats) -> float:
    """Return the two-sided p of the mean of advantages under flips of their signs, at least 2/2ⁿ."""
    signs = _signs(len(advantage))
    sums = np.abs(np.sum(signs * advantage, axis=1))  # no product of matrices: it would start threads
    reached = int(np.count_nonzero(sums >= abs(float(np.sum(advantage))) * _EQUAL))
    return reached / len(signs) if len(advantage) <= EXACT else (1 + reached) / (1 + len(signs))


def mean_bounds(advantage: Floats) -> Floats:
    """Return draws of Gaffke's upper bound of the mean, shape (draws,); of −`advantage` the negative lower bound."""
    ordered = np.sort(advantage)
    end = float(np.max(np.abs(advantage)))
    gaps = np.diff(np.append(ordered, end))
    found: Floats = end - np.sum(_uniforms(len(advantage)) * gaps, axis=1)
    return found


def _quantile(draws: Floats, share: float) -> float:
    return float(np.quantile(draws, share, method="higher"))


def _p_reaches(draws: Floats, margin: float) -> float:
    """Return the p of a mean beyond the margin. Without a gap between bound and margin, nothing lies beyond."""
    if float(np.max(draws)) <= margin * (1 + ROUNDING):
        return 0.0
    return float(1 + np.count_nonzero(draws > margin)) / (1 + len(draws))


@cache
def _signs(rounds: int) -> npt.NDArray[np.int8]:
    if rounds <= EXACT:
        return np.array(list(product((1, -1), repeat=rounds)), np.int8)
    generator = np.random.Generator(np.random.PCG64([_SEED, rounds]))
    return (2 * generator.integers(0, 2, (FLIPS, rounds), np.int8) - 1).astype(np.int8)


@cache
def _uniforms(rounds: int) -> Floats:
    """Return ordered uniform samples, shape (draws, rounds)."""
    generator = np.random.Generator(np.random.PCG64([_SEED, rounds]))
    found: Floats = np.sort(generator.random((_DRAWS, rounds)), axis=1)
    return found
