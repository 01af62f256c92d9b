"""The agent as a child process: requests go in, responses come out, and it can always be ended."""

import json
import os
import select
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from typing import IO, Any

from longlook.core import MachineError

_HELLO_WITHIN_S = 10.0
_QUIT_WITHIN_S = 5.0


class AgentDiedError(Exception):
    """The agent ended, or did not respond, in the middle of its work; the text gives the reason."""


class AgentProcess:
    """A running agent. `pid` is the supervisor, which was started; `laboratory_pid` is pid 1 of its namespaces.

    Raise MachineError if the laboratory cannot start.
    """

    def __init__(self) -> None:
        self._unread = b""
        self._laboratory = -1  # pidfd
        self.laboratory_pid: int | None = None
        self._stderr = _unnamed_file()
        self._process = subprocess.Popen(
            # Without the folder that it is started from, which it would count to what programs need (-P).
            [sys.executable, "-P", "-m", "longlook.lab.agent"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._stderr,
            start_new_session=True,  # Ctrl-C on the terminal is for us; the agent is ended by us
        )
        self.pid = self._process.pid
        if self._process.stdin is None or self._process.stdout is None:
            raise RuntimeError("pipes were asked for")
        self._requests, self._responses = self._process.stdin, self._process.stdout
        try:
            self._await_hello()
        except BaseException:
            self.end(gracefully=False)
            raise

    def send(self, request: dict[str, Any]) -> None:
        """Send a request; raise AgentDiedError if the agent no longer reads."""
        try:
            self._requests.write(json.dumps(request).encode() + b"\n")
            self._requests.flush()
        except BrokenPipeError as error:
            raise AgentDiedError(self._how_it_died()) from error

    def receive(self, timeout_s: float) -> dict[str, Any]:
        """Return the next response; raise AgentDiedError if the agent ended or none came in time."""
        deadline = time.monotonic() + timeout_s
        while b"\n" not in self._unread:
            if not select.select([self._responses], [], [], max(0.0, deadline - time.monotonic()))[0]:
                raise AgentDiedError(f"agent did not respond for {timeout_s:.0f} s")
            data = os.read(self._responses.fileno(), 1 << 16)
            if not data:
                raise AgentDiedError(self._how_it_died())
            self._unread += data
        line, self._unread = self._unread.split(b"\n", 1)
        response: dict[str, Any] = json.loads(line)
        return response

    def end(self, *, gracefully: bool) -> None:
        """Ask it to quit, or kill it. On return it is reaped and every process of its laboratory is gone."""
        if gracefully:
            with suppress(AgentDiedError, subprocess.TimeoutExpired):
                self.send({"op": "quit"})
                self._process.wait(_QUIT_WITHIN_S)
        with suppress(BrokenPipeError):
            self._requests.close()  # its control pipe: without it the supervisor kills everything, cleans up and ends
        try:
            self._process.wait(_QUIT_WITHIN_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._responses.close()
        self._stderr.close()
        if self._laboratory >= 0:
            select.select([self._laboratory], [], [])  # readable once the whole PID namespace is gone
            os.close(self._laboratory)
            self._laboratory = -1

    def _await_hello(self) -> None:
        try:
            hello = self.receive(_HELLO_WITHIN_S)
        except AgentDiedError as death:
            raise MachineError(f"the laboratory cannot start: {death}", "longlook doctor") from death
        if hello["event"] != "hello":
            raise MachineError(hello["message"], hello["hint"])
        self.laboratory_pid = hello["pid"]
        with suppress(ProcessLookupError):
            self._laboratory = os.pidfd_open(hello["pid"])

    def _how_it_died(self) -> str:
        try:
            code = self._process.wait(_QUIT_WITHIN_S)
        except subprocess.TimeoutExpired:
            return "agent closed its output and still runs"
        self._stderr.seek(0)
        stderr = self._stderr.read().decode(errors="replace").strip().splitlines()
        how = f"by signal {-code}" if code < 0 else f"with exit code {code}"
        return f"agent died {how}{': ' + stderr[-1] if stderr else ''}"


def _unnamed_file() -> IO[bytes]:
    return tempfile.TemporaryFile()
