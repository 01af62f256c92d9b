"""The limits after which a program counts as spinning, and a guest as hanging."""

import itertools
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from longlook.core.errors import InputError
from longlook.engines.virtual.watch import BootLimits, spin_timeout_s, watch

NEW, OLD = "LONGLOOK_SPIN_TIMEOUT_S", "LONGLOOK_PATIENCE_S"


@pytest.mark.parametrize(
    ("variables", "expected"), [({}, 20.0), ({NEW: "5"}, 5.0), ({OLD: "7"}, 7.0), ({NEW: "5", OLD: "7"}, 5.0)]
)
def test_the_old_name_of_the_variable_is_still_read(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], expected: float
) -> None:
    for name in (NEW, OLD):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert spin_timeout_s() == expected


@pytest.mark.parametrize("value", ["soon", "0", "-1", "nan"])
def test_a_bad_value_is_refused_with_its_name(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.delenv(NEW, raising=False)
    monkeypatch.setenv(OLD, value)
    with pytest.raises(InputError, match=f"{OLD} is not a positive number of seconds"):
        spin_timeout_s()


def test_the_limit_of_real_time_is_that_of_each_trial(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    console = tmp_path / "console.log"
    console.touch()
    limits = BootLimits(wall_s=1.0, spin_timeout_s=1e9)
    done = itertools.count(1)
    with subprocess.Popen(["sleep", "3"]) as guest:
        assert watch(guest.pid, console, limits, threading.Event(), lambda: next(done)) is None
    with subprocess.Popen(["sleep", "60"]) as guest:
        reason = watch(guest.pid, console, limits, threading.Event(), lambda: 1)
        guest.kill()
    assert reason == snapshot


GUEST = """
import os, signal, sys, time
def report(*_):
    moment = int(time.process_time() * float(sys.argv[2]))
    os.write(console, b"longlook: forks[12] at %d ns\\n" % moment)
console = os.open(sys.argv[1], os.O_WRONLY | os.O_APPEND)
signal.signal(signal.SIGUSR2, report)
signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGUSR2])
while time.process_time() < 2:
    pass
"""
"""Uses CPU for two seconds, and reports a clock that moves by so many ns for each of them."""


def started_guest(console: Path, ns_per_cpu_s: float) -> "subprocess.Popen[bytes]":
    console.touch()
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR2])  # the guest's, too, until it has a handler
    try:
        return subprocess.Popen([sys.executable, "-S", "-c", GUEST, str(console), str(ns_per_cpu_s)])
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGUSR2])


@pytest.mark.parametrize(("ns_per_cpu_s", "is_named"), [(0, True), (1e6, True), (1e7, False)])
def test_a_program_whose_clock_crawls_spins(tmp_path: Path, ns_per_cpu_s: float, *, is_named: bool) -> None:
    console = tmp_path / "console.log"
    with started_guest(console, ns_per_cpu_s) as guest:
        reason = watch(guest.pid, console, BootLimits(wall_s=1e9, spin_timeout_s=0.2), threading.Event())
        guest.kill()
    assert (reason or "").startswith("the program forks spins: ") == is_named


def test_a_guest_that_is_stopped_does_not_spin(tmp_path: Path) -> None:
    console = tmp_path / "console.log"
    limits = BootLimits(wall_s=1e9, spin_timeout_s=3.0)  # more than the two seconds of CPU that the guest uses
    with started_guest(console, 0) as guest:
        for number, after_s in ((signal.SIGSTOP, 1.0), (signal.SIGCONT, 5.0)):
            threading.Timer(after_s, guest.send_signal, (number,)).start()
        assert watch(guest.pid, console, limits, threading.Event()) is None
