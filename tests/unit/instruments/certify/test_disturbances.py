"""Disturbances end with their block, and change only how repeats are started."""

import os
import subprocess
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from longlook.instruments.certify import disturbances
from longlook.instruments.certify.disturbances import DISTURBANCES, Disturbance


def by_name(name: str) -> Disturbance:
    (found,) = [item for item in DISTURBANCES if item.name == name]
    return found


def test_the_path_is_another_one_in_which_the_same_programs_are_found(tmp_path: Path) -> None:
    with by_name("other environment").disturb(tmp_path / "run", tmp_path) as launch:
        path = launch.environment["PATH"]
        assert len(path) > 2000
        assert path.endswith(os.environ["PATH"])
        assert launch.folder == tmp_path / "run"
    assert "DISTURBANCE_1" not in os.environ


def test_the_other_folder_is_a_copy_that_leaves_the_run_alone(tmp_path: Path) -> None:
    run, place = tmp_path / "run", tmp_path / "place"
    run.mkdir()
    place.mkdir()
    (run / "manifest.json").write_text("{}")
    with by_name("other folder").disturb(run, place) as launch:
        assert launch.folder.is_relative_to(place)
        assert " " in str(launch.folder)
        assert (launch.folder / "manifest.json").read_text() == "{}"


def test_a_full_shared_memory_is_seen_by_the_repeats_alone(tmp_path: Path) -> None:
    full = by_name("full /dev/shm")
    if (reason := full.missing()) is not None:
        pytest.skip(reason)
    before = os.statvfs("/dev/shm")
    with full.disturb(tmp_path, tmp_path) as launch:
        seen = subprocess.run(
            [*launch.prefix, "stat", "--file-system", "--format", "%b %S", "/dev/shm"],
            capture_output=True,
            text=True,
            check=True,
        )
    blocks, size_bytes = map(int, seen.stdout.split())
    assert blocks * size_bytes == 16 << 20
    assert os.statvfs("/dev/shm").f_blocks == before.f_blocks


def test_memory_is_taken_only_where_twice_as_much_is_free() -> None:
    words = Path("/proc/meminfo").read_text().split()
    free_bytes = int(words[words.index("MemAvailable:") + 1]) * 1024
    assert disturbances._memory_to_take() <= min(free_bytes * 0.6, 4 << 30)


def test_a_program_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch, snapshot: SnapshotAssertion) -> None:
    monkeypatch.setenv("PATH", "")
    assert by_name("compilers").missing() == snapshot
    assert by_name("one CPU").missing() == snapshot
    assert by_name("none").missing() is None


def test_names_are_unique() -> None:
    assert len({item.name for item in DISTURBANCES}) == len(DISTURBANCES)
