"""One of each experiment of `make torture` that takes seconds; hours of them are for docs/reference/run-folders.md."""

from pathlib import Path

import pytest

from tests.torture.__main__ import perform

pytestmark = [pytest.mark.lab, pytest.mark.slow, pytest.mark.timeout(900)]


@pytest.mark.parametrize(
    ("experiment", "seed"),
    [("kill, virtual", 1), ("full disk", 3), ("hostile program", 2), ("damaged file", 1), ("damaged file", 2)],
)
def test_what_is_tortured_survives(tmp_path: Path, experiment: str, seed: int) -> None:
    made = perform(experiment, 1, seed, tmp_path)
    assert made.broken is None, made
    assert made.variant
    assert list((tmp_path / "places").iterdir()) == []
