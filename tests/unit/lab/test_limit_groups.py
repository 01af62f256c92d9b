"""Control groups that bound programs: where they are made, in both versions, and what they say."""

from pathlib import Path

from longlook.lab.linux import limit_groups
from longlook.lab.linux.limit_groups import MEMORY, TASKS, Controllers, LimitGroup, controllers


def first_version(root: Path, *names: str) -> None:
    for name in names:
        (root / name / "session").mkdir(parents=True)
        for folder in (root / name, root / name / "session"):
            (folder / "tasks").touch()


def test_groups_of_version_1_lie_below_the_own_one(tmp_path: Path) -> None:
    first_version(tmp_path, "pids", "memory")
    own = "8:pids:/session\n9:memory:/elsewhere\n0::/\n"
    found = controllers(tmp_path, own)
    assert found == Controllers({TASKS: tmp_path / "pids" / "session", MEMORY: tmp_path / "memory"}, 1)


def test_a_machine_may_have_one_controller_or_none(tmp_path: Path) -> None:
    assert controllers(tmp_path, "0::/\n").folders == {}
    first_version(tmp_path, "pids")
    assert set(controllers(tmp_path, "0::/\n").folders) == {TASKS}


def test_groups_of_version_2_lie_where_both_controllers_are_handed_on(tmp_path: Path) -> None:
    inner = tmp_path / "user" / "session"
    inner.mkdir(parents=True)
    for folder, handed_on in ((inner, ""), (tmp_path / "user", "cpu memory pids\n"), (tmp_path, "memory pids\n")):
        (folder / "cgroup.subtree_control").write_text(handed_on)
        (folder / "cgroup.procs").touch()
    found = controllers(tmp_path, "0::/user/session\n", "6.8.0-45-generic")
    assert found == Controllers(dict.fromkeys((TASKS, MEMORY), tmp_path / "user"), 2)
    assert controllers(tmp_path, "0::/user/session\n", "5.10.0").folders == {}


def test_a_program_of_version_2_enters_by_itself(tmp_path: Path) -> None:
    (tmp_path / "cgroup.procs").touch()
    group = LimitGroup(dict.fromkeys((TASKS, MEMORY), tmp_path), 2)
    group.open()
    argv, pairs = group.command(["/bin/true", "an argument"])
    assert argv[-2:] == ("/bin/true", "an argument")
    assert [theirs for _, theirs in pairs] == [9]
    group.close()


def test_what_the_kernel_has_counted_names_the_limit(tmp_path: Path) -> None:
    group = LimitGroup(dict.fromkeys((TASKS, MEMORY), tmp_path), 2)
    assert group.broken() is None
    (tmp_path / "pids.events").write_text("max 0\n")
    (tmp_path / "memory.events").write_text("low 0\nhigh 0\nmax 7\noom 1\noom_kill 0\n")
    assert group.broken() is None
    (tmp_path / "memory.events").write_text("low 0\nhigh 0\nmax 7\noom 1\noom_kill 1\n")
    assert group.broken() == MEMORY
    (tmp_path / "pids.events").write_text("max 3\n")
    assert group.broken() == TASKS


def test_the_name_of_a_group_tells_whose_it_is() -> None:
    assert limit_groups.prefix("abc").startswith("longlook-abc-")
