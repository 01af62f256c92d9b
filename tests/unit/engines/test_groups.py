"""Control groups of guests, in folders that look like the kernel's."""

import os
from pathlib import Path

import pytest

from longlook.engines.virtual import groups
from longlook.lab.linux.limit_groups import MEMORY, TASKS, Controllers, LimitGroup
from longlook.lab.stale_state import start_ticks


def test_a_guest_has_a_group_of_its_own_that_goes_with_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        LimitGroup, "open", lambda _group: None
    )  # the kernel makes the files of a group, mkdir does not
    monkeypatch.setattr(LimitGroup, "limit", lambda *_: None)
    with groups.bounded(3, 1 << 30, 100, Controllers({TASKS: tmp_path, MEMORY: tmp_path}, 2)) as group:
        assert group is not None
        name = f"longlook-guest-{os.getpid()}-{start_ticks(os.getpid())}-3"
        assert set(group.folders.values()) == {tmp_path / name}
        assert (tmp_path / name).is_dir()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("bounded", [(), (TASKS,), (MEMORY,)])
def test_without_both_controllers_there_is_no_group(tmp_path: Path, bounded: tuple[str, ...]) -> None:
    with groups.bounded(0, 1 << 30, 100, Controllers(dict.fromkeys(bounded, tmp_path), 2)) as group:
        assert group is None


def test_groups_of_processes_that_are_gone_are_removed(tmp_path: Path) -> None:
    alive = tmp_path / f"longlook-guest-{os.getpid()}-{start_ticks(os.getpid())}-0"
    dead, foreign = tmp_path / "longlook-guest-1-1-0", tmp_path / "longlook-other"
    for folder in (alive, dead, foreign):
        folder.mkdir()
    groups.clear(Controllers({TASKS: tmp_path, MEMORY: tmp_path}, 2))
    assert [folder.exists() for folder in (alive, dead, foreign)] == [True, False, True]
