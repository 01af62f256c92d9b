"""Rates: what is counted, and whether a level is kept."""

import pytest

from longlook.instruments.certify.certificate import Part
from longlook.instruments.certify.rates import Limit, Promise, RateFinding, band, found


def promise(nominal: float | None, limit: Limit | None) -> Promise:
    return Promise("part", "procedure", "event", "trials", nominal, limit)


@pytest.mark.parametrize(
    ("events", "trials", "nominal", "limit", "finding"),
    [
        (0, 100, 0.05, Limit.AT_MOST, RateFinding.HELD),
        (5, 100, 0.05, Limit.AT_MOST, RateFinding.COMPATIBLE),
        (20, 100, 0.05, Limit.AT_MOST, RateFinding.MISSED),
        (9550, 10_000, 0.95, Limit.NEAR, RateFinding.HELD),
        (9360, 10_000, 0.95, Limit.NEAR, RateFinding.HELD),
        (9240, 10_000, 0.95, Limit.NEAR, RateFinding.MISSED),
        (9840, 10_000, 0.95, Limit.NEAR, RateFinding.TOO_WIDE),
        (9810, 10_000, 0.95, Limit.NEAR, RateFinding.COMPATIBLE),
        (9290, 10_000, 0.95, Limit.NEAR, RateFinding.COMPATIBLE),
        (80, 100, 0.95, Limit.NEAR, RateFinding.MISSED),
        (95, 100, 0.95, Limit.NEAR, RateFinding.COMPATIBLE),
        (100, 100, 0.95, Limit.NEAR, RateFinding.COMPATIBLE),  # 96.4 to 100 %: too few to tell
        (200, 200, 0.95, Limit.NEAR, RateFinding.TOO_WIDE),
        (80, 100, None, None, RateFinding.MEASURED),
    ],
)
def test_a_rate_is_found_to_break_its_promise_if_its_whole_interval_does(
    events: int, trials: int, nominal: float | None, limit: Limit | None, finding: RateFinding
) -> None:
    rate = promise(nominal, limit).rate(number < events for number in range(trials))
    assert rate is not None
    assert (rate.events, rate.trials, rate.share) == (events, trials, events / trials)
    assert rate.finding is finding


def test_the_band_is_93_to_98_pct_of_95_and_keeps_its_shape_for_other_levels() -> None:
    assert band(0.95) == pytest.approx((0.93, 0.98))
    assert band(0.99) == pytest.approx((0.986, 0.996))


def test_more_errors_are_worse_than_fewer() -> None:
    """A certificate with intervals that are too wide is sound, and one with a missed level is not."""
    wide, missed = (promise(0.95, Limit.NEAR).rate(number < count for number in range(1000)) for count in (1000, 900))
    assert wide is not None
    assert missed is not None
    assert Part((wide,)).sound
    assert not Part((wide, missed)).sound


def test_a_miss_that_the_documents_name_is_shown_and_fails_nothing() -> None:
    known = Promise("part", "procedure", "event", "trials", 0.01, Limit.AT_MOST, known=True)
    for events, finding in ((0, RateFinding.HELD), (100, RateFinding.KNOWN)):
        rate = known.rate(number < events for number in range(1000))
        assert rate is not None
        assert rate.finding is finding
        assert Part((rate,)).sound


def test_without_a_trial_there_is_no_rate() -> None:
    assert found([promise(0.05, Limit.AT_MOST).rate([])]) == []
