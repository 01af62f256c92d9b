"""A share of a CPU on a real process, and that nothing of it stays."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from longlook.core.errors import MachineError
from longlook.lab.linux import cpuquota
from tests.support.link_host import wait_for

pytestmark = [pytest.mark.lab, pytest.mark.realtime]

MARKER = f"test{os.getpid()}"  # control groups are the whole machine's, and other tests may run on it
SHARE = 0.05  # so little that two spinning programs want more of it on a busy machine too
SPIN = "import os, time\nos.fork()\nend = time.monotonic() + 20\nwhile time.monotonic() < end: pass"


@pytest.fixture
def group() -> Path:
    try:
        return cpuquota.controller().folder / f"longlook-{MARKER}-one"
    except MachineError as error:
        pytest.skip(error.message)


def members_of(group: Path) -> list[str]:
    """Return the processes in a control group."""
    return (group / "cgroup.procs").read_text().split()


def used_s(group: Path) -> float:
    """Return the user and system time of the members of a group so far, in seconds."""
    stats = [Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split() for pid in members_of(group)]
    return sum(sum(map(int, fields[11:13])) for fields in stats) / os.sysconf("SC_CLK_TCK")


def test_a_limit_that_cannot_be_entered_leaves_this_process_as_it_was(group: Path) -> None:
    quota = cpuquota.CpuQuota(MARKER, "one", SHARE)
    cpus = os.sched_getaffinity(0)
    quota._cpu = max(cpus) + 1000  # one that was switched off meanwhile
    with pytest.raises(MachineError, match="no CPU quota here"), quota.inside():
        pass
    assert group.name not in Path("/proc/self/cgroup").read_text()
    assert os.sched_getaffinity(0) == cpus
    quota.close()
    assert not group.exists()


def test_a_program_and_its_child_share_what_they_are_given(group: Path) -> None:
    quota = cpuquota.CpuQuota(MARKER, "one", SHARE)
    began_s = time.monotonic()
    with quota.inside():
        process = subprocess.Popen([sys.executable, "-c", SPIN], start_new_session=True)
    try:
        assert group.name not in Path("/proc/self/cgroup").read_text()
        wait_for(lambda: quota.throttled()["client_cpu_throttled_s"] > 0.3 and used_s(group) > 0.1)
        assert len(members_of(group)) == 2
        assert used_s(group) < SHARE * (time.monotonic() - began_s) + 0.1
        assert quota.throttled()["client_cpu_periods_throttled"] > 3
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()

    def cleared() -> bool:
        cpuquota.clear(MARKER)
        return not group.exists()

    wait_for(cleared)  # the child is reaped by another
