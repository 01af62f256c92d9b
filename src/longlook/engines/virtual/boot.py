"""Boots the guest's kernel once, from its command line to its last process: starts it, watches it, always ends it."""

import os
import shlex
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from longlook.engines.virtual.cpus import on_cpu
from longlook.engines.virtual.memory import is_full, memory_folder
from longlook.engines.virtual.watch import PROGRAM, SPINS, Limits, spin_timeout_s, watch
from longlook.lab.linux.proctable import process_table

START_UNIX_NS = 1_700_000_000_000_000_000
"""The time at which every guest's clock starts: 14 November 2023, while the laboratory's certificate is valid."""

CONSOLE = "console.log"
_EXIT_WITHIN_S = 10.0
_BUS_ERROR = "Bus error - the host"  # the kernel prints this when it touches memory that the host has no room for


@dataclass(frozen=True)
class Guest:
    """A kernel and how to boot it. `userspace`: how it runs programs, `seccomp`, or `ptrace` where that is refused."""

    kernel: str
    userspace: str = "seccomp"
    memory: str = "2G"
    time: str = "inf-cpu"  # `basic`: CPU takes the time that the host's takes
    answers: bool = True  # on SIGUSR2 the kernel reports the program that has the CPU; other kernels die of the signal

    @property
    def exact(self) -> bool:
        """Return whether its results are a function of its request and seed."""
        return self.time == "inf-cpu"


@dataclass(frozen=True)
class Boot:
    """What to boot a guest with: its first process, that process's environment, and the limits of the boot."""

    init: Sequence[str]  # full argument list
    environment: Mapping[str, str]
    seed: int
    cpu: int  # the number of the host's CPU that it runs on
    wall_limit_s: float  # real time, for each trial


@dataclass(frozen=True)
class BootResult:
    """How a boot ended. `reason` is None for a guest that switched itself off."""

    reason: str | None
    console: str
    wall_s: float
    cpu_s: float
    spun: bool = False  # it was killed because a program under test spun


def boot(guest: Guest, options: Boot, exchange: Path, stop: threading.Event | None = None) -> BootResult:
    """Boot a guest on one CPU and wait until it is off.

    The folder `exchange` is the kernel's working directory, so the guest finds it as /proc/self/cwd of its kernel.
    The kernel's command line goes into its pool of randomness, so it names no path: it is the same on every machine.

    The guest is killed when no trial of it ends within the time limit, when a program spins (it keeps the CPU while
    virtual time does not move), when `stop` is set (then InterruptedByUserError is raised), and when the calling thread
    dies. No process of it runs when this returns.
    """
    script = exchange / "init"
    script.write_text(_init_script(options.init, options.environment))
    script.chmod(0o755)
    limits = Limits(options.wall_limit_s, spin_timeout_s(), answers=guest.answers)
    console, memory = exchange / CONSOLE, memory_folder()
    with console.open("wb") as out, on_cpu(options.cpu):
        process = subprocess.Popen(
            [shutil.which("setpriv") or "setpriv", "--pdeathsig", "KILL", "--", guest.kernel, *_command_line(guest)],
            stdin=subprocess.DEVNULL,
            stdout=out,  # a file: a pipe that fills would interrupt the guest at times that depend on the host
            stderr=subprocess.STDOUT,
            cwd=exchange,
            env={"HOME": ".", "TMPDIR": memory, "UML_RNG_SEED": str(options.seed)},  # all its files are in `exchange`
        )
    began = time.monotonic()
    try:
        reason = watch(process.pid, console, limits, stop or threading.Event(), lambda: _finished(exchange))
    finally:
        status, cpu_s = _end(process)
        _end_programs(exchange)
    text = console.read_bytes().decode(errors="replace")
    if reason is None and ("Kernel panic" in text or status != 0):
        reason = _why_it_died(text, status, memory)
    return BootResult(
        reason, text, time.monotonic() - began, cpu_s, spun=f"{PROGRAM} " in (reason or "") and SPINS in (reason or "")
    )


def _finished(exchange: Path) -> int:
    """Return how many trials of a guest have left their folder, named by a number (`lab.guest`)."""
    return sum(path.name.isdigit() for path in exchange.iterdir())


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
    """Kill the kernel if it still runs and reap it; return exit status and CPU seconds. Its children die with it."""
    with suppress(ProcessLookupError):
        os.kill(process.pid, signal.SIGKILL)  # not process.kill(), which reaps and keeps the CPU seconds to itself
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return process.returncode, usage.ru_utime + usage.ru_stime


def _end_programs(exchange: Path) -> None:
    """Wait until the processes that ran the guest's programs are gone: they end after their kernel, not with it."""
    deadline = time.monotonic() + _EXIT_WITHIN_S
    while left := [pid for pid in process_table() if _works_in(exchange, pid)]:
        if time.monotonic() > deadline:
            raise RuntimeError(f"processes of a guest cannot be ended: {left}")
        for pid in left:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.005)


def _works_in(exchange: Path, pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/cwd").samefile(exchange)
    except OSError:
        return False


def _why_it_died(console: str, status: int, memory: str) -> str:
    if _BUS_ERROR in console or is_full(memory):
        return f"the host had no room for the guest's memory: {memory} is full"
    panics = [line.split("Kernel panic - ")[1] for line in console.splitlines() if "Kernel panic - " in line]
    if panics:
        return f"the guest's kernel panicked: {panics[0]}"
    how = f"by signal {signal.Signals(-status).name}" if status < 0 else f"with exit code {status}"
    return f"the guest's kernel ended {how}"
