"""A change that leaves what a detector saw as it was did not touch the cause."""

import pytest

from longlook.explain.cause import Sign
from longlook.explain.touched import as_before

SEEN = Sign(10**8, dose=2.0)


@pytest.mark.parametrize(
    ("after", "same"),
    [
        (None, False),
        (Sign(0, dose=2.0), False),
        (Sign(10**8, dose=2.1), True),  # the estimate is as wrong as before
        (Sign(6 * 10**7, dose=2.0), True),
        (Sign(10**8, dose=1.2), False),
        (Sign(4 * 10**7, dose=2.0), False),
    ],
)
def test_the_value_that_matters_decides_and_then_the_time(after: Sign | None, same: bool) -> None:
    assert as_before(SEEN, after) is same


def test_without_a_value_the_time_decides() -> None:
    assert as_before(Sign(10**8), Sign(95 * 10**6))
    assert not as_before(Sign(10**8), Sign(85 * 10**6))
