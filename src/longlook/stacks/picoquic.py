"""picoquic: HTTP/3 by the library in the Python package aiopquic, driven by a program of ours (adapters/picoquic).

The package is for newer Pythons than Longlook's, and none of its Python is used: the program calls picoquic's C.
"""

import platform
import shutil
import sys
from pathlib import Path

from longlook.core import (
    Command,
    ConnectionState,
    Program,
    ServerJob,
    Stack,
    Version,
    adapter_dir,
    content_hash,
    find_version,
    knobs,
    server_arguments,
    with_default,
)
from longlook.provision import (
    ADAPTER,
    ENVIRONMENT,
    build_folder,
    build_steps,
    compile_modules,
    copy_adapter,
    is_folder_built,
    python_version,
    shared_digest,
    sources_digest,
    unpack,
)

_NAME = "picoquic"
_VERSIONS = (  # each has a lock file in adapters/picoquic/locks
    Version("0.6.1", "2026-10-20", note="of aiopquic; picoquic 1.1.53.0 of 2026-10-08, OpenSSL 3.5.8"),
)
_PACKAGES = Path("lib", "python3.13", "site-packages")
_MADE_FOR = ("--python-version", "3.13", "--python-platform", f"{platform.machine()}-manylinux_2_34")
"""Which file of the package is taken."""
_NEEDED = ("aiopquic/_binding/_transport.*.so", "aiopquic.libs/*", "aiopquic-*.dist-info/**/*")

_KNOBS = {
    "congestion_control": with_default(
        knobs.CONGESTION_CONTROL, "stack: reno", usual="reno", choices=("reno", "cubic", "bbr", "bbr3"),
        lasting_loss={"cubic": 4},  # it forgives what keeps its smoothed rate of losses below 15 %
    ),
    "initial_stream_window": with_default(knobs.INITIAL_STREAM_WINDOW, "stack: 2 MiB of own streams, 65,635 of others"),
    "initial_connection_window": with_default(knobs.INITIAL_CONNECTION_WINDOW, "stack: 1 MiB"),
    "max_incoming_streams": with_default(knobs.MAX_INCOMING_STREAMS, "stack: 512"),
    "max_ack_delay": with_default(knobs.MAX_ACK_DELAY, "stack: 0.01"),
    "max_udp_payload": with_default(knobs.MAX_UDP_PAYLOAD, "stack: 1440", maximum=1452),
    "disable_pmtud": knobs.DISABLE_PMTUD,
    "max_window": with_default(knobs.MAX_WINDOW, "stack: none"),
    "idle_timeout": with_default(knobs.IDLE_TIMEOUT, "stack: 30"),
    "keep_alive": with_default(knobs.KEEP_ALIVE, "stack: none"),
    "retry": with_default(knobs.RETRY, "stack: no"),
}  # fmt: skip


def install(version: str) -> Program:
    """Return the adapter with its library, from the cache or from the package index."""
    version = find_version(_NAME, _VERSIONS, version).name
    folder = build_folder(
        _NAME, version, _sources(), python_version(), lambda out, final: _make(version, out, final), shared_digest()
    )
    parts = [sources_digest(folder / ADAPTER), sources_digest(folder / _PACKAGES), python_version()]
    return Program(str(folder / ADAPTER / "picoquic_main.py"), content_hash(parts, length=64))


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
    return Command((sys.executable, "-S", program.path, *arguments), ENVIRONMENT)  # it needs no site-packages


def _make(version: str, out: Path, final: Path) -> None:
    (out / _PACKAGES).mkdir(parents=True)
    lock = (_sources() / "locks" / f"{version}.txt").read_text()
    unpacked = unpack(lock, out, *_MADE_FOR)
    for pattern in _NEEDED:
        for file in unpacked.glob(pattern):
            if file.is_file():
                place = out / _PACKAGES / file.relative_to(unpacked)
                place.parent.mkdir(parents=True, exist_ok=True)
                shutil.move(file, place)
    shutil.rmtree(unpacked)
    copy_adapter(_sources(), out / ADAPTER)
    compile_modules(Path(sys.executable), out, final)
    probe = "import picoquic_adapter.library as found; assert found.version() == " + repr(version)
    build_steps.run((sys.executable, "-S", "-c", probe), cwd=out / ADAPTER, env=ENVIRONMENT)


def _sources() -> Path:
    return adapter_dir(_NAME)


STACK = Stack(
    name=_NAME,
    summary="picoquic, by the package aiopquic: HTTP/3 in C",
    roles=("server", "client"),
    protocols=("h3",),
    connections=(ConnectionState.COLD, ConnectionState.RESUMED, ConnectionState.ZERO_RTT),
    versions=_VERSIONS,
    knobs=_KNOBS,
    log_formats=("qlog",),
    install=install,
    server_command=server_command,
    client_command=client_command,
    installed=installed,
    several_connections=True,
    priorities=True,
)
