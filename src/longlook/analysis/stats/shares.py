"""Shares of events among trials: intervals that hold whatever the share is."""

from longlook.analysis.stats import libraries


def exact_interval(events: int, trials: int, confidence: float = 0.95) -> tuple[float, float]:
    """Return an interval of the share of events that holds it with at least `confidence`, of `trials` ≥ 1.

    It is that of Clopper and Pearson (Biometrika 26, 1934), by scipy's binomtest. It holds the mean share, too, where
    trials are independent and some have a larger share than others: such a sum varies less than a binomial one.
    """
    found = libraries.stats.binomtest(events, trials).proportion_ci(confidence, method="exact")
    return float(found.low), float(found.high)
