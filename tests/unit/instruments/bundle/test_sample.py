"""Samples: random, spread over cells and arms, the same for the same seed."""

from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from longlook.core import InputError
from longlook.instruments.bundle.sample import draw, sample_size
from tests.data.trials import trial

TRIALS = [
    replace(trial(), id=f"{cell}-{arm}-{number}", cell_id=cell, arm=arm, round=number)
    for number in range(5)
    for cell in ("a", "b", "c")
    for arm in ("tcp", "quic")
]


@given(st.integers(0, len(TRIALS)), st.integers(0, 99))
def test_a_sample_is_spread_over_cells_and_arms(count: int, seed: int) -> None:
    drawn = draw(TRIALS, count, seed)
    assert drawn == draw(TRIALS, count, seed)
    assert len(drawn) == count
    counts = Counter((each.cell_id, each.arm) for each in drawn)
    spread = [counts[cell, arm] for cell in "abc" for arm in ("tcp", "quic")]
    assert max(spread) - min(spread) <= 1
    places = [TRIALS.index(each) for each in drawn]
    assert places == sorted(places)


def test_other_seeds_draw_other_trials() -> None:
    assert len({tuple(each.id for each in draw(TRIALS, 3, seed)) for seed in range(20)}) > 10


@pytest.mark.parametrize(
    ("text", "count"),
    [("5%", 21), ("0%", 0), ("100%", 420), ("0.1%", 1), ("7", 7), ("0", 0), ("999", 420), ("all", 420)],
)
def test_a_sample_is_a_share_a_number_or_all(text: str, count: int) -> None:
    assert sample_size(text, 420) == count


@pytest.mark.parametrize(
    "text", ["", "%", "-1", "101%", "nan%", "inf%", "x", "1.5", "5 percent", "1e999%", "٣", "all%"]
)
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="--sample"):
        sample_size(text, 420)
