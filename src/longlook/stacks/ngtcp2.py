"""ngtcp2: HTTP/3 by Debian's libngtcp2, libnghttp3 and GnuTLS, driven by a program of ours (adapters/ngtcp2).

As a server, 0.12.1 with GnuTLS 3.7 resumes the sessions of quic-go's client but refuses its early data; it accepts
early data of aioquic's client and of its own.
"""

import platform
import shutil
import sys
from pathlib import Path

from longlook.core import (
    Command,
    ConnectionState,
    MachineError,
    Program,
    ServerJob,
    Stack,
    Version,
    adapters_dir,
    content_hash,
    knobs,
    server_arguments,
    with_default,
)
from longlook.provision import (
    ENVIRONMENT,
    build_folder,
    compile_modules,
    compile_with,
    copy_adapter,
    fetch_libraries,
    is_folder_built,
    python_version,
    shared_digest,
    sources_digest,
)

_NAME = "ngtcp2"
SUITES = {"0.12.1": "bookworm"}  # version → the release of Debian that has it; each has a list in packages/
_RELEASED = {"0.12.1": "2023-01-06"}  # version → when Debian packaged that release of ngtcp2
_ENVIRONMENT = {
    **ENVIRONMENT,
    "GNUTLS_SYSTEM_PRIORITY_FILE": "/dev/null",  # or the machine's settings of TLS would apply
}


_KNOBS = {
    "congestion_control": with_default(
        knobs.CONGESTION_CONTROL, "stack: cubic", choices=("reno", "cubic", "bbr", "bbr2")
    ),
    "initial_rtt": with_default(knobs.INITIAL_RTT, "stack: 0.333"),
    "initial_stream_window": with_default(knobs.INITIAL_STREAM_WINDOW, "client: 6 MiB, server: 256 KiB"),
    "initial_connection_window": with_default(knobs.INITIAL_CONNECTION_WINDOW, "client: 15 MiB, server: 1 MiB"),
    "max_stream_window": with_default(knobs.MAX_STREAM_WINDOW, "client: 16 MiB, server: 6 MiB"),
    "max_connection_window": with_default(
        knobs.MAX_CONNECTION_WINDOW, "client: 24 MiB, server: 6 MiB", help="largest connection window"
    ),
    "ack_threshold": with_default(
        knobs.ACK_THRESHOLD, "stack: 2", help="packets that bring an ACK at once", maximum=100
    ),
    "max_ack_delay": with_default(knobs.MAX_ACK_DELAY, "stack: 0.025"),
    "max_incoming_streams": with_default(knobs.MAX_INCOMING_STREAMS, "ngtcp2's programs: 100"),
    "disable_pmtud": knobs.DISABLE_PMTUD,
}  # fmt: skip


def install(version: str) -> Program:
    """Return the adapter with its libraries, from the cache or from Debian's archive."""
    if platform.machine() != "x86_64":
        raise MachineError(f"{_NAME} is installed from packages for x86-64 alone", "leave it out of the study")
    version = STACK.version(version).name
    folder = build_folder(
        _NAME, version, _sources(), python_version(), lambda out, final: _make(version, out, final), shared_digest()
    )
    parts = [sources_digest(folder / "adapter"), sources_digest(folder / "lib"), python_version()]
    return Program(str(folder / "adapter" / "ngtcp2_main.py"), content_hash(parts, length=64))


def installed(version: str) -> bool:
    """Return whether `install` has nothing to do."""
    return is_folder_built(_NAME, version, _sources(), python_version(), shared_digest())


def server_command(program: Program, job: ServerJob) -> Command:
    """Return the call of the program as a server."""
    return _command(program, *server_arguments(job))


def client_command(program: Program, job_file: str) -> Command:
    """Return the call of the program as a client."""
    return _command(program, "client", job_file)


def _command(program: Program, *arguments: str) -> Command:
    return Command((sys.executable, "-S", program.path, *arguments), _ENVIRONMENT)  # it needs no site-packages


def _make(version: str, out: Path, final: Path) -> None:
    out.mkdir()
    work = out.with_name("work")
    fetch_libraries(_sources() / "packages" / f"{version}.txt", SUITES[version], work, out / "lib")
    shutil.rmtree(work)
    copy_adapter(_sources(), out / "adapter")
    compile_modules(Path(sys.executable), out, final)
    probe = "import ngtcp2_adapter.libraries as found; assert found.version() == " + repr(version)
    compile_with((sys.executable, "-S", "-c", probe), out / "adapter", _ENVIRONMENT)


def _sources() -> Path:
    return adapters_dir() / _NAME


STACK = Stack(
    name=_NAME,
    summary="ngtcp2 and nghttp3 over GnuTLS, of Debian: HTTP/3 in C",
    roles=("server", "client"),
    protocols=("h3",),
    connections=(ConnectionState.COLD, ConnectionState.RESUMED, ConnectionState.ZERO_RTT),
    versions=tuple(Version(name, _RELEASED[name]) for name in SUITES),
    knobs=_KNOBS,
    log_formats=("qlog",),
    install=install,
    server_command=server_command,
    client_command=client_command,
    installed=installed,
    several_connections=True,
)
