"""The programs of a trial as processes: started in a namespace, watched by descriptor, and always ended and reaped."""

import errno
import json
import math
import os
import select
import signal
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from longlook.core import MachineError
from longlook.lab import limits
from longlook.lab.linux.compartment import Compartment
from longlook.lab.linux.confine import Confinement, Spawn, Started
from longlook.lab.linux.namespace import Namespace
from longlook.lab.linux.program_view import Room
from longlook.lab.observations import signal_name

STOP_WITHIN_S = 2.0
_READ_BYTES = 1 << 16
_READS_AT_ONCE = 16  # more than any pipe holds; a program that prints without pause must not keep its reader for ever
_JUNK_KEPT, _TAIL_KEPT = 20, 3
_LONGEST_LINE_BYTES = 1 << 20
_HANDLED_BY_PYTHON = (signal.SIGPIPE, signal.SIGXFSZ, signal.SIGINT, signal.SIGTERM)

Line = Mapping[str, Any]


@dataclass(frozen=True)
class Exit:
    """How a program ended, and the CPU seconds that it and its reaped children used."""

    code: int  # exit code, or the negated number of the signal that ended it
    cpu_s: float

    def __str__(self) -> str:
        return f"exit code {self.code}" if self.code >= 0 else f"signal {signal_name(-self.code)}"


@dataclass
class Process:
    """A running program. `lines` are the JSON objects that it printed; `junk` is the first of its other output, `tail`
    the last.

    `broke` is the limit that it broke, as a sentence without its subject: it is killed for that.
    """

    name: str
    pid: int
    pidfd: int
    stdout: int  # -1 once it is closed
    stdin: int | None
    log: int  # descriptor of the file that gets the raw output too; -1: none
    stderr: Path
    lines: list[Line] = field(default_factory=list)
    junk: list[str] = field(default_factory=list)
    exit: Exit | None = None
    broke: str | None = None
    before_reap: Callable[[], None] = lambda: None  # called while what it started still runs
    user: int | None = None  # that it alone runs as
    home: str = ""  # the folder where it has temporary files
    compartment: Compartment | None = None  # in real time, of a program under test
    room: Room | None = None  # in a guest, and of a program with a root of its own
    says_ready: bool = True  # False: it may print what it likes, and a server is ready once it listens
    tail: deque[str] = field(default_factory=lambda: deque(maxlen=_TAIL_KEPT))
    _rest: bytes = b""
    _printed: int = 0
    _line_count: int = 0
    _stderr_before: int = 0

    def events(self, event: str) -> list[Line]:
        """Return the lines of one kind, in order."""
        return [line for line in self.lines if line.get("event") == event]

    def note_listening(self, port: int) -> None:
        """Add a line `ready` for a program that prints none, once a socket of UDP listens on a port of its network."""
        if not self.says_ready and self.exit is None and not self.events("ready") and _listens(self.pid, port):
            self.lines.append({"event": "ready", "port": port})

    def write_line(self, text: str) -> bool:
        """Write a line to the program's standard input; return False when it no longer reads."""
        if self.stdin is None:
            raise ValueError(f"{self.name} has no standard input")
        data = text.encode() + b"\n"
        try:
            while data:
                data = data[os.write(self.stdin, data) :]
        except BrokenPipeError:
            return False
        return True

    def close_stdin(self) -> None:
        """Close the program's standard input: it has been given everything."""
        if self.stdin is not None:
            os.close(self.stdin)
            self.stdin = None

    def redirect(self, log: Path | None) -> None:
        """Send the raw output to another file from now on (None: to none), and forget what was read so far."""
        if self.log >= 0:
            os.close(self.log)
        self.log = -1 if log is None else _create(log)
        self.lines.clear()
        self.junk.clear()
        self.tail.clear()
        self._printed = self._line_count = 0
        self._stderr_before = self.stderr.stat().st_size

    def send(self, number: signal.Signals) -> None:
        """Send a signal to the program's whole process group, if it still runs."""
        if self.exit is None:
            with suppress(ProcessLookupError):
                os.killpg(self.pid, number)

    def breaks(self, limit: str) -> None:
        """Kill the program because it broke a limit, and read no more of its output; only the first limit counts."""
        if self.broke is None:
            self.broke = limit
            if self.compartment is not None:
                self.compartment.kill_at_once()
            self.send(signal.SIGKILL)
            self._close_stdout()

    def alarm(self) -> int | None:
        """Return a descriptor with news (POLLPRI) once the kernel has kept it from a limit; None without one."""
        return None if self.compartment is None or self.broke is not None else self.compartment.alarm()

    def check_compartment(self) -> None:
        """Kill the program if the kernel has kept it from breaking a limit."""
        if self.compartment is not None and (broken := self.compartment.broken()) is not None:
            self.breaks(limits.sentence(broken, self.home))
        if self.room is not None and self.room.is_full():
            self.breaks(limits.full_in_guest(self.room.size.byte_count, self.room.size.files))

    def check_stderr(self) -> None:
        """Kill the program if it has written too much to standard error since its output was redirected."""
        if self.stderr.stat().st_size - self._stderr_before > limits.STDERR_BYTES:
            self.breaks(f"wrote more than {limits.mebibytes(limits.STDERR_BYTES)} to standard error")

    def read(self) -> None:
        """Read what the program has printed, without waiting, and no more than a pipe holds."""
        for _ in range(_READS_AT_ONCE):
            if self.stdout < 0:
                return
            try:
                data = os.read(self.stdout, _READ_BYTES)
            except BlockingIOError:
                return
            if not data:
                self._close_stdout()
                self._take(b"\n" if self._rest else b"")
                return
            self._take(data)
            if self._printed > limits.OUTPUT_BYTES or self._line_count > limits.OUTPUT_LINES:
                most = f"{limits.mebibytes(limits.OUTPUT_BYTES)} or {limits.OUTPUT_LINES} lines"
                self.breaks(f"printed more than {most} to standard output")

    def has_ended(self) -> bool:
        """Return whether the program has ended by now; reap it if so."""
        if self.exit is None and select.select([self.pidfd], [], [], 0)[0]:
            self.reap()
        return self.exit is not None

    def reap(self) -> None:
        """Collect the exit status of a program that has ended or been killed, and kill what is left of it."""
        self.before_reap()
        self.check_compartment()
        if self.compartment is not None:
            self.compartment.kill()
        with suppress(ProcessLookupError):  # before the wait: until then the group's number cannot be anyone else's
            os.killpg(self.pid, signal.SIGKILL)
        _, status, usage = os.wait4(self.pid, 0)
        self.exit = Exit(os.waitstatus_to_exitcode(status), usage.ru_utime + usage.ru_stime)
        if self.compartment is not None:
            self.compartment.close()
            self.compartment = None
        self.read()

    def close(self) -> None:
        """Kill the program if it still runs, and close everything."""
        if self.exit is None:
            self.send(signal.SIGKILL)
            self.reap()
        for descriptor in (self.pidfd, self.stdout, self.log, self.stdin):
            if descriptor is not None and descriptor >= 0:
                os.close(descriptor)
        self.pidfd = self.stdout = self.log = -1
        self.stdin = None
        if self.room is not None:
            self.room.close()
            self.room = None

    def _close_stdout(self) -> None:
        if self.stdout >= 0:
            os.close(self.stdout)
        self.stdout = -1

    def _take(self, data: bytes) -> None:
        self._printed += len(data)
        if self.log >= 0 and data:
            try:
                _write_all(self.log, data)
            except OSError as error:
                if error.errno not in (errno.ENOSPC, errno.EDQUOT):
                    raise
                self.breaks("printed more than there is room for")  # a host whose disk is full is found out later
        *complete, self._rest = (self._rest + data).split(b"\n")
        if len(self._rest) > _LONGEST_LINE_BYTES:
            complete, self._rest = [*complete, self._rest], b""
        self._line_count += len(complete)
        for line in complete:
            self._take_line(line)

    def _take_line(self, line: bytes) -> None:
        if not line.strip():
            return
        try:
            parsed = json.loads(line)
        except (ValueError, RecursionError):
            parsed = None
        if isinstance(parsed, dict) and (self.says_ready or isinstance(parsed.get("event"), str)):
            self.lines.append(parsed)
            return
        text = line[:200].decode(errors="replace")
        self.tail.append(text)
        if len(self.junk) < _JUNK_KEPT:
            self.junk.append(text)


class CrowdedOutError(OSError):
    """A program cannot be started because others of its trial have taken what a process needs.

    A guest's kernel that can open no more files of the host calls that a lack of memory.
    """


def _is_in_guest(confinement: Confinement | None) -> bool:
    return confinement is not None and confinement.view is None


def start(  # noqa: PLR0913
    name: str,
    argv: Sequence[str],
    namespace: Namespace,
    env: Mapping[str, str],
    *,
    stdout_log: Path | None,
    stderr_log: Path,
    with_stdin: bool = False,
    inherit: Sequence[int] = (),
    confinement: Confinement | None = None,
) -> Process:
    """Start a program in a network namespace as the leader of a session of its own, and return it.

    `stdout_log` and `stderr_log` are files that get its output; `inherit` are descriptors that it keeps under the same
    numbers. `confinement` confines a program under test; None starts a program of Longlook. Raise MachineError when it
    cannot be executed, and CrowdedOutError if other programs of the trial have taken what a process needs.
    """
    out_read, out_write = os.pipe2(os.O_CLOEXEC)
    in_read, in_write = os.pipe2(os.O_CLOEXEC) if with_stdin else (os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC), -1)
    log = stderr = -1
    try:
        stderr = _create(stderr_log)
        log = -1 if stdout_log is None else _create(stdout_log)
        actions: list[tuple[int, int, int]] = [
            (os.POSIX_SPAWN_DUP2, in_read, 0),
            (os.POSIX_SPAWN_DUP2, out_write, 1),
            (os.POSIX_SPAWN_DUP2, stderr, 2),
            *((os.POSIX_SPAWN_DUP2, descriptor, descriptor) for descriptor in inherit),
        ]

        def spawn(way: Spawn) -> int:
            if way.enters:
                from longlook.lab.linux.grouped_spawn import spawn_in_groups  # no guest needs what it imports

                return spawn_in_groups(way, env, (in_read, out_write, stderr), _HANDLED_BY_PYTHON)
            own = [(os.POSIX_SPAWN_DUP2, *pair) for pair in way.descriptors]
            command = list(way.argv)
            return os.posix_spawnp(
                command[0], command, dict(env), file_actions=actions + own, setsid=True, setsigdef=_HANDLED_BY_PYTHON
            )

        if confinement is not None:
            started = confinement.start(argv, spawn, namespace.descriptor)
            if started.compartment is not None:  # in a guest this would move the program's time by a tick
                _offer_to_memory_killer(started.pid)
        else:
            with namespace.inside():
                started = Started(spawn(Spawn(argv)), None)
    except OSError as error:
        for descriptor in (out_read, in_write, log):
            if descriptor >= 0:
                os.close(descriptor)
        if isinstance(error, BlockingIOError) or (error.errno == errno.ENOMEM and _is_in_guest(confinement)):
            raise CrowdedOutError(error.errno, error.strerror) from error
        if error.filename not in (None, argv[0]):
            raise
        raise MachineError(
            f"{name} {argv[0]} cannot be started: {error.strerror}", "install it again: longlook setup"
        ) from error
    finally:
        for descriptor in (out_write, in_read, stderr):
            if descriptor >= 0:
                os.close(descriptor)
    os.set_blocking(out_read, False)
    return Process(
        name,
        started.pid,
        os.pidfd_open(started.pid),
        out_read,
        in_write if with_stdin else None,
        log,
        stderr_log,
        user=None if confinement is None else confinement.user,
        home=env.get("HOME", ""),
        compartment=started.compartment,
        room=started.room,
    )


def watch(
    processes: Sequence[Process],
    until: Callable[[], bool],
    timeout_s: float,
    every_s: Callable[[], float] = lambda: math.inf,
) -> bool:
    """Read output and reap exits as they happen until the condition holds; return False when the time is over first.

    One poll watches everything, so that the end of any program is noticed at once. The condition is evaluated whenever
    something happens, and at the latest after `every_s()`.
    """
    deadline = time.monotonic() + timeout_s
    while not until():
        left_s = deadline - time.monotonic()
        if left_s <= 0:
            return False
        poll = select.poll()
        ready: dict[int, Callable[[], None]] = {}
        for process in processes:
            if process.stdout >= 0:
                ready[process.stdout] = process.read
            if process.exit is None:
                ready[process.pidfd] = process.reap
        for descriptor in ready:
            poll.register(descriptor, select.POLLIN)
        for process in processes:
            if (alarm := process.alarm()) is not None:
                ready[alarm] = process.check_compartment
                poll.register(alarm, select.POLLPRI)
        for descriptor, _ in poll.poll(min(left_s, every_s()) * 1000):
            ready[descriptor]()
    return True


def stop(process: Process, others: Sequence[Process] = (), within_s: float = STOP_WITHIN_S) -> bool:
    """Send SIGTERM, and SIGKILL when the program does not end in time; return whether SIGTERM was enough.

    The program is reaped in any case; the output of `others` is read meanwhile.
    """
    process.send(signal.SIGTERM)
    if watch([process, *others], lambda: process.exit is not None, within_s):
        return True
    process.send(signal.SIGKILL)
    process.reap()
    return False


def kill_orphan(pid: int) -> None:
    """Kill and reap a child that no Process stands for: pid 1 becomes the parent of its namespace's orphans."""
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
    with suppress(ChildProcessError):
        os.waitpid(pid, 0)


def _offer_to_memory_killer(pid: int) -> None:
    """Let the kernel end this program and what it starts before anything else if memory runs out."""
    with suppress(OSError):  # it has ended
        Path(f"/proc/{pid}/oom_score_adj").write_text("1000")


def end_everything() -> None:
    """Kill and reap every other process of the PID namespace that this process is pid 1 of.

    It is one call, so that no program can start others meanwhile.
    """
    with suppress(ProcessLookupError):
        os.kill(-1, signal.SIGKILL)
    with suppress(ChildProcessError):
        while True:
            os.waitpid(-1, 0)


def _listens(pid: int, port: int) -> bool:
    """Return whether a socket of UDP is bound to a port in the network namespace of a process (proc(5), net/udp).

    One of IPv6 counts, too: it may serve both versions.
    """
    rows = []
    for name in ("udp", "udp6"):
        with suppress(OSError):
            rows += Path(f"/proc/{pid}/net/{name}").read_text().splitlines()[1:]
    return any(row.split()[1].endswith(f":{port:04X}") for row in rows)


def _create(path: Path) -> int:
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)


def _write_all(descriptor: int, data: bytes) -> None:
    while data:
        data = data[os.write(descriptor, data) :]
