"""Control groups of version 2 on a real kernel: how a program without privilege enters one, and that it is removed.

The controllers of tasks and memory may be bound to version 1 on a machine that has both; entering needs neither.
"""

import os
import subprocess
from collections.abc import Iterator

import pytest

from longlook.lab.linux.limit_groups import MEMORY, ROOT, TASKS, LimitGroup
from longlook.lab.linux.users import FIRST_USER

pytestmark = pytest.mark.lab


@pytest.fixture
def group() -> Iterator[LimitGroup]:
    if os.geteuid() != 0:
        pytest.skip("only root may make groups everywhere")
    tops = [top for top in (ROOT, ROOT / "unified") if (top / "cgroup.procs").exists()]
    if not tops:
        pytest.skip("no control groups of version 2 are mounted here")
    folder = tops[0] / f"longlook-test-{os.getpid()}"
    folder.mkdir()
    made = LimitGroup(dict.fromkeys((TASKS, MEMORY), folder), 2)
    made.open()
    yield made
    made.close()


def run(group: LimitGroup, *argv: str) -> subprocess.CompletedProcess[str]:
    """Run a command as a user under test, with the descriptors that the group wants it to have."""
    command, pairs = group.command(argv)

    def enter() -> None:
        for ours, theirs in pairs:
            os.dup2(ours, theirs)
        os.setresgid(FIRST_USER, FIRST_USER, FIRST_USER)
        os.setresuid(FIRST_USER, FIRST_USER, FIRST_USER)

    theirs = [theirs for _, theirs in pairs]
    return subprocess.run(
        command, capture_output=True, text=True, preexec_fn=enter, pass_fds=theirs, check=False, timeout=60
    )


def test_a_program_of_another_user_is_a_member_before_it_runs(group: LimitGroup) -> None:
    (folder,) = set(group.folders.values())
    done = run(group, "/bin/cat", "/proc/self/cgroup")
    assert done.returncode == 0, done.stderr
    assert any(line.startswith("0::") and line.endswith(f"/{folder.name}") for line in done.stdout.splitlines())
    assert (folder / "cgroup.procs").read_text() == ""


def test_a_program_has_no_descriptor_of_its_group_and_cannot_leave_it(group: LimitGroup) -> None:
    (folder,) = set(group.folders.values())
    leaves = f"ls /proc/self/fd; echo 0 > {folder.parent}/cgroup.procs"
    done = run(group, "/bin/sh", "-c", leaves)
    assert "9" not in done.stdout.split()
    assert "Permission denied" in done.stderr


def test_a_group_is_removed_when_its_last_member_has_ended(group: LimitGroup) -> None:
    (folder,) = set(group.folders.values())
    with subprocess.Popen(["/bin/sleep", "60"]) as member:
        (folder / "cgroup.procs").write_text(str(member.pid))
        assert (folder / "cgroup.procs").read_text() == f"{member.pid}\n"
        assert "populated 1" in (folder / "cgroup.events").read_text()
        member.kill()
    group.close()
    assert not folder.exists()
