"""A change that leaves what a detector saw as it was did not touch the cause."""

import pytest

from longlook.explain.cause import Sign
from longlook.explain.judge import as_before, consequences, is_gone

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


def test_a_sign_is_gone_with_nothing_or_a_fifth_of_it() -> None:
    assert is_gone(SEEN, None) and is_gone(SEEN, Sign(2 * 10**7))
    assert not is_gone(SEEN, Sign(3 * 10**7))


def test_what_goes_with_another_and_does_not_take_that_away_is_its_consequence() -> None:
    kept, spurious, window = "kept_reduction", "spurious_loss", "initial_window"
    gone = {spurious: frozenset({spurious, kept}), kept: frozenset({kept}), window: frozenset({window})}
    assert consequences(gone) == {kept: spurious}
    both = {spurious: frozenset({spurious, kept}), kept: frozenset({kept, spurious})}
    assert consequences(both) == {}  # either explains the other: neither comes first
    assert consequences({spurious: frozenset({spurious, kept})}) == {}  # nobody cured the other
