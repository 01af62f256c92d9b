"""Tests in real time (`pytest -m realtime`): an attempt that fails while the host is late is rejected and made again.

The laboratory does the same with trials (longlook.lab.guard), and the limits are the same. An attempt that passes is
kept: no test asks for lateness. If the host is late in every attempt, the test fails, and the message says so.
"""

import os
import resource
import subprocess
import sys
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Protocol

import pytest

from longlook.lab.guard import Thresholds, findings, observe
from longlook.lab.trial import take_reading
from tests.support.attempts import MOST, Reports, run_attempts

MARK = "realtime"
_PERIOD_S = 0.002
_SLEEPER = Path(__file__).with_name("sleeper.py")


class HostWasLate(Exception):  # noqa: N818
    """Raised by a test that has seen for itself that the host disturbed it."""


class Watch(Protocol):
    """Tells how a host was late."""

    def begin(self) -> None:
        """Forget everything that was seen so far."""

    def reasons(self) -> list[str]:
        """Return how the host was late since `begin`; empty if it was not."""

    def close(self) -> None:
        """End what watches."""


class HostWatch:
    """Watches this host with a program on each CPU that sleeps for 2 ms, and with the kernel's counters of CPU time.

    The programs have real-time priority if this process may give it to them, as the router has.
    """

    def __init__(self) -> None:
        self._sleepers = [_Sleeper(cpu) for cpu in sorted(os.sched_getaffinity(0))]
        self.begin()

    def begin(self) -> None:
        """Take the readings that later ones are compared with."""
        self._gap_s = 0.0
        self._before, self._own_s = take_reading(()), _own_cpu_s()
        for sleeper in self._sleepers:
            sleeper.longest_s()

    def reasons(self) -> list[str]:
        """Return how long a CPU ran nothing of ours, and who else used the CPUs, if it was more than a trial stands."""
        self._gap_s = max(self._gap_s, *(sleeper.longest_s() for sleeper in self._sleepers))
        own_s = (_own_cpu_s() - self._own_s) / (os.cpu_count() or 1)
        found = [each.reason for each in findings(observe(self._before, take_reading(()), {}, own_s))]
        if self._gap_s * 1e3 > Thresholds().max_gap_ms:
            found.append(f"a waiting program did not run for {self._gap_s * 1e3:.1f} ms")
        return found

    def close(self) -> None:
        """End the programs."""
        for sleeper in self._sleepers:
            sleeper.close()


class _Sleeper:
    """A program that sleeps on one CPU and measures how much later than asked for it runs again."""

    def __init__(self, cpu: int) -> None:
        command = [sys.executable, "-S", "-E", str(_SLEEPER), str(cpu), str(_PERIOD_S)]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def longest_s(self) -> float:
        """Return the longest lateness since the last call, in seconds."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        return float(self._process.stdout.readline())

    def close(self) -> None:
        """End the program by the end of its input."""
        self._process.communicate()


class RealTime:
    """The plug-in of pytest that rejects attempts; `make_watch` is called before the first test in real time."""

    def __init__(self, make_watch: Callable[[], Watch] = HostWatch) -> None:
        self._make_watch = make_watch
        self._watch: Watch | None = None
        self._module: object = None
        self._seen: list[str] = []
        self._rejected: list[str] = []

    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        """Give a test in real time the time limit of all its attempts together."""
        for item in items:
            if item.get_closest_marker(MARK) and config.pluginmanager.hasplugin("timeout"):
                own = item.get_closest_marker("timeout")
                limit_s = own.args[0] if own else float(config.getini("timeout") or 0)
                item.add_marker(pytest.mark.timeout(MOST * limit_s), append=False)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
        """Run a test in real time until an attempt passes, or fails on a host that was not late."""
        if not item.get_closest_marker(MARK):
            return None
        if self._watch is None:
            self._watch = self._make_watch()
        module = item.getparent(pytest.Module)
        if module is not self._module:  # fixtures of a module may have been made long before the test that fails
            self._module = module
            self._watch.begin()
        run_attempts(item, nextitem, lambda attempt, reports: self._rejects(item, attempt, reports))
        return True

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Keep what a test says about the host."""
        if call.excinfo is not None and call.excinfo.errisinstance(HostWasLate):
            self._seen.append(str(call.excinfo.value))
        return (yield)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Name every rejected attempt with its reason."""
        for line in self._rejected:
            terminalreporter.write_line(line)

    def pytest_unconfigure(self) -> None:
        """End what watches."""
        if self._watch is not None:
            self._watch.close()

    def _rejects(self, item: pytest.Item, attempt: int, reports: Reports) -> bool:
        failed = [report for report in reports if report.failed]
        assert self._watch is not None
        reasons = [*self._seen, *self._watch.reasons()] if failed else []
        self._seen.clear()
        if not reasons:
            return False
        self._rejected.append(f"rejected attempt {attempt} of {item.nodeid}: {'; '.join(reasons)}")
        if attempt == MOST:
            failed[0].longrepr = (
                f"The machine is too busy for tests in real time: it was late in each of {MOST} attempts "
                f"({'; '.join(reasons)}). End other work, or give it more CPUs.\n\n{failed[0].longreprtext}"
            )
        self._watch.begin()
        return True


def _own_cpu_s() -> float:
    """CPU time of this process and of all that it started and that have ended, in seconds."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)
