"""A change of a public name is seen, and the message says what to do."""

import json
import shutil
from pathlib import Path

import pytest
from scripts import public_api

RECORD = json.loads((public_api.ROOT / public_api.RECORD).read_text())


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A copy of what the check reads."""
    place = public_api.FACE.parent
    shutil.copytree(public_api.ROOT / place, tmp_path / place, ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / public_api.RECORD).parent.mkdir(parents=True)
    shutil.copy(public_api.ROOT / public_api.RECORD, tmp_path / public_api.RECORD)
    return tmp_path


def edited(checkout: Path, file: str, old: str, new: str) -> list[str]:
    path = checkout / public_api.FACE.parent / file
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    return public_api.changes(checkout)


def test_the_record_is_the_code(checkout: Path) -> None:
    assert public_api.changes(checkout) == []
    assert RECORD["Run.samples"].startswith("samples(metrics: ")
    assert RECORD["Run.estimates[effect_pct]"] == "%"


def test_a_name_that_is_gone_is_named_first(checkout: Path) -> None:
    first, *_, last = edited(checkout, "runs.py", "def to_xarray(", "def to_dataset(")
    assert first.startswith("Run.to_xarray is gone")
    assert "CHANGELOG.md" in last
    assert public_api.RENEW in last


def test_another_default_is_a_change(checkout: Path) -> None:
    first, *_ = edited(checkout, "comparison.py", "margin: float = 3.0", "margin: float = 5.0")
    assert "margin: float = 5.0" in first


def test_what_is_behind_an_underscore_is_not_public(checkout: Path) -> None:
    assert edited(checkout, "runs.py", "def _state(", "def _condition(") == []


def test_a_new_name_is_recorded_too(checkout: Path) -> None:
    first, *_ = edited(
        checkout, "runs.py", "    def check(self)", "    def count(self) -> int: ...\n\n    def check(self)"
    )
    assert first == "Run.count is new: count() -> int"
