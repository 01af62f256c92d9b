"""Control groups of guests, in folders that look like the kernel's."""

import os
from pathlib import Path

import pytest

from longlook.engines.virtual import groups
from longlook.lab.stale_state import start_ticks


def _version_1(root: Path) -> None:
    for name in ("pids", "memory"):
        (root / name).mkdir()


def _version_2(root: Path) -> None:
    (root / "cgroup.subtree_control").write_text("cpu memory pids\n")


def test_a_guest_has_a_group_in_each_hierarchy_of_version_1(tmp_path: Path) -> None:
    _version_1(tmp_path)
    with groups.bounded(3, 1 << 30, 100, tmp_path) as made:
        assert [group.parent.name for group in made] == ["pids", "memory"]
        assert {group.name for group in made} == {f"longlook-guest-{os.getpid()}-{start_ticks(os.getpid())}-3"}
    assert not any(group.exists() for group in made)


def test_one_group_does_in_version_2(tmp_path: Path) -> None:
    _version_2(tmp_path)
    assert groups.parents(tmp_path) == [tmp_path]


@pytest.mark.parametrize("control", ["", "cpu memory\n"])
def test_without_both_controllers_there_is_no_group(tmp_path: Path, control: str) -> None:
    (tmp_path / "cgroup.subtree_control").write_text(control)
    with groups.bounded(0, 1 << 30, 100, tmp_path) as made:
        assert made == ()


def test_groups_of_processes_that_are_gone_are_removed(tmp_path: Path) -> None:
    _version_2(tmp_path)
    alive = tmp_path / f"longlook-guest-{os.getpid()}-{start_ticks(os.getpid())}-0"
    dead, foreign = tmp_path / "longlook-guest-1-1-0", tmp_path / "longlook-other"
    for folder in (alive, dead, foreign):
        folder.mkdir()
    groups.clear(tmp_path)
    assert [folder.exists() for folder in (alive, dead, foreign)] == [True, False, True]


@pytest.mark.parametrize(
    ("name", "text"), [("memory.events", "oom 1\noom_kill 1\n"), ("memory.oom_control", "oom_kill 2\n")]
)
def test_the_kernels_count_tells_who_ran_out_of_memory(tmp_path: Path, name: str, text: str) -> None:
    assert not groups.ran_out_of_memory([tmp_path])
    (tmp_path / name).write_text(text)
    assert groups.ran_out_of_memory([tmp_path])
