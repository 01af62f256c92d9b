"""ngtcp2: HTTP/3 by ngtcp2, nghttp3 and GnuTLS, driven by a program of ours (adapters/ngtcp2).

0.12.1 is Debian's libraries. 1.x is built from sources, of a release or of the user's. nghttp3 and GnuTLS are
Debian's there too.

As a server, 0.12.1 with GnuTLS 3.7 resumes the sessions of quic-go's client but refuses its early data; it accepts
early data of aioquic's client and of its own.
"""

import os
import platform
import shutil
import sys
from pathlib import Path

from longlook.core import (
    Command,
    ConnectionState,
    FromSources,
    InputError,
    MachineError,
    Program,
    ServerJob,
    SourceTree,
    Stack,
    Version,
    adapter_dir,
    content_hash,
    knobs,
    server_arguments,
    with_default,
)
from longlook.provision import (
    ENVIRONMENT,
    SOURCES,
    build_folder,
    building_ground,
    c_toolchain,
    compile_c,
    compile_modules,
    confined,
    copy_adapter,
    debian_library,
    fetch_libraries,
    is_folder_built,
    library_of,
    listed_libraries,
    pins,
    python_version,
    shared_digest,
    sources_digest,
    state_cmake_version,
)

_NAME = "ngtcp2"
_DEBIAN, _BUILT = "0.12.1", "1.11.0"
_VERSIONS = (
    Version(_DEBIAN, "2023-01-06", note="of Debian, which packaged it on that day"),
    Version(_BUILT, "2025-02-21", note="built from the sources of that day, with nghttp3 1.8.0"),
)
_HTTP3 = f"{_BUILT}-http3"
SUITES = {_DEBIAN: "bookworm", _BUILT: "bookworm", _HTTP3: "trixie"}
"""List in packages/ → the release of Debian that has its packages."""

_SOURCES, _SOURCES_SUITE = f"{_BUILT}-sources.lock", "trixie"
_OPTIONS = {
    "ENABLE_LIB_ONLY": "ON",
    "ENABLE_STATIC_LIB": "OFF",
    "BUILD_TESTING": "OFF",
    "ENABLE_OPENSSL": "OFF",
    "ENABLE_GNUTLS": "ON",
}
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
    """Return the adapter with its libraries, from the cache, from Debian's archive, or built first."""
    version = STACK.version(version).name
    if version == _BUILT:
        return _install_built(None)
    _expect_machine()
    folder = build_folder(
        _NAME, version, _sources(), python_version(), lambda out, final: _make(version, out, final), shared_digest()
    )
    return _program(folder)


def installed(version: str) -> bool:
    """Return whether `install` has nothing to do."""
    if version == _BUILT:
        return _is_built(None)
    return is_folder_built(_NAME, version, _sources(), python_version(), shared_digest())


def _program(folder: Path, *names: str) -> Program:
    parts = [sources_digest(folder / "adapter"), sources_digest(folder / "lib"), python_version(), *names]
    return Program(str(folder / "adapter" / "ngtcp2_main.py"), content_hash(parts, length=64))


def _expect_machine() -> None:
    if platform.machine() != "x86_64":
        raise MachineError(f"{_NAME} is installed from packages for x86-64 alone", "leave it out of the study")


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
    fetch_libraries(_list(version), SUITES[version], work, out / "lib")
    shutil.rmtree(work)
    _add_adapter(version, out, final)


def _add_adapter(version: str, out: Path, final: Path) -> None:
    copy_adapter(_sources(), out / "adapter")
    compile_modules(Path(sys.executable), out, final)
    probe = "import ngtcp2_adapter.libraries as found; assert found.version() == " + repr(version)
    confined.run((sys.executable, "-S", "-c", probe), out, _ENVIRONMENT, cwd=out / "adapter")


def _install_built(tree: SourceTree | None) -> Program:
    """Return the adapter with ngtcp2 built from a copy of sources, or from the release's."""
    _expect_machine()
    name = _BUILT if tree is None else tree.version
    folder = build_folder(
        _NAME, name, _sources(), _toolchain(), lambda out, final: _build(tree, out, final), _key(tree)
    )
    return _program(folder, *(() if tree is None else (tree.reported,)))


def _is_built(tree: SourceTree | None) -> bool:
    try:
        toolchain = _toolchain()
    except MachineError:
        return False
    return is_folder_built(_NAME, _BUILT if tree is None else tree.version, _sources(), toolchain, _key(tree))


def _toolchain() -> str:
    return f"{python_version()}; {c_toolchain()}"


def _key(tree: SourceTree | None) -> str:
    return f"{shared_digest()} {_OPTIONS} {'' if tree is None else tree.digest + tree.of}"


def _build(tree: SourceTree | None, out: Path, final: Path) -> None:
    ground = _ground()
    include = ground / "usr" / "include"
    of_debian = [debian_library(ground, *named) for name in (_BUILT, _HTTP3) for named in listed_libraries(_list(name))]
    (tls,) = (library for library in of_debian if library.name.startswith("libgnutls."))
    options = {**_OPTIONS, "GNUTLS_INCLUDE_DIR": str(include), "GNUTLS_LIBRARY": str(tls)}
    work = out.with_name("work")
    prefix = compile_c(ground / SOURCES if tree is None else tree.folder, work, _NAME, options)
    built = [library_of(prefix, name) for name in ("libngtcp2", "libngtcp2_crypto_gnutls")]
    (out / "lib").mkdir(parents=True)
    for number, library in enumerate((*of_debian, *built)):
        shutil.copy(library, out / "lib" / f"{number:02d}-{library.name}")
    if tree is not None:
        (out / "version.txt").write_text(tree.reported)
    shutil.copy(ground / pins.RECORD, out)
    _add_adapter(_BUILT if tree is None else tree.reported, out, final)
    _expect_layout(out / "adapter", work, prefix / "include", include)
    shutil.rmtree(work)


def _expect_layout(adapter: Path, work: Path, *headers: Path) -> None:
    """Raise MachineError if the adapter declares a structure otherwise than the headers do."""
    file = work / "layout.c"
    write = (sys.executable, "-S", "-m", "ngtcp2_adapter.layout", str(file))
    confined.run(write, work, _ENVIRONMENT, cwd=adapter)
    include = [part for folder in headers for part in ("-I", str(folder))]
    confined.run(("cc", "-fsyntax-only", *include, str(file)), work, {"PATH": os.environ["PATH"], "LC_ALL": "C"})


def _ground() -> Path:
    lists = {_list(name): SUITES[name] for name in (_BUILT, _HTTP3)}
    return building_ground(f"{_NAME}-{_BUILT}", lists, _sources() / "packages" / _SOURCES, _SOURCES_SUITE)


def _unpack(version: str, into: Path) -> None:
    if version != _BUILT:
        raise InputError(f"{_NAME} {version} is not built from sources", f"{_BUILT} is, and patches of it apply")
    shutil.copytree(_ground() / SOURCES, into, symlinks=True)


def _state_version(folder: Path) -> str:
    version = state_cmake_version(folder, _NAME)
    if version.startswith("0."):
        raise InputError(
            f"the sources are those of {_NAME} {version}", "the interface of 1.0 is needed, or a later one"
        )
    return version


def _list(version: str) -> Path:
    return _sources() / "packages" / f"{version}.txt"


def _sources() -> Path:
    return adapter_dir(_NAME)


STACK = Stack(
    name=_NAME,
    summary="ngtcp2 and nghttp3 over GnuTLS: HTTP/3 in C",
    roles=("server", "client"),
    protocols=("h3",),
    connections=(ConnectionState.COLD, ConnectionState.RESUMED, ConnectionState.ZERO_RTT),
    versions=_VERSIONS,
    default=_DEBIAN,
    knobs=_KNOBS,
    log_formats=("qlog",),
    install=install,
    server_command=server_command,
    client_command=client_command,
    installed=installed,
    from_sources=FromSources(
        build=_install_built,
        is_built=_is_built,
        state_version=_state_version,
        unpack=_unpack,
        unneeded=("tests/munit", "third-party/urlparse"),
    ),
    several_connections=True,
    priorities=True,
)
