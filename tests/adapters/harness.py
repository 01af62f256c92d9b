"""Drives a stack's programs as the laboratory does: real processes, loopback, ephemeral ports."""

import contextlib
import json
import os
import select
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from _pytest.mark import ParameterSet

from longlook.core import registry
from longlook.core.job import Content, Program
from longlook.core.model import ConnectionState, Scalar
from longlook.core.protocol import find_protocol
from longlook.core.stack import ClientJob, Command, ServerJob, Stack
from longlook.provision import tls
from longlook.provision.sources.resolve import parse_program

LOOPBACK = "127.0.0.1"
REFERENCE = "quic-go@0.65.0"
"""The peer of stacks that have one role only."""
USUAL = ("quic-go", "ngtcp2", "aioquic", "pycurl", "python-http")
OLD = {"quic-go": "0.48.2"}
"""Versions that every run of the tests covers beside the default ones; the rest is marked `stacks`."""
START_LIMIT_S = 20.0
CLIENT_LIMIT_S = 60.0
_SCRATCH = tempfile.TemporaryDirectory(prefix="adapters-")
"""The temporary folder of all programs: a program that a test kills removes nothing. Its path fits a Unix socket's."""


def stack_named(part: str) -> Stack:
    """The stack of NAME or NAME@VERSION."""
    return parse_program(part)[0]


def version_of(part: str) -> str:
    """The version of NAME@VERSION; the default of NAME."""
    return parse_program(part)[1]


@cache
def program_of(part: str) -> Program:
    """The program of NAME or NAME@VERSION, built when the cache has none."""
    stack, version = parse_program(part)
    return stack.install(version)


def protocols_of(part: str) -> tuple[str, ...]:
    stack, version = parse_program(part)
    return stack.protocols_of(version)


def states_of(part: str) -> tuple[ConnectionState, ...]:
    stack, version = parse_program(part)
    return stack.connections_of(version)


def has(part: str, role: str) -> bool:
    stack = stack_named(part)
    return (stack.server_command if role == "server" else stack.client_command) is not None


def parts() -> list[str]:
    """Every version of every stack that runs without a browser."""
    stacks: list[Stack] = list(registry.load("stacks").values())
    every = [f"{stack.name}@{version}" for stack in stacks for version in stack.version_names]
    return [part for part in every if has(part, "server") or has(part, "client")]


def usual(part: str) -> bool:
    """Return whether `make test` covers it: few stacks, each with its default version and one old one."""
    stack, version = parse_program(part)
    return stack.name in USUAL and version in (stack.default_version, OLD.get(stack.name))


def pairs() -> list[tuple[str, str, str]]:
    """(server, client, protocol) that fetch: each version with itself where it has both roles, else the reference."""
    couples = {
        (part if has(part, "server") else REFERENCE, part if has(part, "client") else REFERENCE) for part in parts()
    }
    return [
        (server, client, protocol)
        for server, client in sorted(couples)
        for protocol in protocols_of(server)
        if protocol in protocols_of(client) and find_protocol(protocol).fetches
    ]


def cases(*protocols: str) -> list[ParameterSet]:
    """The pairs as parameters, of some protocols or all; those that `make test` leaves out are marked `stacks`."""
    return [
        pytest.param(pair, id="-".join(pair), marks=() if usual(pair[0]) and usual(pair[1]) else (pytest.mark.stacks,))
        for pair in pairs()
        if not protocols or pair[2] in protocols
    ]


def cases_on_one_connection() -> list[ParameterSet]:
    """The pairs whose client sends all requests over the connections of its job."""
    return cases(*{name for _, _, name in pairs() if not find_protocol(name).connection_per_request})


def json_lines(text: str) -> list[dict[str, Any]]:
    """Every line of standard output must be one JSON object with an `event`."""
    lines = [json.loads(line) for line in text.splitlines()]
    assert all(isinstance(line, dict) and isinstance(line.get("event"), str) for line in lines), text
    return lines


def of_event(lines: list[dict[str, Any]], event: str) -> list[dict[str, Any]]:
    return [line for line in lines if line["event"] == event]


@dataclass
class Server:
    """A server that is running, or was."""

    process: subprocess.Popen[str]
    ready: dict[str, Any]
    lines: list[dict[str, Any]] = field(default_factory=list)  # after `stop`: everything but the ready line
    errors: str = ""
    stop_s: float = 0.0

    @property
    def port(self) -> int:
        port: int = self.ready["port"]
        return port

    def next_line(self) -> dict[str, Any]:
        """Wait for one more line of standard output."""
        assert self.process.stdout is not None
        (line,) = json_lines(self.process.stdout.readline())
        self.lines.append(line)
        return line

    def await_connection(self, within_s: float = 1.0) -> None:
        """Wait until a connection is reported; other people's servers do so when a request has ended, or never."""
        assert self.process.stdout is not None
        if select.select([self.process.stdout], [], [], within_s)[0]:
            assert self.next_line()["event"] == "connection"

    def signal_all(self, number: signal.Signals) -> None:
        """Signal the server and every process below it: somebody else's program runs below its adapter."""
        numbers = [self.process.pid]
        for parent in numbers:
            tasks = Path(f"/proc/{parent}/task").iterdir()
            numbers += [int(child) for task in tasks for child in (task / "children").read_text().split()]
        for each in numbers:
            os.kill(each, number)

    def stop(self) -> int:
        """SIGTERM, and the exit code."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        began = time.monotonic()
        out, self.errors = self.process.communicate(timeout=10)
        self.stop_s = time.monotonic() - began
        self.lines += json_lines(out)
        return self.process.returncode


@dataclass(frozen=True)
class Answer:
    """The exit code and output of a client."""

    exit_code: int
    lines: list[dict[str, Any]]
    errors: str

    @property
    def objects(self) -> dict[str, dict[str, Any]]:
        found = of_event(self.lines, "object")
        assert len({line["path"] for line in found}) == len(found), "a path was reported twice"
        return {line["path"]: line for line in found}

    @property
    def connections(self) -> list[dict[str, Any]]:
        return of_event(self.lines, "connection")


def start(command: Command, env: Mapping[str, str] | None = None) -> subprocess.Popen[str]:
    return subprocess.Popen(
        command.argv,
        env={**clean_environment(), "TMPDIR": _SCRATCH.name, **command.env, **(env or {})},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def clean_environment() -> dict[str, str]:
    """Ours without what programs react to."""
    ours = ("QLOGDIR", "SSLKEYLOGFILE", "ROLE", "TESTCASE", "REQUESTS", "QUIC_GO_DISABLE_GSO", "QUIC_GO_DISABLE_ECN")
    return {name: value for name, value in os.environ.items() if name not in ours}


def server_command(
    name: str, protocol: str, www: str, port: int = 0, knobs: Mapping[str, Scalar] | None = None
) -> Command:
    stack = stack_named(name)
    assert stack.server_command is not None
    return stack.server_command(
        program_of(name), ServerJob(protocol, LOOPBACK, port, www, tls.identity(), dict(knobs or {}))
    )


def await_ready(process: subprocess.Popen[str]) -> dict[str, Any]:
    """The first line of standard output; the process is killed when none comes in time."""
    assert process.stdout is not None
    watchdog = threading.Timer(START_LIMIT_S, process.kill)
    watchdog.start()
    try:
        first = process.stdout.readline()
    finally:
        watchdog.cancel()
    if not first:
        _, errors = process.communicate()
        raise AssertionError(f"the server printed nothing and ended with {process.returncode}: {errors}")
    (line,) = json_lines(first)
    return line


@contextlib.contextmanager
def serving(command: Command, env: Mapping[str, str] | None = None) -> Iterator[Server]:
    process = start(command, env)
    try:
        server = Server(process, await_ready(process))
        assert server.ready["event"] == "ready", server.ready
        yield server
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


def job_text(
    protocol: str,
    port: int,
    phases: tuple[tuple[str, ...], ...],
    connection: ConnectionState = ConnectionState.COLD,
    knobs: Mapping[str, Scalar] | None = None,
    timeout_s: float = 20.0,
    connections: int = 1,
) -> str:
    """A job file."""
    knobs = dict(knobs or {})
    job = ClientJob(protocol, connection, LOOPBACK, port, phases, tls.identity(), knobs, timeout_s, connections)
    return json.dumps(job.data())


def fetch(  # noqa: PLR0913 - a job has as many fields as it has
    name: str,
    folder: Path,
    *,
    protocol: str,
    port: int,
    content: Content,
    connection: ConnectionState = ConnectionState.COLD,
    knobs: Mapping[str, Scalar] | None = None,
    timeout_s: float = 20.0,
    env: Mapping[str, str] | None = None,
    phases: tuple[tuple[str, ...], ...] | None = None,
) -> Answer:
    """Run a client to its end."""
    stack = stack_named(name)
    assert stack.client_command is not None
    file = folder / f"{name}-job.json"
    text = job_text(protocol, port, phases or content.phases, connection, knobs, timeout_s, content.connections)
    file.write_text(text)
    process = start(stack.client_command(program_of(name), str(file)), env)
    try:
        out, errors = process.communicate(timeout=CLIENT_LIMIT_S)
    finally:
        if process.poll() is None:
            process.kill()
            process.communicate()
    return Answer(process.returncode, json_lines(out), errors)


def assert_all_arrived(answer: Answer, content: Content, protocol: str) -> None:
    """Every object complete, right, and over the declared protocol; times in order."""
    assert answer.exit_code == 0, answer.errors
    assert set(answer.objects) == set(content.expected)
    for path, line in answer.objects.items():
        expected = content.expected[path]
        assert line["error"] is None
        assert (line["bytes"], line["protocol"], line["status"]) == (expected.bytes, protocol, 200)
        assert line["digest"] in (expected.digest, None)  # null: the client cannot see it
        assert line["url"].endswith(path)
        assert line["t_start_ns"] <= line["t_first_byte_ns"] <= line["t_end_ns"]


def assert_bad_usage(name: str, knob: str, value: Scalar, content: Content, folder: Path) -> None:
    """A client that gets a value of a knob that its stack cannot have ends with 2, and names the knob."""
    answer = fetch(name, folder, protocol="h3", port=9, content=content, knobs={knob: value})
    assert answer.exit_code == 2
    assert knob in answer.lines[0]["reason"]


def assert_serves_its_folder_only(name: str, page: Content, folder: Path, *more: str) -> None:
    """A server has no file beside its folder for a link, a path that leads up, a folder and the paths of `more`."""
    www = folder / "www"
    www.mkdir()
    (www / "link").symlink_to(Path(page.root) / "index.html")
    paths = ("/link", "/../client-job.json", "/%2e%2e/x", "/", *more)
    content = Content(str(www), (paths,), {})
    with serving(server_command(name, "h3", content.root)) as running:
        answer = fetch(name, folder, protocol="h3", port=running.port, content=content)
    assert [line["status"] for line in answer.objects.values()] == [404] * len(paths)
