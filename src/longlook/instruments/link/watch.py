"""Wait for a link's command, its router and signals at once."""

import fcntl
import os
import select
import signal
import subprocess
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from types import FrameType, TracebackType
from typing import Any, Self

from longlook.core import LonglookError
from longlook.lab import Process, refusal

_ENDING = (signal.SIGTERM, signal.SIGHUP)
_FROM_TERMINAL = (signal.SIGINT, signal.SIGQUIT)
_PIPE_BYTES = 1 << 20
_READ_BYTES = 1 << 18
_READY_WITHIN_S = 10.0
_STOPPED_WITHIN_S = 10.0
_TERMINAL = "/dev/tty"


class Signals:
    """A context manager in which signals are recorded instead of raised, while the command runs.

    The terminal sends Ctrl-C to the whole foreground group, so the command receives it and decides by itself.
    """

    def __init__(self) -> None:
        self.end = False
        self.to_pass_on: list[int] = []
        self.wakeup, self._write = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        self._before: dict[int, Any] = {}
        self._wakeup_before = -1
        self._had_terminal = False

    def __enter__(self) -> Self:
        self._wakeup_before = signal.set_wakeup_fd(self._write, warn_on_full_buffer=False)
        for number in (*_ENDING, *_FROM_TERMINAL):
            if signal.getsignal(number) is not signal.SIG_IGN:  # as nohup has it: for the command too, then
                self._before[number] = signal.signal(number, self._note)
        self._had_terminal = _in_foreground()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._had_terminal and not _in_foreground():
            _take_terminal()
        for number, handler in self._before.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(self._wakeup_before)
        os.close(self.wakeup)
        os.close(self._write)

    def _note(self, number: int, _frame: FrameType | None) -> None:
        if number in _ENDING:
            self.end = True
        elif not _in_foreground():
            self.to_pass_on.append(number)


def _in_foreground() -> bool:
    """Return whether the terminal sends its signals to this process group."""
    with suppress(OSError):
        terminal = os.open(_TERMINAL, os.O_RDONLY | os.O_CLOEXEC | os.O_NOCTTY)
        try:
            return os.tcgetpgrp(terminal) == os.getpgrp()
        finally:
            os.close(terminal)
    return False


def _take_terminal() -> None:
    """Become the foreground group again: a shell that was killed has not returned the terminal."""
    before = signal.signal(signal.SIGTTOU, signal.SIG_IGN)  # or this would stop us
    with suppress(OSError):
        terminal = os.open(_TERMINAL, os.O_RDONLY | os.O_CLOEXEC | os.O_NOCTTY)
        try:
            os.tcsetpgrp(terminal, os.getpgrp())
        finally:
            os.close(terminal)
    signal.signal(signal.SIGTTOU, before)


class Watch:
    """Watch a running router, the pipe of its log (-1: the log goes to a file), and further descriptors."""

    def __init__(self, router: Process, log: int, take_log: Callable[[bytes], None]) -> None:
        self._router = router
        self._log = log
        self._take_log = take_log
        self.command_ended = False
        if log >= 0:
            with suppress(OSError):  # above the user's limit of pipe memory: then it stays small
                fcntl.fcntl(log, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def wait_until_ready(self) -> None:
        """Return once packets would flow; raise LonglookError with the router's reason if they never will."""
        router = self._router
        self.until(lambda: bool(router.events("ready")) or router.exit is not None, _READY_WITHIN_S)
        if not router.events("ready"):
            raise refusal(router)

    def command(self, command: "subprocess.Popen[bytes]", signals: Signals) -> None:
        """Return when the command has ended (`command_ended` is then True), the link has ended, or a signal came."""
        pidfd = os.pidfd_open(command.pid)
        try:
            while not self.command_ended and not signals.end and self._router.exit is None:
                ready = self._wait([pidfd, signals.wakeup], None)
                self.command_ended = pidfd in ready
                if signals.wakeup in ready:
                    os.read(signals.wakeup, _READ_BYTES)
                while signals.to_pass_on:
                    with suppress(ProcessLookupError):
                        os.kill(command.pid, signals.to_pass_on.pop())
        finally:
            os.close(pidfd)

    def until(self, condition: Callable[[], bool], within_s: float) -> bool:
        """Process events until the condition holds; return False if the time is over first."""
        deadline = time.monotonic() + within_s
        while not condition():
            left_s = deadline - time.monotonic()
            if left_s <= 0:
                return False
            self._wait([], left_s)
        return True

    def failure(self) -> LonglookError | None:
        """Return why the router ended by itself or with an error; None if it runs or ended as asked."""
        if self._router.exit is None or not self._router.exit.code:
            return None
        errors = self._router.events("error")
        reason = str(errors[-1].get("reason")) if errors else f"it ended with {self._router.exit}"
        return LonglookError(f"the link is down: {reason}", errors[-1].get("hint") if errors else None)

    def finish(self) -> Mapping[str, Any]:
        """Stop the router now, with packets in flight, and return its summary ({} if it died without one)."""
        self._router.send(signal.SIGTERM)
        if not self.until(lambda: self._router.exit is not None, _STOPPED_WITHIN_S):
            self._router.send(signal.SIGKILL)
            self._router.reap()
        if self._log >= 0:
            while self._read_log():
                pass
        summaries = self._router.events("summary")
        return summaries[-1] if summaries else {}

    def close(self) -> None:
        """Kill the router if it still runs, and close everything."""
        self._router.close()
        if self._log >= 0:
            os.close(self._log)
            self._log = -1

    def _wait(self, others: list[int], within_s: float | None) -> set[int]:
        poll = select.poll()
        ready_calls: dict[int, Callable[[], object]] = {}
        if self._router.stdout >= 0:
            ready_calls[self._router.stdout] = self._router.read
        if self._router.exit is None:
            ready_calls[self._router.pidfd] = self._router.reap
        if self._log >= 0:
            ready_calls[self._log] = self._read_log
        for descriptor in (*ready_calls, *others):
            poll.register(descriptor, select.POLLIN)
        ready = set()
        for descriptor, events in poll.poll(None if within_s is None else within_s * 1000):
            if descriptor in ready_calls:
                ready_calls[descriptor]()
            else:
                ready.add(descriptor)
            if descriptor == self._log and not events & select.POLLIN:
                # The router has closed it, and a closed pipe is ready for ever.
                os.close(self._log)
                self._log = -1
        return ready

    def _read_log(self) -> bool:
        with suppress(BlockingIOError):
            data = os.read(self._log, _READ_BYTES)
            self._take_log(data)
            return bool(data)
        return False
