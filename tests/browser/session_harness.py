"""The driver as a child process, and servers that record what was asked of them."""

import http.server
import json
import os
import shutil
import signal
import socket
import ssl
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from longlook.core import registry
from longlook.core.job import Content, Identity, Program
from longlook.core.stack import ServerJob, Stack
from tests.support.processes import all_pids, command_line, has_ended, leads_session, parent_of

HOST = "127.0.0.1"
Line = dict[str, Any]
OBJECTS, OBJECT_BYTES = 12, 10_000
"""The page that most tests load."""


def free_port() -> int:
    """A port that is free for TCP and for UDP."""
    while True:
        with socket.socket() as tcp, socket.socket(type=socket.SOCK_DGRAM) as udp:
            tcp.bind((HOST, 0))
            port: int = tcp.getsockname()[1]
            try:
                udp.bind((HOST, port))
            except OSError:
                continue
            return port


def wait_for(condition: Callable[[], bool], what: str, limit_s: float = 30.0) -> None:
    deadline_s = time.monotonic() + limit_s
    while not condition():
        assert time.monotonic() < deadline_s, f"{what}: not after {limit_s} s"
        time.sleep(0.01)


class Server:
    """A quic-go server of one protocol; its lines are read as they come."""

    def __init__(self, stack: Stack, program: Program, job: ServerJob) -> None:
        assert stack.server_command is not None
        self._process = subprocess.Popen(
            stack.server_command(program, job).argv, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        assert self._process.stdout is not None
        ready = json.loads(self._process.stdout.readline())
        assert ready["event"] == "ready", ready
        self.connections: list[Line] = []
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def connection_of(self, connection: Line) -> Line:
        """Return the server's line of a client's connection, by its port, or by time where the port is not certain.

        The client's port is null if the connection had moved to another before the driver could look.
        """

        def found() -> list[Line]:
            if connection["local"] is None:
                return [line for line in self.connections if line["t_handshake_ns"] > connection["t_start_ns"]]
            return [line for line in self.connections if line["remote"] == connection["local"]]

        wait_for(lambda: bool(found()), f"the server's line on {connection}")
        return found()[0]

    def stop(self) -> None:
        self._process.terminate()
        self._process.wait(5)
        self._reader.join()
        assert self._process.stdout is not None
        self._process.stdout.close()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for text in self._process.stdout:
            line = json.loads(text)
            if line["event"] == "connection":
                self.connections.append(line)


@contextmanager
def quic_go(protocol: str, port: int, www: str, identity: Identity) -> Iterator[Server]:
    stack: Stack = registry.get("stacks", "quic-go")
    program = stack.install(stack.default_version)
    server = Server(stack, program, ServerJob(protocol, HOST, port, www, identity, {}))
    try:
        yield server
    finally:
        server.stop()


@contextmanager
def https_1_1(
    port: int, answers: dict[str, tuple[int, dict[str, str], bytes]], identity: Identity
) -> Iterator[list[str]]:
    """A server of HTTP/1.1 over TLS with fixed answers (path → status, headers, body); yields the paths asked for."""
    asked: list[str] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            asked.append(self.path)
            status, headers, body = answers.get(self.path, (404, {}, b""))
            self.send_response(status)
            for name, value in {**headers, "content-length": str(len(body))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer((HOST, port), Handler)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(identity.certificate, identity.key)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield asked
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def descendants(pid: int) -> set[int]:
    """Every process below `pid`, zombies left out."""
    parents = {each: parent_of(each) for each in all_pids() if not has_ended(each)}
    found = {pid}
    while more := {child for child, parent in parents.items() if parent in found} - found:
        found |= more
    return found - {pid}


def alive(pids: set[int]) -> set[int]:
    """Those of `pids` that still run."""
    return {pid for pid in pids if not has_ended(pid)}


class Session:
    """A driver for one port of this machine; its scratch folder is in `folder`, so that what is left can be seen."""

    def __init__(
        self, identity: Identity, port: int, folder: Path, program: Program | None = None, browser: str = "chromium"
    ) -> None:
        stack: Stack = registry.get("stacks", browser)
        assert stack.session_command is not None
        command = stack.session_command(program or stack.install(stack.default_version), identity)
        self.port = port
        self.folder = folder
        self.process = subprocess.Popen(
            (*command.argv, "--address", HOST, "--port", str(port)),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, **command.env, "TMPDIR": str(folder)},
        )
        self.first = self.read()

    def read(self) -> Line:
        """The next line; empty at the end of output."""
        assert self.process.stdout is not None
        text = self.process.stdout.readline()
        return json.loads(text) if text else {}

    def send(self, **changes: Any) -> None:
        """Give a job; by default a cold load of /index.html by h3."""
        job = {
            "protocol": "h3",
            "connection": "cold",
            "address": HOST,
            "port": self.port,
            "phases": [["/index.html"]],
            "identity": {"host": "www.example.test"},
            "knobs": {},
            "timeout_s": 20.0,
            **changes,
        }
        self.send_text(json.dumps(job))

    def send_text(self, text: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(text + "\n")
        self.process.stdin.flush()

    def answer(self) -> list[Line]:
        """Lines up to `done`, or to the end of output."""
        lines = []
        while line := self.read():
            lines.append(line)
            if line["event"] == "done":
                break
        return lines

    def run(self, **changes: Any) -> list[Line]:
        self.send(**changes)
        return self.answer()

    def browsers(self) -> list[int]:
        """The main processes of the browsers: children of the driver that lead a session of their own."""
        return [pid for pid in descendants(self.process.pid) if leads_session(pid) and self._is_browser(pid)]

    def _is_browser(self, pid: int) -> bool:
        return b"--remote-debugging-port" in command_line(pid)

    def finish(self) -> int:
        """End its input; the exit code."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        return self.process.wait(20)

    def close(self) -> None:
        """End it however it stands."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            self.process.wait(20)
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                pipe.close()


Start = Callable[..., Session]
"""The fixture `start`: a session for a port, and maybe with another browser; it is ended with the test."""


@contextmanager
def session_of(identity: Identity, port: int, browser: str) -> Iterator[Session]:
    """A session with a scratch folder of its own, whose path is short: Chromium has sockets in it."""
    with tempfile.TemporaryDirectory(prefix="longlook-") as folder:
        session = Session(identity, port, Path(folder), browser=browser)
        try:
            yield session
        finally:
            session.close()


def of(lines: Sequence[Line], event: str) -> list[Line]:
    return [line for line in lines if line["event"] == event]


def copy_of(content: Content, folder: Path) -> Path:
    """The served files, to be tampered with."""
    return Path(shutil.copytree(content.root, folder / "www"))
