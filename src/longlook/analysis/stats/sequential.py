"""Tests and intervals that stay valid however often they are looked at, so that rounds may stop when they suffice.

Two e-processes stand behind each statement about the advantages of rounds (`procedures.advantages`), and the weaker one
decides. An e-process is a number that is 1 at the start and that no way of looking and stopping makes large by chance.
It ever reaches 1/a with a probability of at most a (Ville 1939). Its inverse is therefore a p value, and the values
that it does not refute are an interval, both at any time.

The first is about the mean, for normal advantages of unknown variance. It is by Lai (1976), and by Wang and Ramdas
(Anytime-valid t-tests and confidence sequences for Gaussian means with unknown variance, Sequential Analysis 43, 2024).
There are n advantages with mean m and standard deviation s. Let t² = n(m − value)²/s², u = t²/(n − 1) and r =
PRECISION/(PRECISION + n). The e-process is

    e = √r · ((1 + u)/(1 + r·u))^(n/2),

the mixture over a normal effect size of precision PRECISION. The values that it does not refute at 1 − a are within

    |m − value| ≤ s·√((n − 1)(K − 1)/(1 − K·r)/n),  K = (1/(a·√r))^(2/n),  without a bound if K·r ≥ 1.

The second is about the median, for advantages of any law: if the value is a median, an advantage lies above it with a
probability of at most 1/2, and below it likewise. The formula is a bet on either with a Beta(1/2, 1/2) mixture over the
share. It is by Ville (1939), and by Howard and Ramdas (Sequential estimation of quantiles with applications to A/B
testing and best-arm identification, Bernoulli 28, 2022, 3).

    e = (e_above + e_below)/2,  e_above = 2ⁿ · 2·B(k + 1/2, n − k + 1/2)/B(1/2, 1/2) · P(X ≥ 1/2).

Here k of n advantages are above the value, and X ~ Beta(k + 1/2, n − k + 1/2); e_below counts the advantages below it.
Advantages that equal the value count for neither.

The first is sharp and trusts the normal law, the second trusts nothing and keeps the first from deciding by a few equal
or skewed advantages. An interval that holds the ends of both holds the median always, and the mean if the advantages
are not too skewed. The tests of this module measure how often, and docs/explanation/statistics.md has the numbers.
"""

import math

import numpy as np

from longlook.analysis.stats import discrete, libraries, procedures
from longlook.analysis.stats.procedures import ROUNDING, Floats, Paired

PRECISION = 1.907
"""The precision of the mixture over effect sizes: the interval of 95 % is then shortest after 20 rounds."""

LOOKS = 0.5
"""The share of the error that the looks before the last one may use."""

_BETA = 0.5


def paired(
    advantage: Floats, margin: float, confidence: float, *, last: bool, skewed: bool = True, repeated: bool = False
) -> Paired:
    """Return the result of `procedures.paired`, valid after whatever number of rounds the study stops.

    The share LOOKS of the allowed error goes to the looks at any time, the rest to one look after the largest possible
    number of rounds. This look (`last`) is planned beforehand and may also use `procedures.paired`, or
    `discrete.paired` if advantages are `repeated`. `p` is of a mean and median of 0, `p_equivalence` the larger of two
    one-sided p values against ±`margin`. A bound is None as long as there is none.
    `advantage` has shape (rounds,) and at least one round.
    """
    low, high = interval(advantage, 1 - LOOKS * (1 - confidence))
    p = min(p_above(advantage, 0.0), p_above(-advantage, 0.0)) / LOOKS
    p_equivalence = max(p_above(advantage, -margin), p_above(-advantage, -margin)) / LOOKS
    if last:
        share = 1 - (1 - LOOKS) * (1 - confidence)
        if repeated:
            fixed = discrete.paired(advantage, margin, share)
        else:
            fixed = procedures.paired(advantage, margin, share, skewed=skewed)
        if not fixed.constant and fixed.low is not None and fixed.high is not None:
            low = fixed.low if low is None else max(low, fixed.low)
            high = fixed.high if high is None else min(high, fixed.high)
        if not fixed.constant and fixed.p is not None and fixed.p_equivalence is not None:
            p = min(p, fixed.p / (1 - LOOKS))
            p_equivalence = min(p_equivalence, fixed.p_equivalence / (1 - LOOKS))
    return Paired(float(np.mean(advantage)), low, high, min(p, 1.0), min(p_equivalence, 1.0), constant=False)


def fails_more(contender_only: int, baseline_only: int, *, last: bool) -> float:
    """Return the one-sided p of `procedures.fails_more`, valid at whatever number of rounds one stopped.

    If both fail alike, each round that one arm alone lost is a fair coin; the bet is the same as for the median.
    """
    p = math.exp(min(0.0, -_log_bet(contender_only, contender_only + baseline_only))) / LOOKS
    if last:
        p = min(p, procedures.fails_more(contender_only, baseline_only) / (1 - LOOKS))
    return min(p, 1.0)


def p_beyond(advantage: Floats, *, last: bool, skewed: bool = True) -> float:
    """Return the one-sided p value of a mean and median not above 0, valid at whatever number of rounds one stopped.

    As in `paired`, LOOKS of the error goes to the looks at any time, and `last` is the look after the largest number of
    rounds.
    """
    p = p_above(advantage, 0.0) / LOOKS
    if last:
        fixed = procedures.paired(advantage, 0.0, 0.5, skewed=skewed)
        if not fixed.constant and fixed.p is not None and fixed.mean > 0:
            p = min(p, fixed.p / 2 / (1 - LOOKS))
    return min(p, 1.0)


def least_p(count: int) -> float:
    """Return the smallest p value that `p_beyond` can find before the last look in `count` rounds."""
    return min(1.0, math.exp(min(0.0, -_log_e_median(count, 0, count))) / LOOKS)


def p_above(advantage: Floats, value: float) -> float:
    """Return the p value, valid at any time, of the advantages lying not above `value`.

    It is below a exactly if the lower end of `interval` at confidence 1 − a is above `value`. Its negative side is
    `p_above(-advantage, -value)`.
    """
    above, below = int(np.sum(advantage > value)), int(np.sum(advantage < value))
    if float(np.mean(advantage)) <= value or above <= below:
        return 1.0
    weaker = min(_log_e_mean(advantage, value), _log_e_median(above, below, len(advantage)))
    return math.exp(min(0.0, -weaker))


def interval(advantage: Floats, confidence: float) -> tuple[float | None, float | None]:
    """Return the interval at any time that holds the mean and the median with `confidence` each; None: no bound yet."""
    count, threshold = len(advantage), -math.log1p(-confidence)
    if count < 2:
        return None, None
    mean, radius = float(np.mean(advantage)), _radius(advantage, threshold)
    if math.isinf(radius):
        return None, None
    # The outermost advantages that are not refuted: between them and the next, so many lie above and so many below.
    refuted = next((k for k in range(count) if _log_e_median(count - k, k, count) < threshold), count)
    if refuted == 0:
        return None, None
    ordered = np.sort(advantage)
    return min(mean - radius, float(ordered[refuted - 1])), max(mean + radius, float(ordered[count - refuted]))


def _log_e_mean(advantage: Floats, value: float) -> float:
    count = len(advantage)
    if count < 2:
        return 0.0
    ratio = PRECISION / (PRECISION + count)
    distance = float(np.mean(advantage)) - value
    if np.ptp(advantage) <= ROUNDING:
        return 0.5 * math.log(ratio) if abs(distance) <= ROUNDING else math.inf
    u = count * distance**2 / float(np.var(advantage, ddof=1)) / (count - 1)
    return 0.5 * math.log(ratio) + count / 2 * (math.log1p(u) - math.log1p(ratio * u))


def squared_quantile(count: int, confidence: float) -> float:
    """Return what stands in the place of t² in an interval of a mean that holds at any time; infinite: none yet.

    The interval is the mean ± the square root of this times the variance of the mean, as with Student's t. `count` is
    the number of rounds, 2 or more.
    """
    return _squared_quantile(count, -math.log1p(-confidence))


def _squared_quantile(count: int, threshold: float) -> float:
    ratio = PRECISION / (PRECISION + count)
    base = math.exp((threshold - 0.5 * math.log(ratio)) * 2 / count)
    return math.inf if base * ratio >= 1 else (count - 1) * (base - 1) / (1 - base * ratio)


def _radius(advantage: Floats, threshold: float) -> float:
    """Return the distance from the mean at which `_log_e_mean` reaches `threshold`; infinite if it never does."""
    squared = _squared_quantile(len(advantage), threshold)
    if math.isinf(squared):
        return math.inf
    spread = 0.0 if np.ptp(advantage) <= ROUNDING else float(np.std(advantage, ddof=1))
    return spread * math.sqrt(squared / len(advantage))


def _log_e_median(above: int, below: int, count: int) -> float:
    return float(np.logaddexp(_log_bet(above, count), _log_bet(below, count))) - math.log(2)


def _log_bet(hits: int, count: int) -> float:
    """Return the logarithm of the e-process that bets on more than half of `count` being hits."""
    first, second = hits + _BETA, count - hits + _BETA
    share = libraries.special.betaln(first, second) - libraries.special.betaln(_BETA, _BETA)
    upper = libraries.special.betainc(second, first, 0.5)  # of Beta(first, second) above 1/2
    return float((count + 1) * math.log(2) + share + np.log(upper)) if upper > 0 else -math.inf
