"""Control groups with a share of one CPU, which make a client as slow as a phone.

All members of a group run on the same CPU, so that they never work at the same time: a phone of one core.

The kernel's bandwidth control (CFS) grants the share every 10 ms. At its default of 100 ms a program that has used up
its share would stop for so long that the network, not the CPU, would seem to have stalled. It grants no less than 1 ms
at a time, so shares below 10 % have a longer period. Control groups are the one part of a laboratory that its
namespaces do not contain, so their names hold the laboratory's marker, by which `clear` finds groups that are left.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from longlook.core import MachineError, usable_cpus
from longlook.lab.linux.limit_groups import own_places

PERIOD_US, LEAST_QUOTA_US = 10_000, 1_000
ROOT = Path("/sys/fs/cgroup")
_HINT = "run as root where cgroups can be written (a container needs them mounted read-write), or leave out client_cpu"


def quota(share: float) -> tuple[int, int]:
    """Return the quota and the period for a share of one CPU, both in microseconds."""
    if PERIOD_US * share >= LEAST_QUOTA_US:
        return round(PERIOD_US * share), PERIOD_US
    return LEAST_QUOTA_US, round(LEAST_QUOTA_US / share)


@dataclass(frozen=True)
class Controller:
    """The folder in which groups with a CPU quota can be made, and the version (1 or 2) of its interface."""

    folder: Path
    version: int

    def members(self, group: Path) -> Path:
        """Return the file that moves a process into a group."""
        return group / "cgroup.procs"

    def limit(self, group: Path, share: float) -> None:
        """Limit a group to a share of one CPU."""
        quota_us, period_us = quota(share)
        if self.version == 2:
            (group / "cpu.max").write_text(f"{quota_us} {period_us}")
        else:
            (group / "cpu.cfs_period_us").write_text(str(period_us))
            (group / "cpu.cfs_quota_us").write_text(str(quota_us))


def controller(root: Path = ROOT) -> Controller:
    """Return the CPU controller of this machine; raise MachineError if there is none."""
    if (root / "cpu" / "cpu.cfs_quota_us").exists():
        return Controller(root / "cpu", 1)
    for folder in (root, root / "unified"):
        enabled = folder / "cgroup.subtree_control"
        if enabled.exists() and "cpu" in enabled.read_text().split():
            return Controller(folder, 2)
    raise MachineError(f"no CPU quota here: no cpu controller below {root}", _HINT)


class CpuQuota:
    """A group with a share of one CPU. Start programs `inside`, and `close` it once all of them have ended.

    Raise MachineError if the group cannot be made.
    """

    def __init__(self, marker: str, name: str, share: float, root: Path = ROOT) -> None:
        self._controller = controller(root)
        self._folder = self._controller.folder / f"{_prefix(marker)}{name}"
        self._cpu = max(usable_cpus())
        try:
            self._folder.mkdir()
            self._controller.limit(self._folder, share)
        except OSError as error:
            self.close()
            raise MachineError(f"no CPU quota here: {error}", _HINT) from error

    @contextmanager
    def inside(self) -> Iterator[None]:
        """Make this process a member for the duration of a block: programs started in it are members from the start."""
        home = self._controller.members(_own_group(self._controller))
        cpus = os.sched_getaffinity(0)
        try:
            self._enter(0)
            yield
        finally:
            home.write_text("0")
            os.sched_setaffinity(0, cpus)

    def add(self, pid: int) -> None:
        """Make a running process a member."""
        self._enter(pid)
        for thread in os.listdir(f"/proc/{pid}/task"):  # noqa: PTH208 (names are numbers, not paths)
            with suppress(ProcessLookupError):  # it has ended
                os.sched_setaffinity(int(thread), {self._cpu})

    def _enter(self, pid: int) -> None:
        try:
            self._controller.members(self._folder).write_text(str(pid))
            os.sched_setaffinity(pid, {self._cpu})
        except OSError as error:
            raise MachineError(f"no CPU quota here: {error}", _HINT) from error

    def throttled(self) -> dict[str, float]:
        """Return in how many periods, and for how many seconds summed over CPUs, the members were throttled so far."""
        stat = dict(line.split() for line in (self._folder / "cpu.stat").read_text().splitlines())
        held_s = int(stat["throttled_usec"]) / 1e6 if "throttled_usec" in stat else int(stat["throttled_time"]) / 1e9
        return {"client_cpu_periods_throttled": float(stat["nr_throttled"]), "client_cpu_throttled_s": held_s}

    def close(self) -> None:
        """Remove the group. One with members that still run stays until `clear`."""
        with suppress(OSError):
            self._folder.rmdir()


def clear(marker: str, root: Path = ROOT) -> None:
    """Remove the groups of the laboratory with this marker, once its programs have ended."""
    with suppress(MachineError):
        for folder in controller(root).folder.glob(f"{_prefix(marker)}*"):
            with suppress(OSError):
                folder.rmdir()


def _prefix(marker: str) -> str:
    return f"longlook-{marker}-"


def _own_group(found: Controller) -> Path:
    """Return the group of this process; the top one if its own is not visible here."""
    place = own_places(Path("/proc/self/cgroup").read_text()).get("cpu" if found.version == 1 else "")
    if place is not None:
        group = found.folder / place.lstrip("/")
        return group if found.members(group).exists() else found.folder
    return found.folder
