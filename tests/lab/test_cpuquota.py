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

pytestmark = pytest.mark.lab

SPIN = "import os, time\nos.fork()\nend = time.monotonic() + 20\nwhile time.monotonic() < end: pass"


@pytest.fixture
def group() -> Path:
    try:
        return cpuquota.controller().folder / "longlook-testquota-one"
    except MachineError as error:
        pytest.skip(error.message)


def used_s(pid: str) -> float:
    """User and system time of a process so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")


def test_a_program_and_its_child_share_what_they_are_given(group: Path) -> None:
    quota = cpuquota.CpuQuota("testquota", "one", 0.2)
    with quota.inside():
        process = subprocess.Popen([sys.executable, "-c", SPIN], start_new_session=True)
    try:
        assert group.name not in Path("/proc/self/cgroup").read_text()
        time.sleep(1.0)
        members = (group / "cgroup.procs").read_text().split()
        assert len(members) == 2
        assert 0.02 < sum(map(used_s, members)) < 0.3
        held = quota.throttled()
        assert held["client_cpu_periods_throttled"] > 10
        assert held["client_cpu_throttled_s"] > 0.3
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    deadline = time.monotonic() + 5
    while group.exists() and time.monotonic() < deadline:  # the child is reaped by another
        cpuquota.clear("testquota")
        time.sleep(0.01)
    assert not group.exists()
