"""Any change in link, laboratory, stack glue or measurement shows here, as a difference that somebody reviews."""

import json
import os
from pathlib import Path

import pytest

from tests.golden.snapshot import SNAPSHOT, first_rounds, moved, take

pytestmark = [pytest.mark.lab, pytest.mark.slow, pytest.mark.timeout(1800)]


ROUNDS = 4
"""Of the ten on record; `make generate` runs them all."""


def test_the_demo_gives_exactly_the_numbers_on_record(tmp_path: Path) -> None:
    before = first_rounds(json.loads(SNAPSHOT.read_text()), ROUNDS)
    after = take(tmp_path / "run", jobs=os.cpu_count() or 1, rounds=ROUNDS)
    assert before["values"] == after["values"], moved(before, after)
