"""Users drawn from marginals and rank correlations by a Gaussian copula (Nelsen, An Introduction to Copulas, 2006).

Spearman's ρ of a bivariate normal with correlation r is (6/π)·asin(r/2), so r = 2·sin(πρ/6). Each user is a vector of
correlated normal numbers; a quantity is its marginal's quantile at the normal's probability. Between two quantiles the
quantity is linear in the normal number, on the quantity's own scale: a log-normal piece of a round trip or a rate.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from longlook.analysis.stats import libraries
from longlook.analysis.stats.procedures import Floats

Marginal = Sequence[tuple[float, float]]
"""Quantiles in ascending order: (probability between 0 and 1, value on the scale that is interpolated)."""


class NoCopulaError(ValueError):
    """The rank correlations contradict each other: no three quantities have all of them."""


def draw(
    marginals: Mapping[str, Marginal], correlations: Mapping[tuple[str, str], float], users: int, seed: int
) -> tuple[dict[str, Floats], float]:
    """Return `users` values of each quantity, and the share of values beyond the outermost quantiles.

    Such values are taken as the outermost quantile: nothing is known of what lies beyond. NoCopulaError if the
    correlations are no matrix of any distribution.
    """
    names = list(marginals)
    matrix = np.eye(len(names))
    for (one, other), rank in correlations.items():
        r = 2 * np.sin(np.pi * rank / 6)
        matrix[names.index(one), names.index(other)] = matrix[names.index(other), names.index(one)] = r
    try:
        root = np.linalg.cholesky(matrix)
    except np.linalg.LinAlgError as error:
        raise NoCopulaError from error
    normal = np.random.default_rng(seed).standard_normal((users, len(names))) @ root.T
    found: dict[str, Floats] = {}
    beyond = 0
    for at, name in enumerate(names):
        scores = np.array(libraries.stats.norm.ppf([probability for probability, _ in marginals[name]]), np.float64)
        values = [value for _, value in marginals[name]]
        found[name] = np.interp(normal[:, at], scores, values)
        beyond += int(np.sum((normal[:, at] < scores[0]) | (normal[:, at] > scores[-1])))
    return found, beyond / (users * len(names))
