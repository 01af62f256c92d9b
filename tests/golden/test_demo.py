"""Any change in link, laboratory, stack glue or measurement shows here, as a difference that somebody reviews."""

import json
import os
from pathlib import Path

import pytest

from tests.golden.snapshot import SNAPSHOT, moved, take

pytestmark = [pytest.mark.lab, pytest.mark.slow, pytest.mark.timeout(1800)]


def test_the_demo_gives_exactly_the_numbers_on_record(tmp_path: Path) -> None:
    before = json.loads(SNAPSHOT.read_text())
    after = take(tmp_path / "run", jobs=os.cpu_count() or 1)
    assert before["values"] == after["values"], moved(before, after)
