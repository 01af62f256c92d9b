"""The statistical procedures on plain arrays for a number of rounds fixed beforehand (else: `sequential`).

They are scipy's and statsmodels', guarded against degenerate and skewed data.
"""

import math
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from longlook.analysis.stats import libraries
from longlook.core import Better

Floats = npt.NDArray[np.float64]

_NO_SKEWNESS = 1e-6
"""Below this skewness Hall's transformation is the identity, to more digits than its inverse keeps."""

ROUNDING = 1e-12
"""The relative spread below which values count as equal: well above rounding in double precision, far below any
clock.
"""


@dataclass(frozen=True)
class Paired:
    """The analysis of one advantage per round (`advantages`); above 0 the contender is better.

    `low`, `high` and both p values are None for a single round. If the advantages are `constant`, there is no sampling
    error to estimate: the interval is a point and each p is 0 or 1.
    """

    mean: float
    low: float | None
    high: float | None
    p: float | None
    p_equivalence: float | None
    constant: bool


def advantages(baseline: Floats, contender: Floats, better: Better) -> tuple[Floats, bool]:
    """Return the contender's advantage in each round, shape (rounds,), and whether it is a log ratio.

    It is ln(contender/baseline), with its sign turned if lower is better. If a value is not positive, logarithms do not
    exist; then it is the difference divided by the mean magnitude of both arms. Swapping the arms changes only the
    sign, and multiplying both by one constant changes nothing.
    """
    sign = 1.0 if better is Better.HIGHER else -1.0
    if np.all(baseline > 0) and np.all(contender > 0):
        return sign * (np.log(contender) - np.log(baseline)), True
    largest = _largest(baseline, contender)
    if largest == 0:
        return np.zeros(len(baseline)), False
    baseline, contender = baseline / largest, contender / largest  # sums of the raw values might overflow
    magnitude = float(np.mean(np.abs(np.concatenate([baseline, contender]))))
    return sign * (contender - baseline) / magnitude, False


def margin(margin_pct: float, is_log: bool) -> float:
    """Return the equivalence margin on the scale of `advantages`: a ratio between 1/(1+m) and 1+m, so that arms can
    swap.
    """
    return math.log1p(margin_pct / 100) if is_log else margin_pct / 100


def paired(advantage: Floats, margin: float, confidence: float, *, skewed: bool = True) -> Paired:
    """Return a test and an interval of the mean advantage, and two one-sided tests against ±`margin`.

    `p` is Student's t (1908): if the arms are alike, an advantage is as likely as its negative, and with such
    symmetry the test holds its level for other laws than the normal, too. Away from zero advantages may be skewed, and
    t intervals of few rounds then miss the mean too often; so the interval, and the two one-sided tests (Schuirmann,
    J. Pharmacokinet. Biopharm. 15, 1987), are the wider of Student's and of Hall's, which removes skewness by a
    transformation of t (J. R. Stat. Soc. B 54, 1992); without `skewed` they are Student's. `advantage` has shape
    (rounds,) and at least one round.
    """
    mean = float(np.mean(advantage))
    if len(advantage) < 2:
        return Paired(mean, None, None, None, None, constant=False)
    if np.ptp(advantage) <= ROUNDING:
        mean = 0.0 if abs(mean) <= ROUNDING else mean
        within = abs(mean) <= margin
        return Paired(mean, mean, mean, float(mean == 0), float(not within), constant=True)
    described = libraries.weightstats.DescrStatsW(advantage)
    low, high = (float(end) for end in described.tconfint_mean(alpha=1 - confidence))
    p, p_equivalence = float(described.ttest_mean(0.0)[1]), float(described.ttost_mean(-margin, margin)[0])
    if skewed:
        skew = _Skewed.of(advantage)
        low, high = min(low, skew.bound(-1, confidence)), max(high, skew.bound(1, confidence))
        p_equivalence = max(p_equivalence, skew.p_above(-margin), skew.mirrored().p_above(-margin))
    return Paired(mean, low, high, p, p_equivalence, constant=False)


@dataclass(frozen=True)
class _Skewed:
    """Hall's transformation g(T) = T + γT²/3 + γ²T³/27 + γ/6n of T = (mean − value)/deviation, γ the skewness."""

    count: int
    mean: float
    deviation: float
    skewness: float

    @classmethod
    def of(cls, values: Floats) -> "_Skewed":
        mean, distance = float(np.mean(values)), values - np.mean(values)
        skewness = float(np.mean(distance**3) / np.mean(distance**2) ** 1.5)
        return cls(len(values), mean, float(np.std(values, ddof=1)), skewness)

    def mirrored(self) -> "_Skewed":
        return replace(self, mean=-self.mean, skewness=-self.skewness)

    def p_above(self, value: float) -> float:
        """Return the one-sided p of the true mean lying not above `value`."""
        scaled = (self.mean - value) / self.deviation
        skewed = self.skewness * scaled / 3
        transformed = scaled * (1 + skewed + skewed**2 / 3) + self.skewness / (6 * self.count)
        return float(libraries.stats.t.sf(transformed * math.sqrt(self.count), self.count - 1))

    def bound(self, sign: int, confidence: float) -> float:
        """Return the lower (`sign` −1) or upper (1) end of the two-sided interval."""
        quantile = -sign * float(libraries.stats.t.ppf((1 + confidence) / 2, self.count - 1)) / math.sqrt(self.count)
        shifted = quantile - self.skewness / (6 * self.count)
        if abs(self.skewness) < _NO_SKEWNESS:
            return self.mean - self.deviation * shifted
        scaled = 3 / self.skewness * (math.cbrt(1 + self.skewness * shifted) - 1)
        return self.mean - self.deviation * scaled


def unpaired(baseline: Floats, contender: Floats, margin: float, confidence: float) -> Paired:
    """Return the same as `paired` of two independent sides on one scale: by Welch's t, whose variances may differ.

    Test and interval are of the contender's mean above the baseline's, with two one-sided tests against ±`margin`.
    There is no correction for skewness. Each side has at least one value; with fewer than two there is no test. If
    neither side varies, the interval is a point.
    """
    mean = float(np.mean(contender) - np.mean(baseline))
    if min(len(baseline), len(contender)) < 2:
        return Paired(mean, None, None, None, None, constant=False)
    if max(np.ptp(baseline), np.ptp(contender)) <= ROUNDING:
        mean = 0.0 if abs(mean) <= ROUNDING else mean
        return Paired(mean, mean, mean, float(mean == 0), float(abs(mean) > margin), constant=True)
    sides = libraries.weightstats.CompareMeans.from_data(contender, baseline)
    low, high = (float(end) for end in sides.tconfint_diff(alpha=1 - confidence, usevar="unequal"))
    p = float(sides.ttest_ind(usevar="unequal")[1])
    p_equivalence = float(sides.ttost_ind(-margin, margin, usevar="unequal")[0])
    return Paired(mean, low, high, p, p_equivalence, constant=False)


def welch(baseline: Floats, contender: Floats) -> float | None:
    """Return p of Welch's t-test (Biometrika 34, 1947) on the values themselves; None with fewer than two on a side.

    Without variance on either side p is 1 if the sides agree, else 0.
    """
    if min(len(baseline), len(contender)) < 2:
        return None
    largest = _largest(baseline, contender)
    if largest == 0:
        return 1.0
    sides = baseline / largest, contender / largest  # a variance of raw values might overflow
    if all(np.ptp(side) <= ROUNDING for side in sides):
        return float(abs(sides[0].mean() - sides[1].mean()) <= ROUNDING)
    (mean_b, std_b, n_b), (mean_c, std_c, n_c) = ((side.mean(), _std(side), len(side)) for side in sides)
    result = libraries.stats.ttest_ind_from_stats(mean_c, std_c, n_c, mean_b, std_b, n_b, equal_var=False)
    return float(result.pvalue)


def mann_whitney(baseline: Floats, contender: Floats) -> float | None:
    """Return the two-sided p of the Mann-Whitney U test (Ann. Math. Stat. 18, 1947); None with fewer than two on a
    side.
    """
    if min(len(baseline), len(contender)) < 2:
        return None
    if len(np.unique(np.concatenate([baseline, contender]))) == 1:
        return 1.0  # all ranks tie: the statistic has no variance
    return float(libraries.stats.mannwhitneyu(contender, baseline, alternative="two-sided").pvalue)


def fails_more(contender_only: int, baseline_only: int) -> float:
    """Return the one-sided p of the exact McNemar test (Psychometrika 12, 1947) that the contender fails more often.

    The arguments count the rounds in which only that arm failed. If both fail alike, each such round is as likely to be
    the one arm's as the other's; rounds in which both or neither failed tell nothing. Without any, p is 1.
    """
    only = contender_only + baseline_only
    if only == 0:
        return 1.0
    return float(libraries.stats.binomtest(contender_only, only, 0.5, alternative="greater").pvalue)


def adjust(p: list[float], correction: str) -> list[float]:
    """Return p values adjusted for testing them all: by `holm`, `fdr_bh` (Benjamini and Hochberg) or `none`."""
    if correction == "none" or len(p) < 2:  # statsmodels collects the garbage of the whole process at each call
        return list(p)
    return [float(value) for value in libraries.multitest.multipletests(p, method=correction)[1]]


def effect_pct(advantage: float | None, better: Better, is_log: bool) -> float | None:
    """Return an advantage in %, as defined at `results.Estimate`; None if it is too large for a float."""
    if advantage is None:
        return None
    try:
        if not is_log:
            effect = 100 * advantage
        elif better is Better.HIGHER:
            effect = 100 * math.expm1(advantage)
        else:
            effect = -100 * math.expm1(-advantage)
    except OverflowError:
        return None
    return effect + 0.0 if math.isfinite(effect) else None  # + 0.0: no minus zero


def _largest(*sides: Floats) -> float:
    return max(float(np.max(np.abs(side))) for side in sides)


def _std(values: Floats) -> float:
    return 0.0 if np.ptp(values) <= ROUNDING else float(np.std(values, ddof=1))


def exact_interval(events: int, trials: int, confidence: float = 0.95) -> tuple[float, float]:
    """Return an interval of the share of events that holds it with at least `confidence`, of `trials` ≥ 1.

    The interval is Clopper and Pearson's (Biometrika 26, 1934), by scipy's binomtest. It holds the mean share, too, if
    trials are independent and some have a larger share than others: such a sum varies less than a binomial one.
    """
    found = libraries.stats.binomtest(events, trials).proportion_ci(confidence, method="exact")
    return float(found.low), float(found.high)
