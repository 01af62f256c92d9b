"""Plackett-Burman designs: orthogonal, balanced, and as small as there is room for."""

import numpy as np
import pytest

from longlook.explain.search.screening_design import MOST_FACTORS, plackett_burman


@pytest.mark.parametrize("factors", range(1, MOST_FACTORS + 1))
def test_every_column_is_balanced_and_orthogonal_to_every_other(factors: int) -> None:
    signs = plackett_burman(factors).astype(int)
    runs = len(signs)
    assert signs.shape == (runs, factors)
    assert (signs.T @ signs == runs * np.eye(factors, dtype=int)).all()
    assert (signs.sum(axis=0) == 0).all()


def test_the_design_is_the_smallest_with_room() -> None:
    sizes = {factors: len(plackett_burman(factors)) for factors in (1, 7, 8, 11, 12, 15, 16, 19, 20, 23)}
    assert sizes == {1: 8, 7: 8, 8: 12, 11: 12, 12: 16, 15: 16, 16: 20, 19: 20, 20: 24, 23: 24}


def test_the_first_row_of_twelve_is_the_published_one_and_the_last_changes_nothing() -> None:
    signs = plackett_burman(11)
    assert signs[0].tolist() == [1, 1, -1, 1, 1, 1, -1, -1, -1, 1, -1]
    assert signs[1].tolist() == [-1, 1, 1, -1, 1, 1, 1, -1, -1, -1, 1]
    assert (signs[-1] == -1).all()


@pytest.mark.parametrize("factors", [0, MOST_FACTORS + 1])
def test_a_number_of_factors_without_a_design_is_refused(factors: int) -> None:
    with pytest.raises(ValueError, match=f"{factors} factors: a design is for 1 to {MOST_FACTORS}"):
        plackett_burman(factors)
