"""Run somebody else's server so that it fulfils adapters/CONTRACT.md.

The program logs to its standard error, and its log of requests and connections goes to its standard output. It leads a
process group of its own, which ends with it, and the kernel ends it when this process dies in whatever way.
"""

import ctypes
import os
import selectors
import signal
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from longlook_adapter.errors import AdapterError
from longlook_adapter.lines import emit
from longlook_adapter.options import Options, ProxyOptions
from longlook_adapter.ports import free_port

_STOP_WITHIN_S = 0.7  # the contract allows one second for all
_LAST_LINES = 5  # of the log, quoted where the program ends by itself
_READ_BYTES = 1 << 16
_PR_SET_PDEATHSIG = 1


@dataclass(frozen=True)
class Foreign:
    """Somebody else's program, and how to run it. It ends properly on `stop`."""

    argv: tuple[str, ...]
    is_ready: Callable[[str], bool]  # whether a line of its log means that it listens
    on_request: Callable[[str], None]  # takes a line of its standard output
    env: Mapping[str, str] = field(default_factory=dict)
    stop: signal.Signals = signal.SIGTERM
    is_noise: Callable[[str], bool] = lambda _: False  # whether a line of its log is of no interest
    prepare: Callable[[], None] = lambda: None  # called in the new process, before the program is there
    name: str = ""  # in reports; empty: the file's


def supervise(options: Options, version: str, configure: Callable[[Path, int], Foreign]) -> None:
    """Run a server until SIGTERM or SIGINT; AdapterError with the end of its log where it ends by itself.

    `configure` gets a folder for the program's files, which is removed in the end, and the port to listen on.
    """
    _supervise(options, (options.certificate, options.key, f"{options.www}/."), "server", version, configure)


def supervise_proxy(options: ProxyOptions, version: str, configure: Callable[[Path, int], Foreign]) -> None:
    """Run a proxy, as `supervise` runs a server."""
    _supervise(options, (options.certificate, options.key, options.ca), "proxy", version, configure)


def _supervise(
    options: Options | ProxyOptions,
    needed: tuple[str, ...],
    role: str,
    version: str,
    configure: Callable[[Path, int], Foreign],
) -> None:
    for name in needed:
        os.close(os.open(name, os.O_RDONLY))  # reported here as the contract demands: programs do it in many ways
    with tempfile.TemporaryDirectory(prefix="longlook-") as folder, _waking() as (wake, stopped):
        port = free_port(options.protocol, options.address, options.port)
        program = configure(Path(folder), port)
        ready = {"address": options.address, "port": port, "version": version}
        with _Running(program) as running:
            running.watch(wake, stopped, lambda: emit("ready", role=role, protocol=options.protocol, **ready))


@contextmanager
def _waking() -> Iterator[tuple[int, list[int]]]:
    """Yield a descriptor that is readable whenever a signal has come, and the list of signals that ask for the end."""
    stopped: list[int] = []
    reading, writing = os.pipe()
    for end in (reading, writing):
        os.set_blocking(end, False)
    signal.set_wakeup_fd(writing)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda number, _: stopped.append(number))
    try:
        yield reading, stopped
    finally:
        signal.set_wakeup_fd(-1)
        os.close(reading)
        os.close(writing)


class _Stream:
    """Lines from a pipe, read without blocking."""

    def __init__(self, number: int, take: Callable[[str], None]) -> None:
        self.number, self._take, self._rest = number, take, b""
        os.set_blocking(number, False)

    def pump(self) -> bool:
        """Take the lines that have arrived; return whether there can be more."""
        while True:
            try:
                data = os.read(self.number, _READ_BYTES)
            except BlockingIOError:
                return True
            *lines, self._rest = (self._rest + data).split(b"\n")
            if not data and self._rest:
                lines, self._rest = [self._rest], b""
            for line in lines:
                self._take(line.decode(errors="replace"))
            if not data:
                return False


class _Running:
    """The program, from its start to its end."""

    def __init__(self, program: Foreign) -> None:
        self._program, self._last_lines = program, deque[str](maxlen=_LAST_LINES)
        self._on_ready: Callable[[], None] | None = None
        self._process = subprocess.Popen(
            program.argv,
            env={**os.environ, **program.env},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            process_group=0,
            preexec_fn=ends_with(os.getpid(), ctypes.CDLL(None).prctl, program.prepare),  # noqa: PLW1509 one thread
        )
        out, err = self._process.stdout, self._process.stderr
        if out is None or err is None:
            raise AssertionError("both are pipes")
        self._streams = [_Stream(out.fileno(), program.on_request), _Stream(err.fileno(), self._log_line)]

    def __enter__(self) -> "_Running":
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        for stream in self._streams:
            stream.pump()
        for pipe in (self._process.stdout, self._process.stderr):
            if pipe is not None:
                pipe.close()

    def watch(self, wake: int, stopped: list[int], on_ready: Callable[[], None]) -> None:
        """Pass on the program's output until a signal ends it; AdapterError where it ends by itself."""
        self._on_ready, deadline_s = on_ready, None
        with selectors.DefaultSelector() as selector:
            selector.register(wake, selectors.EVENT_READ)
            for stream in self._streams:
                selector.register(stream.number, selectors.EVENT_READ, stream)
            while not self._ended():
                if stopped and deadline_s is None:
                    deadline_s = time.monotonic() + _STOP_WITHIN_S
                    os.kill(self._process.pid, self._program.stop)
                left_s = None if deadline_s is None else deadline_s - time.monotonic()
                if left_s is not None and left_s <= 0:
                    return
                for key, _ in selector.select(left_s):
                    if key.data is None:
                        os.read(wake, _READ_BYTES)
                    elif not key.data.pump():
                        selector.unregister(key.fileobj)
        if not stopped:
            raise AdapterError(self._exit_report())

    def _ended(self) -> bool:
        """Return whether it has ended; it is reaped later, so that its number still means its group."""
        return os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None

    def _exit_report(self) -> str:
        for stream in self._streams:
            stream.pump()
        found = os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOWAIT)
        killed = found is not None and found.si_code != os.CLD_EXITED
        how = "" if found is None else f"{'signal' if killed else 'exit code'} {found.si_status}"
        log = " | ".join(self._last_lines)
        name = self._program.name or Path(self._program.argv[0]).name
        return f"{name} ended by itself ({how}): {log or 'its log is empty'}"

    def _log_line(self, line: str) -> None:
        if not self._program.is_noise(line):
            print(line, file=sys.stderr, flush=True)
            self._last_lines.append(line)
        if self._on_ready is not None and self._program.is_ready(line):
            announce, self._on_ready = self._on_ready, None
            announce()


def ends_with(parent: int, prctl: Callable[..., int], then: Callable[[], None]) -> Callable[[], None]:
    """Return what a new process does first: have the kernel end it when its parent dies."""

    def run() -> None:
        prctl(_PR_SET_PDEATHSIG, int(signal.SIGTERM), 0, 0, 0)
        if os.getppid() != parent:
            os._exit(1)
        then()

    return run
