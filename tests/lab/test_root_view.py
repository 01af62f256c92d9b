"""A root of a program's own in real time: what happens where the kernel, or the program's root, has not all of it."""

import os
import signal
from pathlib import Path

import pytest

from longlook.core import MachineError, OwnRoot
from longlook.lab.linux import system
from longlook.lab.linux.confine import Confinement, Spawn
from longlook.lab.linux.grouped_spawn import spawn_in_groups
from longlook.lab.linux.program_view import RoomSize
from longlook.lab.linux.root_view import RootView

pytestmark = pytest.mark.lab


def test_a_kernel_that_refuses_the_layer_is_named_with_the_way_out(tmp_path: Path) -> None:
    view = RootView(OwnRoot("/nowhere", ""), tmp_path, RoomSize(1 << 20, 100))
    network = system.network_namespace()
    before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208
    with pytest.raises(MachineError, match="gives a program no root of its own") as refused:
        Confinement(None, {}, view=view).start(["/none"], lambda _way: 0, network)
    assert "--engine virtual" in (refused.value.hint or "")
    assert len(os.listdir("/proc/self/fd")) == before  # noqa: PTH208
    os.close(network)


def test_a_program_without_a_shell_enters_its_group_before_it_begins(tmp_path: Path) -> None:
    entered, said = tmp_path / "cgroup.procs", tmp_path / "said"
    entry, out = (os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC) for path in (entered, said))
    nothing = os.open(os.devnull, os.O_RDWR)
    before = signal.signal(signal.SIGTERM, signal.SIG_IGN)
    try:
        script = f"cat {entered} - /proc/self/status"
        way = Spawn(["/bin/sh", "-c", script], enters=(entry,))
        pid = spawn_in_groups(way, {"PATH": os.environ["PATH"]}, (nothing, out, nothing), (signal.SIGTERM,))
        assert os.waitpid(pid, 0)[1] == 0
    finally:
        signal.signal(signal.SIGTERM, before)
        for descriptor in (entry, out, nothing):
            os.close(descriptor)
    first, *status = said.read_text().splitlines()
    assert first.startswith("0"), "the group's file has it before the program reads it"
    ignored = int(next(line for line in status if line.startswith("SigIgn:")).split()[1], 16)
    assert not ignored >> (signal.SIGTERM - 1) & 1


def test_a_program_that_is_not_there_is_an_error_of_the_start(tmp_path: Path) -> None:
    entry = os.open(tmp_path / "cgroup.procs", os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC)
    nothing = os.open(os.devnull, os.O_RDWR)
    with pytest.raises(FileNotFoundError):
        spawn_in_groups(Spawn(["/none"], enters=(entry,)), {}, (nothing, nothing, nothing), ())
    os.close(entry)
    os.close(nothing)
