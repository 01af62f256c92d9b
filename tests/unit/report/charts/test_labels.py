"""Labels that move apart."""

import numpy as np
import pytest

from longlook.report.charts.labels import apart


@pytest.mark.parametrize(
    ("wanted", "places"),
    [
        ([], []),
        ([50.0], [50.0]),
        ([10.0, 80.0], [10.0, 80.0]),
        ([50.0, 50.0, 50.0], [37.0, 50.0, 63.0]),
        ([99.0, 98.0], [100.0, 87.0]),
        ([0.0, 0.0, 90.0], [0.0, 13.0, 90.0]),
    ],
)
def test_labels_move_apart_in_order_and_stay_inside(wanted: list[float], places: list[float]) -> None:
    assert apart(wanted, 13.0, 0.0, 100.0) == pytest.approx(places)


def test_many_labels_share_the_room_that_there_is() -> None:
    places = apart([50.0] * 21, 13.0, 0.0, 100.0)
    assert sorted(places) == pytest.approx(np.linspace(0, 100, 21).tolist())
