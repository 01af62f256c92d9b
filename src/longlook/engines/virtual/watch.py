"""Waits for a guest to end: until a trial has taken too long, the user interrupts it, or one of its programs spins."""

import math
import os
import re
import select
import signal
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from longlook.core import InputError, InterruptedByUserError, cpu_of_tree, open_regular, tree_of
from longlook.lab import MOST_TASKS

SPIN_TIMEOUT = "LONGLOOK_SPIN_TIMEOUT_S"
"""The variable with the CPU seconds that a program may compute at one moment of virtual time."""

_OLD_SPIN_TIMEOUT = "LONGLOOK_PATIENCE_S"  # its name until 2026-11-22; still read where the new one is not set
PROGRAM, SPINS = "the program", "spins"
"""The beginning of the reason if a program under test spins, and its verb."""

_SPIN_TIMEOUT_S = 20.0
_WALL_LIMIT_S = 900.0
_LOOK_EVERY_S = 0.2
_WEIGH_EVERY_S = 1.0
_ANSWER = re.compile(rb"longlook: (.{1,16})\[(\d+)\] at (\d+) ns\n")
_TAIL_BYTES = 1 << 16
_CROWD = MOST_TASKS  # processes of a guest: a browser has twenty
_CRAWL_TIMEOUTS = 3  # time limits of CPU, for which the clock may crawl
_CRAWL_NS_PER_S = 2_000_000  # of virtual time for each second of CPU; what forks and waits without end has half of that


@dataclass(frozen=True)
class BootLimits:
    """The limits of a boot, in real seconds and in CPU seconds at one moment of virtual time.

    `wall_s` is for each trial, the first with the boot: a guest may have many. `answers`: the kernel reports on SIGUSR2
    the program that has the CPU; other kernels die of that signal.
    """

    wall_s: float
    spin_timeout_s: float
    answers: bool = True


def spin_timeout_s() -> float:
    """Return the value of LONGLOOK_SPIN_TIMEOUT_S, 20 if it is not set; raise InputError for a bad one."""
    return _seconds(SPIN_TIMEOUT if os.environ.get(SPIN_TIMEOUT) else _OLD_SPIN_TIMEOUT, _SPIN_TIMEOUT_S)


def wall_limit_s() -> float:
    """Return the value of LONGLOOK_WALL_LIMIT_S, 900 if it is not set; raise InputError for a bad one."""
    return _seconds("LONGLOOK_WALL_LIMIT_S", _WALL_LIMIT_S)


def _seconds(name: str, usual_s: float) -> float:
    text = os.environ.get(name, "")
    try:
        value = float(text) if text else usual_s
    except ValueError:
        value = 0.0
    if not 0 < value < math.inf:
        raise InputError(f"{name} is not a positive number of seconds: {text!r}", f"for example {name}={usual_s:g}")
    return value


def watch(
    pid: int,
    console: Path,
    limits: BootLimits,
    stop: threading.Event,
    finished: Callable[[], int] = lambda: 0,
    too_much: Callable[[], str | None] = lambda: None,
) -> str | None:
    """Wait for the end of a guest; return why it must be killed, or None when it has ended by itself.

    `pid` is its launcher's, which passes SIGUSR2 on. `finished` returns how many of its trials are done, `too_much` why
    it has written too much. Raise InterruptedByUserError when `stop` is set.
    """
    spin = _Spin(pid, console, limits.spin_timeout_s)
    weigh_at_s = time.monotonic() + _WEIGH_EVERY_S
    deadline, done = time.monotonic() + limits.wall_s, 0
    descriptor = os.pidfd_open(pid)
    try:
        while True:
            left_s = deadline - time.monotonic()
            if select.select([descriptor], [], [], min(max(0.0, left_s), _LOOK_EVERY_S))[0]:
                return None
            if stop.is_set():
                raise InterruptedByUserError("stopped")
            if (now_done := finished()) > done:
                deadline, done = time.monotonic() + limits.wall_s, now_done
            if time.monotonic() >= deadline:
                return f"the guest finished no trial in {limits.wall_s:.0f} s of real time"
            if time.monotonic() >= weigh_at_s:
                if (reason := too_much()) is not None:
                    return reason
                weigh_at_s = time.monotonic() + _WEIGH_EVERY_S
            if (size := spin.crowd()) is not None:
                return (
                    f"{PROGRAM} {SPINS}: it forks without end. It has about {size} processes, more than {_CROWD}, and "
                    f"they used {limits.spin_timeout_s / 2:g} s of CPU"
                )
            if limits.answers and (found := spin.look(descriptor)):
                return found
    finally:
        os.close(descriptor)


class _Spin:
    """Detects a program of a guest that uses the CPU while the guest's clock does not move, or hardly.

    CPU time counts, not real time: a guest that is stopped, or starved by other work, does not spin. The proof are two
    reports of the kernel with the same virtual time and that much CPU time between them. A program that starts another
    one after the other without end moves the clock with each start; two reports prove that it crawls.
    """

    def __init__(self, pid: int, console: Path, timeout_s: float) -> None:
        self._pid, self._console, self._timeout_s = pid, console, timeout_s
        self._look_at_s = 0.0
        self._ask_from_cpu_s = timeout_s / 4  # far beyond the start, when the signal would still kill the kernel
        self._moment = b""
        self._moment_cpu_s = 0.0
        self._crawls_from: tuple[int, float] | None = None  # the moment, and the CPU seconds by then
        self._answered = 0
        self._count_at_s = 0.0
        self._crowded_from_cpu_s = math.inf
        self._crowd_cpu_s = timeout_s / 2

    def crowd(self) -> int | None:
        """Return how many processes the guest has, if they were too many for half the limit of CPU; else None.

        Children that fork without end ask for the time as they fork, so that virtual time creeps on.
        """
        if time.monotonic() < self._count_at_s:
            return None
        self._count_at_s = time.monotonic() + self._timeout_s / 10
        size = len(tree_of(self._pid))
        if size <= _CROWD:
            self._crowded_from_cpu_s = math.inf
            return None
        cpu_s = cpu_of_tree(self._pid)
        self._crowded_from_cpu_s = min(self._crowded_from_cpu_s, cpu_s)
        return size if cpu_s - self._crowded_from_cpu_s >= self._crowd_cpu_s else None

    def look(self, descriptor: int) -> str | None:
        """Return the sentence that names the program that spins; None while no program is known to spin."""
        if time.monotonic() < self._look_at_s:
            return None
        self._look_at_s = time.monotonic() + self._timeout_s / 10
        cpu_s = cpu_of_tree(self._pid)
        if cpu_s < self._ask_from_cpu_s:
            return None
        found = self._judge(cpu_s)
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(descriptor, signal.SIGUSR2)
        return found

    def _judge(self, cpu_s: float) -> str | None:
        with open_regular(self._console) as file:
            size = os.fstat(file.fileno()).st_size
            file.seek(max(0, size - _TAIL_BYTES))
            answers = _ANSWER.findall(file.read(_TAIL_BYTES))
        if not answers or size == self._answered:
            return None
        self._answered = size
        name, pid, moment = answers[-1]
        own = pid == b"1" or name.startswith(b"longlook-")
        who = f"{'Longlook' if own else PROGRAM} {name.decode(errors='replace')} {SPINS}"
        if moment != self._moment:
            self._moment, self._moment_cpu_s = moment, cpu_s
        elif cpu_s - self._moment_cpu_s >= self._timeout_s:
            return (
                f"{who}: it used {self._timeout_s:g} s of CPU without asking for the time or waiting for anything, and "
                "virtual time does not move meanwhile"
            )
        from_ns, from_cpu_s = self._crawls_from or (int(moment), cpu_s)
        if int(moment) - from_ns > _CRAWL_NS_PER_S * (cpu_s - from_cpu_s):
            from_ns, from_cpu_s = int(moment), cpu_s
        self._crawls_from = from_ns, from_cpu_s
        if cpu_s - from_cpu_s >= _CRAWL_TIMEOUTS * self._timeout_s and not own:
            moved_ms = (int(moment) - from_ns) / 1e6
            return f"{who}: in {cpu_s - from_cpu_s:.0f} s of CPU virtual time moved by {moved_ms:.0f} ms alone"
        return None
