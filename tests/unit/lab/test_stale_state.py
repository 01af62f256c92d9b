"""Records of laboratories whose owner is dead: what they left is removed, whichever version wrote them."""

import json
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from longlook.core import paths
from longlook.lab.stale_state import Record, clear_stale_state, open_record


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LONGLOOK_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    folder = paths.state_dir()
    assert folder.is_relative_to(tmp_path)
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def dead(tmp_path: Path, marker: str = "abc") -> Record:
    scratch = tmp_path / f"longlook-{marker}"
    scratch.mkdir()
    return Record(marker, 1, -1, "another boot", str(scratch))


def test_the_scratch_folder_of_a_dead_owner_is_removed_with_its_record(state: Path, tmp_path: Path) -> None:
    record = dead(tmp_path)
    record.path.write_text(json.dumps(asdict(record)))
    assert clear_stale_state() == [record.scratch]
    assert not Path(record.scratch).exists()
    assert not record.path.exists()


def test_a_record_of_another_version_with_more_fields_is_read(state: Path, tmp_path: Path) -> None:
    record = dead(tmp_path)
    record.path.write_text(json.dumps({**asdict(record), "unknown": 3}))
    assert clear_stale_state() == [record.scratch]


@pytest.mark.parametrize("text", ["", "[]", "null", '{"marker": "abc"}', '{"kernel": "/linux", "answers": true}'])
def test_a_file_that_is_not_a_record_stays(state: Path, text: str) -> None:
    (state / "abc.json").write_text(text)
    assert clear_stale_state() == []
    assert (state / "abc.json").read_text() == text


def test_a_live_owner_and_a_folder_of_another_name_are_left_alone(state: Path, tmp_path: Path) -> None:
    alive = open_record()
    other = replace(dead(tmp_path), scratch=str(tmp_path / "precious"))
    Path(other.scratch).mkdir()
    other.path.write_text(json.dumps(asdict(other)))
    assert clear_stale_state() == []
    assert Path(alive.scratch).is_dir()
    assert Path(other.scratch).is_dir()
    alive.close()
    assert not Path(alive.scratch).exists()
