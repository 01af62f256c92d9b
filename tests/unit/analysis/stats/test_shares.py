"""Intervals of shares: the exact one, against known values and the law that it inverts."""

import pytest
from scipy import stats

from longlook.analysis.stats.procedures import exact_interval


@pytest.mark.parametrize(
    ("events", "trials", "expected"),
    [(0, 10, (0.0, 0.30849710781876083)), (10, 10, (0.6915028921812392, 1.0)), (1, 1000, (2.5318e-05, 0.0055589))],
)
def test_the_interval_is_that_of_clopper_and_pearson(events: int, trials: int, expected: tuple[float, float]) -> None:
    assert exact_interval(events, trials) == pytest.approx(expected, rel=1e-3)


def test_each_end_has_half_of_the_error() -> None:
    low, high = exact_interval(7, 40, 0.9)
    assert stats.binom.sf(6, 40, low) == pytest.approx(0.05)
    assert stats.binom.cdf(7, 40, high) == pytest.approx(0.05)
