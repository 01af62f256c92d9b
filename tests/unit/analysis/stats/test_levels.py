"""The level of each arm by itself: the median and its interval."""

import math

import numpy as np
import pandas as pd
import pytest

from longlook.analysis.stats import arm_levels
from longlook.analysis.stats.levels import median_interval
from tests.data.samples import rows, study


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([], (None, None, None)),
        ([3.0], (3.0, None, None)),
        ([1.0, 2.0, 3.0, 4.0, 5.0], (3.0, None, None)),
        ([float(n) for n in range(10)], (4.5, 1.0, 8.0)),
        ([2.0] * 10, (2.0, 2.0, 2.0)),
    ],
)
def test_the_interval_of_a_median(values: list[float], expected: tuple[float | None, ...]) -> None:
    assert median_interval(np.array(values), 0.95) == expected


def test_the_interval_holds_the_median_as_often_as_it_says() -> None:
    random = np.random.default_rng(11)
    held = 0
    for _ in range(1000):
        _, low, high = median_interval(random.exponential(1.0, 10), 0.95)
        assert low is not None
        assert high is not None
        held += low <= math.log(2) <= high
    assert held >= 950  # 97.9 % in theory


def test_levels_of_every_arm_and_cell() -> None:
    samples = pd.concat([rows([1.0, 2.0, None], [4.0, 5.0, 6.0]), rows([7.0], [8.0], cell="b")])
    levels = arm_levels(samples, study(("a", "b")))
    assert [(item.arm, item.cell["rate"], item.n, item.median) for item in levels] == [
        ("tcp", "a", 2, 1.5),
        ("tcp", "b", 1, 7.0),
        ("quic", "a", 3, 5.0),
        ("quic", "b", 1, 8.0),
    ]
