"""Installs several parts at once, each missing one by a process of its own that ends with everything it started."""

import json
import os
import signal
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass

from longlook.core import LonglookError
from longlook.provision.setup import install, is_part_installed
from longlook.store import sharing

_LAST_LINES = 5
_END_WITHIN_S = 5.0


@dataclass(frozen=True)
class Installed:
    """The result of one part: the `digest` of its program, or `message` (with a log's last lines) and `hint`."""

    part: str
    digest: str | None
    message: str = ""
    hint: str | None = None


@dataclass(frozen=True)
class InstallWatcher:
    """Callbacks for the progress; called from several threads, but never by two at once."""

    begun: Callable[[str], None] = lambda _part: None
    step: Callable[[str, str], None] = lambda _part, _step: None
    ended: Callable[[Installed], None] = lambda _installed: None


def install_all(parts: Sequence[str], jobs: int, watcher: InstallWatcher, *, here: bool = False) -> list[Installed]:
    """Install parts (`setup.spelt_out`), up to `jobs` at once, and return their results in the order given.

    One that fails does not stop the others. Each missing part is left to `longlook setup PART --json` in a process
    group of its own, so that no process of an interrupted build goes on. A part that is installed needs no process.
    `here`: install in this process, which is such a child.
    """
    lock = threading.Lock()
    children = _Children()

    def one(part: str) -> Installed:
        with lock:
            watcher.begun(part)
        if here or is_part_installed(part):
            result = install_here(part, lambda step: _locked(lock, watcher.step, part, step))
        else:
            result = children.install(part, lambda step: _locked(lock, watcher.step, part, step))
        with lock:
            watcher.ended(result)
        return result

    if here:
        return [one(part) for part in parts]
    pool = ThreadPoolExecutor(max_workers=jobs)
    try:
        with children.ended_on_error():
            return list(pool.map(one, parts))
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def install_here(part: str, say: Callable[[str], None]) -> Installed:
    """Install a part in this process and return its result."""
    try:
        with sharing(say):
            return Installed(part, install(part, say).digest)
    except LonglookError as error:
        return Installed(part, None, error.message, error.hint)


def _locked(lock: threading.Lock, call: Callable[[str, str], None], part: str, step: str) -> None:
    with lock:
        call(part, step)


class _Children:
    """The installing processes; none is started after the others were ended."""

    def __init__(self) -> None:
        self._running: set[subprocess.Popen[str]] = set()
        self._lock = threading.Lock()
        self._stopped = False

    def install(self, part: str, say: Callable[[str], None]) -> Installed:
        with self._lock:
            if self._stopped:
                return Installed(part, None, "stopped before it began")
            child = subprocess.Popen(
                (sys.executable, "-m", "longlook", "setup", part, "--json"),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                start_new_session=True,
            )
            self._running.add(child)
        try:
            result = _outcome(part, child, say)
        finally:
            child.wait()
            with self._lock:
                self._running.discard(child)
        return result or Installed(part, None, f"its installation ended with exit code {child.returncode}")

    @contextmanager
    def ended_on_error(self) -> Iterator[None]:
        """End all of them, with everything they started, when Ctrl-C or an error leaves the block."""
        try:
            yield
        except BaseException:
            self._end()
            raise

    def _end(self) -> None:
        with self._lock:
            self._stopped = True
            running = list(self._running)
        for child in running:
            _signal(child, signal.SIGTERM)
        for child in running:
            try:
                child.wait(_END_WITHIN_S)
            except subprocess.TimeoutExpired:
                _signal(child, signal.SIGKILL)


def _signal(child: "subprocess.Popen[str]", number: int) -> None:
    try:
        os.killpg(child.pid, number)
    except ProcessLookupError:
        return


def _outcome(part: str, child: "subprocess.Popen[str]", say: Callable[[str], None]) -> Installed | None:
    """Return the result that a child prints; None if it ends without one and without any other output."""
    result, other_lines = None, deque[str](maxlen=_LAST_LINES)
    for line in child.stdout or ():
        try:
            entry = json.loads(line)
            event = entry["event"]
        except (ValueError, TypeError, KeyError):
            other_lines.append(line.rstrip())
            continue
        if event == "step":
            say(str(entry["text"]))
        elif event == "ready":
            result = Installed(part, str(entry["digest"]))
        elif event == "failed":
            result = Installed(part, None, str(entry["message"]), entry["hint"])
    if result is None and other_lines:
        return Installed(part, None, "its installation ended early:\n" + "\n".join(other_lines))
    return result
