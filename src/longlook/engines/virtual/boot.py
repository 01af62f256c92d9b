"""Boots the guest's kernel once, from its command line to its last process: boxes it, watches it, always ends it."""

import itertools
import os
import select
import shlex
import signal
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TextIO

from longlook.core import open_regular, process_table
from longlook.engines.virtual import exchange_checks, groups
from longlook.engines.virtual.box import (
    MEMORY_BEYOND_BYTES,
    TASKS,
    Box,
    Layers,
    claimed_user,
    layers_of,
)
from longlook.engines.virtual.cpus import on_cpu
from longlook.engines.virtual.memory import is_full, memory_folder, raise_if_short_of_memory
from longlook.engines.virtual.watch import PROGRAM, SPINS, BootLimits, spin_timeout_s, watch
from longlook.lab import MEMORY

START_UNIX_NS = 1_700_000_000_000_000_000
"""The time at which every guest's clock starts: 14 November 2023, while the laboratory's certificate is valid."""

CONSOLE = "console.log"
_EXIT_WITHIN_S = 10.0
_SHIFTS = {"M": 20, "G": 30}
_LAST_BYTES = 1 << 20  # of the console, which has a few lines unless something is wrong
_BUS_ERROR = "Bus error - the host"  # the kernel prints this when it touches memory that the host has no room for


@dataclass(frozen=True)
class Guest:
    """A kernel and how to boot it. `userspace`: how it runs programs, `seccomp`, or `ptrace` if the
    host refuses that.
    """

    kernel: str
    userspace: str = "seccomp"
    memory: str = "2G"  # as the kernel's command line has it, which its random numbers depend on
    time: str = "inf-cpu"  # `basic`: CPU takes the time that the host's takes
    answers: bool = True  # on SIGUSR2 the kernel reports the program that has the CPU; other kernels die of the signal
    box: Layers = field(default_factory=Layers)  # what its box is made of here

    @property
    def exact(self) -> bool:
        """Return whether its results are a function of its request and seed."""
        return self.time == "inf-cpu"

    @property
    def memory_bytes(self) -> int:
        """Return the size of its memory."""
        return int(self.memory[:-1]) << _SHIFTS[self.memory[-1]]


@dataclass(frozen=True)
class Boot:
    """The parameters of a boot: the guest's first process, that process's environment, and the limits of the boot."""

    init: Sequence[str]  # full argument list
    environment: Mapping[str, str]
    seed: int
    cpu: int  # the number of the host's CPU that it runs on
    wall_limit_s: float  # real time, for each trial
    shown: Sequence[str]  # what its box shows of the host (`box.shown_in_box`)
    trials: int = 1  # which it has to do


@dataclass(frozen=True)
class BootResult:
    """How a boot ended. `reason` is None for a guest that switched itself off."""

    reason: str | None
    console: str
    wall_s: float
    cpu_s: float
    spun: bool = False  # it was killed because a program under test spun
    broke: bool = False  # it took too much, or left what it could not: a program is the cause, and nothing is believed
    layers: Layers = field(default_factory=Layers)


_numbers = itertools.count()


def boot(guest: Guest, options: Boot, exchange: Path, stop: threading.Event | None = None) -> BootResult:
    """Boot a guest in a box, on one CPU, and wait until it is off.

    The folder `exchange` is the kernel's working directory, so the guest finds it as /proc/self/cwd of its kernel.
    The kernel's command line goes into its pool of randomness, so it names no path: it is the same on every machine.

    The guest is killed when no trial of it ends within the time limit, when a program spins (it keeps the CPU while
    virtual time does not move), and when it writes without end. It is also killed when `stop` is set and when the
    calling thread dies. No process of the guest runs when this returns, and the files in `exchange` belong to Longlook.
    Raise InterruptedByUserError if `stop` was set, and MachineError if no box can be made.
    """
    script = exchange / "init"
    script.write_text(_init_script(options.init, options.environment))
    script.chmod(0o755)
    with ExitStack() as stack:
        # Where the box has mounts of its own, the guest's memory is one of them.
        memory = None if "mounts" in guest.box.there else stack.enter_context(memory_folder())
        raise_if_short_of_memory()
        most = guest.memory_bytes + MEMORY_BEYOND_BYTES
        group = stack.enter_context(groups.bounded(next(_numbers), most, TASKS))
        user, own_user = stack.enter_context(claimed_user())
        box = Box(exchange, user, own_user, guest.memory_bytes, options.shown, memory, group)
        return _boot_in(box, guest, options, stop or threading.Event())


def _boot_in(box: Box, guest: Guest, options: Boot, stop: threading.Event) -> BootResult:
    exchange = box.exchange
    limits = BootLimits(options.wall_limit_s, spin_timeout_s(), answers=guest.answers)
    bounds = exchange_checks.Bounds(options.trials)
    console, began = exchange / CONSOLE, time.monotonic()
    process, report = _start(box, guest, options)
    with report:
        try:
            reason = watch(
                process.pid,
                console,
                limits,
                stop,
                lambda: _finished(exchange, options.trials),
                lambda: exchange_checks.too_much(exchange, CONSOLE, bounds),
            )
        finally:
            status, cpu_s = _end(process)
        layers = layers_of(report.read())
    if "processes" not in layers.there and not _end_programs(box):
        return BootResult("processes of a guest cannot be ended", "", time.monotonic() - began, cpu_s, broke=True)
    unbelieved = exchange_checks.take_over(exchange, CONSOLE, bounds)
    text = "" if unbelieved else _end_of(console)
    wrote = reason is not None and reason.startswith(exchange_checks.WROTE)
    reason = unbelieved or reason
    if reason is None and ("Kernel panic" in text or status != 0):
        reason = _why_it_died(text, status, box)
    spun = f"{PROGRAM} " in (reason or "") and SPINS in (reason or "")
    broke = unbelieved is not None or wrote
    return BootResult(reason, text, time.monotonic() - began, cpu_s, spun=spun, broke=broke, layers=layers)


def _start(box: Box, guest: Guest, options: Boot) -> tuple[subprocess.Popen[bytes], TextIO]:
    """Start the guest; return its launcher, and the pipe in which that reports on the box."""
    reading, writing = os.pipe2(os.O_CLOEXEC)
    try:
        with (box.exchange / CONSOLE).open("wb") as out, on_cpu(options.cpu):
            process = subprocess.Popen(
                [*box.command(writing), guest.kernel, *_command_line(guest)],
                stdin=subprocess.DEVNULL,
                stdout=out,  # a file: a pipe that fills would interrupt the guest at times that depend on the host
                stderr=subprocess.STDOUT,
                env={"UML_RNG_SEED": str(options.seed)},
                pass_fds=(writing,),
            )
    except BaseException:
        os.close(reading)
        raise
    finally:
        os.close(writing)
    return process, os.fdopen(reading)


def _finished(exchange: Path, trials: int) -> int:
    """Return how many of a guest's trials have left their folder, named by a number (`lab.guest`)."""
    numbers = set(map(str, range(trials)))
    return sum(path.name in numbers for path in exchange.iterdir())


def _init_script(init: Sequence[str], environment: Mapping[str, str]) -> str:
    settings = "".join(f"export {name}={shlex.quote(value)}\n" for name, value in environment.items())
    return f"#!/bin/sh\n{settings}exec {shlex.join(init)}\n"


def _command_line(guest: Guest) -> list[str]:
    return [
        f"mem={guest.memory}",
        "root=/dev/root",
        "rootfstype=hostfs",
        "rootflags=/",
        "ro",
        f"seccomp={'on' if guest.userspace == 'seccomp' else 'off'}",
        "time-travel" if guest.time == "basic" else f"time-travel={guest.time}",
        f"time-travel-start={START_UNIX_NS}",
        "con=null",
        "con0=null,fd:1",
        "quiet",
        "panic=-1",
        "init=/proc/self/cwd/init",
    ]


def _end(process: subprocess.Popen[bytes]) -> tuple[int, float]:
    """End the guest if it still runs, and reap its launcher; return exit status and CPU seconds of all its processes.

    The launcher ends the box and waits for its end; a launcher that is killed takes the box with it.
    """
    descriptor = os.pidfd_open(process.pid)
    try:
        for number in (signal.SIGTERM, signal.SIGKILL):
            with suppress(ProcessLookupError):  # not process.kill(), which reaps and keeps the CPU seconds to itself
                signal.pidfd_send_signal(descriptor, number)
            if select.select([descriptor], [], [], _EXIT_WITHIN_S)[0]:
                break
    finally:
        os.close(descriptor)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return process.returncode, usage.ru_utime + usage.ru_stime


def _end_programs(box: Box) -> bool:
    """End the processes of a guest that had no process namespace, which do not end with their kernel.

    Return whether all are gone.
    """
    deadline = time.monotonic() + _EXIT_WITHIN_S
    while running := [pid for pid in process_table() if _is_of(box, pid)]:
        if time.monotonic() > deadline:
            return False
        for pid in running:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.005)
    return True


def _is_of(box: Box, pid: int) -> bool:
    try:
        place = Path(f"/proc/{pid}")
        return (box.own_user and place.stat().st_uid == box.user) or (place / "cwd").samefile(box.exchange)
    except OSError:
        return False


def _end_of(console: Path) -> str:
    with open_regular(console) as file:
        file.seek(max(0, os.fstat(file.fileno()).st_size - _LAST_BYTES))
        return file.read().decode(errors="replace")


def _why_it_died(console: str, status: int, box: Box) -> str:
    if box.memory_folder is not None and (_BUS_ERROR in console or is_full(box.memory_folder)):
        return f"the host had no room for the guest's memory: {Path(box.memory_folder).parent} is full"
    if box.group is not None and box.group.broken() == MEMORY:
        return "the guest took more memory of the host than its control group may have"
    panics = [line.split("Kernel panic - ")[1] for line in console.splitlines() if "Kernel panic - " in line]
    if panics:
        return f"the guest's kernel panicked: {panics[0]}"
    how = f"by signal {signal.Signals(-status).name}" if status < 0 else f"with exit code {status}"
    return f"the guest's kernel ended {how}"
