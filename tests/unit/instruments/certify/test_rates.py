"""Rates: what is counted, and whether a level is kept."""

import pytest

from longlook.instruments.certify.rates import Limit, Promise, RateFinding, found


def promise(nominal: float | None, limit: Limit | None) -> Promise:
    return Promise("part", "procedure", "event", "trials", nominal, limit)


@pytest.mark.parametrize(
    ("events", "nominal", "limit", "finding"),
    [
        (0, 0.05, Limit.AT_MOST, RateFinding.HELD),
        (5, 0.05, Limit.AT_MOST, RateFinding.COMPATIBLE),
        (20, 0.05, Limit.AT_MOST, RateFinding.MISSED),
        (100, 0.95, Limit.AT_LEAST, RateFinding.HELD),
        (95, 0.95, Limit.AT_LEAST, RateFinding.COMPATIBLE),
        (80, 0.95, Limit.AT_LEAST, RateFinding.MISSED),
        (80, None, None, RateFinding.MEASURED),
    ],
)
def test_a_level_is_kept_or_missed_where_the_whole_interval_says_so(
    events: int, nominal: float | None, limit: Limit | None, finding: RateFinding
) -> None:
    rate = promise(nominal, limit).rate(number < events for number in range(100))
    assert rate is not None
    assert (rate.events, rate.trials, rate.share) == (events, 100, events / 100)
    assert rate.finding is finding


def test_without_a_trial_there_is_no_rate() -> None:
    assert found([promise(0.05, Limit.AT_MOST).rate([])]) == []
