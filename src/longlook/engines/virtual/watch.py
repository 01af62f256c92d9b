"""Waiting for a guest to end: until its time is over, its user has enough, or a program of it spins."""

import os
import re
import select
import signal
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from longlook.core.errors import InputError, InterruptedByUserError
from longlook.lab.linux.proctable import cpu_of_tree

PATIENCE = "LONGLOOK_PATIENCE_S"
"""CPU seconds that a program may compute at one moment of virtual time."""

SPINS = "spins"
_PATIENCE_S = 20.0
_LOOK_EVERY_S = 0.2
_ANSWER = re.compile(rb"longlook: (.{1,16})\[(\d+)\] at (\d+) ns\n")
_TAIL_BYTES = 1 << 16


@dataclass(frozen=True)
class Limits:
    """What a boot may take. `answers`: whether the kernel says on SIGUSR2 who has the CPU; others die of it."""

    wall_s: float
    patience_s: float
    answers: bool = True


def patience_s() -> float:
    """LONGLOOK_PATIENCE_S, or 20 CPU seconds."""
    text = os.environ.get(PATIENCE, "")
    try:
        value = float(text) if text else _PATIENCE_S
    except ValueError:
        value = 0.0
    if not value > 0:
        raise InputError(f"{PATIENCE} is not a number of seconds: {text!r}", f"for example {PATIENCE}=60")
    return value


def watch(pid: int, console: Path, limits: Limits, stop: threading.Event) -> str | None:
    """Wait for the end; why the guest must be killed, or None when it has ended by itself."""
    spin = _Spin(pid, console, limits.patience_s)
    deadline = time.monotonic() + limits.wall_s
    descriptor = os.pidfd_open(pid)
    try:
        while True:
            left_s = deadline - time.monotonic()
            if select.select([descriptor], [], [], min(max(0.0, left_s), _LOOK_EVERY_S))[0]:
                return None
            if stop.is_set():
                raise InterruptedByUserError("stopped")
            if time.monotonic() >= deadline:
                return f"the guest was not done after {limits.wall_s:.0f} s of real time"
            if limits.answers and (name := spin.look(descriptor)):
                return (
                    f"the program {name} {SPINS}: it used {limits.patience_s:g} s of CPU without asking for the time "
                    "or waiting for anything, and virtual time stands still meanwhile"
                )
    finally:
        os.close(descriptor)


class _Spin:
    """Whether a guest's programs use the CPU while its clock stands still, and which.

    The measure is the guest's CPU time, not real time: a guest that is stopped, or starved by other work, is not one
    that spins. Two answers of one moment with that much CPU between them are the proof.
    """

    def __init__(self, pid: int, console: Path, patience_s: float) -> None:
        self._pid, self._console, self._patience_s = pid, console, patience_s
        self._look_at_s = 0.0
        self._ask_from_cpu_s = patience_s / 4  # far beyond the start, when a signal would still be deadly
        self._moment = b""
        self._moment_cpu_s = 0.0
        self._answered = 0

    def look(self, descriptor: int) -> str | None:
        """The program that spins, None while nothing shows that one does."""
        if time.monotonic() < self._look_at_s:
            return None
        self._look_at_s = time.monotonic() + self._patience_s / 10
        cpu_s = cpu_of_tree(self._pid)
        if cpu_s < self._ask_from_cpu_s:
            return None
        name = self._judge(cpu_s)
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(descriptor, signal.SIGUSR2)
        return name

    def _judge(self, cpu_s: float) -> str | None:
        size = self._console.stat().st_size
        with self._console.open("rb") as file:
            file.seek(max(0, size - _TAIL_BYTES))
            answers = _ANSWER.findall(file.read())
        if not answers or size == self._answered:
            return None
        self._answered = size
        name, _, moment = answers[-1]
        if moment != self._moment:
            self._moment, self._moment_cpu_s = moment, cpu_s
        elif cpu_s - self._moment_cpu_s >= self._patience_s:
            return str(name.decode(errors="replace"))
        return None
