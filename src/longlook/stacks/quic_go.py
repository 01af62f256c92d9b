"""quic-go: HTTP/3 (quic-go/http3) and HTTP/2 (net/http over TLS 1.3) from one Go program (adapters/quic-go)."""

import os
import re
from pathlib import Path

from longlook.errors import MachineError
from longlook.installing import build, compile_with, is_built, toolchain_version
from longlook.job import Program
from longlook.model import ConnectionState
from longlook.paths import adapters_dir
from longlook.stacks import Command, Knob, ServerJob, Stack, Version, server_arguments

_NAME = "quic-go"
_VERSIONS = (
    Version("0.65.0", "2026-11-03"),
)  # what go.mod pins; another one needs a module file, and often code, of its own
_GO_NEEDED = (1, 26)
_GO_HINT = "sudo apt-get install golang-go (1.26; from 1.21 on it fetches 1.26 by itself unless GOTOOLCHAIN=local)"
_FLAGS = ("-trimpath", "-buildvcs=false", "-ldflags=-s -w")


def _bytes_knob(help_text: str) -> Knob:
    return Knob(int, "bytes", None, help_text, minimum=1, maximum=2**62 - 1)


_KNOBS = {
    "initial_stream_window": _bytes_knob("QUIC: stream flow-control window offered at first (stack: 512 KiB)"),
    "max_stream_window": _bytes_knob("QUIC: largest stream window that auto-tuning may reach (stack: 6 MiB)"),
    "initial_connection_window": _bytes_knob("QUIC: connection window offered at first (stack: 768 KiB)"),
    "max_connection_window": _bytes_knob("QUIC: largest connection window (stack: 15 MiB)"),
    "initial_packet_size": Knob(int, "bytes", None, "QUIC: first UDP payload size", minimum=1200, maximum=1452),
    "disable_pmtud": Knob(bool, None, None, "QUIC: no path MTU discovery"),
    "gso": Knob(bool, None, None, "QUIC: UDP segmentation offload on sending (stack: where the kernel has it)"),
    "ecn": Knob(bool, None, None, "QUIC: ECN marking (stack: on)"),
    "allow_0rtt": Knob(bool, None, True, "QUIC: accept early data", roles=("server",)),
    "max_incoming_streams": Knob(
        int,
        "streams",
        None,
        "requests at once per connection (stack: 100 over h3, 250 over h2)",
        ("server",),
        minimum=1,
    ),
}


def install(version: str) -> Program:
    """Build the adapter with one version of quic-go, or take it from the cache."""
    return build(_NAME, STACK.version(version).name, _sources(), _toolchain(), _compile, str(_FLAGS))


def installed(version: str) -> bool:
    """Whether `install` has nothing to do."""
    try:
        return is_built(_NAME, version, _sources(), _toolchain(), str(_FLAGS))
    except MachineError:  # no Go here: the version cannot be told
        return False


def server_command(program: Program, job: ServerJob) -> Command:
    """The program as a server."""
    return Command((program.path, *server_arguments(job)))


def client_command(program: Program, job_file: str) -> Command:
    """The program as a client."""
    return Command((program.path, "client", job_file))


def _sources() -> Path:
    return adapters_dir() / _NAME


def _toolchain() -> str:
    """The Go that go.mod selects here, which may be newer than the one installed."""
    said = toolchain_version(("go", "env", "GOVERSION", "GOARCH", "GOAMD64"), _GO_HINT, _sources())
    release = re.match(r"go(\d+)\.(\d+)", said)
    if release is None or (int(release[1]), int(release[2])) < _GO_NEEDED:
        raise MachineError(f"{said.split()[0]} cannot build {_NAME}: it wants Go 1.26", _GO_HINT)
    return said


def _compile(work: Path, out: Path) -> None:
    compile_with(("go", "build", *_FLAGS, "-o", str(out), "."), work, {**os.environ, "CGO_ENABLED": "0"})


STACK = Stack(
    name=_NAME,
    summary="quic-go: HTTP/3, and HTTP/2 of Go's net/http, from one program",
    roles=("server", "client"),
    protocols=("h3", "h2"),
    connections=(ConnectionState.COLD, ConnectionState.RESUMED, ConnectionState.ZERO_RTT),
    versions=_VERSIONS,
    knobs=_KNOBS,
    log_formats=("qlog",),
    install=install,
    server_command=server_command,
    client_command=client_command,
    installed=installed,
    several_connections=True,
)
