"""quic-go: HTTP/3 (quic-go/http3) and HTTP/2 (net/http over TLS 1.3) from one Go program (adapters/quic-go)."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from longlook.core import (
    EITHER,
    HQ,
    QUIC_LIVE,
    TLS_LIVE,
    UDP_LIVE,
    Command,
    ConnectionState,
    FromSources,
    Knob,
    Program,
    ServerJob,
    SourceTree,
    Stack,
    Version,
    knobs,
    server_arguments,
    tunable_name,
    with_default,
)
from longlook.provision import NO_PATCHES, GoAdapter, Patches, release_of, state_go_version

_NAME = "quic-go"
_MODULE = "github.com/quic-go/quic-go"
_OLD_MODULE = "github.com/lucas-clemente/quic-go"
_OLD_MODULE_UNTIL = (0, 31)
_OLDER_GO = (((0, 17), "1.14.15"), ((0, 26), "1.16.15"), ((0, 31), "1.18.10"), ((0, 36), "1.20.14"))
"""(the last version, the release of Go that builds it): each is the newest that has what quic-go's TLS then needed."""


PATCHED_VERSION = tunable_name("0.65.0")
_HTTP, _QUIC_FILES = ("h3", "h2"), ("h3", HQ.name)
_QUIC = (*_QUIC_FILES, QUIC_LIVE.name)
_LIVE = (QUIC_LIVE.name, TLS_LIVE.name, UDP_LIVE.name)
_HTTP_ALONE_UNTIL = (0, 52)  # adapters/quic-go/_older/hq-until-0.52.go, viewer-until-0.52.go
_RETRY = "servers ask clients for a Retry, which costs a round trip (knob retry)"
_NO_EARLY_DATA = (ConnectionState.COLD, ConnectionState.RESUMED)  # clients crash where it is answered with a Retry
_RELEASES = (
    Version("0.15.7", "2020-05-06", None, _NO_EARLY_DATA, f"QUIC of draft 27, which no other speaks; {_RETRY}"),
    Version("0.16.2", "2020-06-12", None, _NO_EARLY_DATA, f"QUIC of draft 29; {_RETRY}"),
    Version("0.17.3", "2020-07-11", None, _NO_EARLY_DATA, f"QUIC of draft 29; {_RETRY}"),
    Version("0.20.1", "2021-04-03", note=f"QUIC of draft 29; {_RETRY}"),
    Version("0.22.1", "2021-08-11", note=_RETRY),
    Version("0.24.0", "2021-10-19", note=_RETRY),
    Version("0.26.0", "2022-03-22", note=_RETRY),
    Version("0.29.2", "2022-10-12"),
    Version("0.31.1", "2022-12-08"),
    Version("0.32.0", "2023-02-02"),
    Version("0.34.0", "2023-04-19"),
    Version("0.36.0", "2023-06-21"),
    Version("0.37.5", "2023-08-17"),
    Version("0.40.1", "2023-12-13"),
    Version("0.42.0", "2024-03-18"),
    Version("0.44.0", "2024-05-19"),
    Version("0.46.0", "2024-08-07"),
    Version("0.48.2", "2024-11-26"),
    Version("0.52.0", "2025-05-20"),
    Version("0.58.0", "2025-12-21"),
    Version("0.59.1", "2026-05-11"),
    Version("0.60.0", "2026-06-04"),
    Version("0.62.0", "2026-08-30"),
    Version("0.63.0", "2026-09-22"),
    Version("0.64.1", "2026-10-19"),
    Version(
        PATCHED_VERSION,
        "2026-11-03",
        note="patched (adapters/quic-go/_patches/0.65.0): its sender and its receiver can be tuned",
    ),
    Version("0.65.0", "2026-11-03"),
)  # each but the last has module files in adapters/quic-go/versions
_VERSIONS = tuple(
    replace(each, protocols=_HTTP) if release_of(each.name) <= _HTTP_ALONE_UNTIL else each for each in _RELEASES
)


def _over_quic(knob: Knob, whose: str, /, **changes: Any) -> Knob:
    """Return `with_default` of a knob that its connections over TCP do not have."""
    return with_default(knob, whose, help=f"QUIC: {changes.pop('help', knob.help)}", protocols=_QUIC, **changes)


_TUNED = {
    "congestion_control": with_default(
        knobs.CONGESTION_CONTROL, "stack: reno, which cuts the window to 0.7, not to half", usual="reno",
        choices=("reno", "cubic"), window_after_loss={"reno": 0.7},
    ),
    "emulated_connections": Knob(
        int, "connections", None, "for how many connections Cubic acts, which Reno does not (stack: 1)",
        minimum=1, maximum=64,
    ),
    "initial_window": with_default(knobs.INITIAL_WINDOW, "stack: 32", usual=32),
    "max_window": with_default(knobs.MAX_WINDOW, "stack: 10,000", usual=10_000),
    "min_window": with_default(knobs.MIN_WINDOW, "stack: 2", usual=2),
    "initial_ssthresh": with_default(knobs.INITIAL_SSTHRESH, "stack: none"),
    "window_after_loss": with_default(
        knobs.WINDOW_AFTER_LOSS, "stack: 0.7",
        help="share of the window that a loss leaves, with Cubic for one connection",
    ),
    "packet_threshold": with_default(
        knobs.PACKET_THRESHOLD, "stack: 3", usual=3, maximum=1_000,
        help="packets acknowledged beyond a missing one until it is lost, until that proves wrong",
    ),
    "time_threshold": with_default(
        knobs.TIME_THRESHOLD, "stack: 9/8", usual=1.125, help="age at which a packet is lost, a multiple of 1/8"
    ),
    "adaptive_reordering": Knob(
        bool, None, None, "after a spurious loss no packet threshold, and a longer time threshold (stack: on)",
        usual=True,
    ),
    "undo_spurious_losses": Knob(
        bool, None, None, "reductions are taken back where what was lost arrives (stack: with reno, not cubic)",
    ),
    "hystart": with_default(
        knobs.HYSTART, "stack: on", usual=True, help="slow start ends at once on a rising RTT: Hybrid Slow Start"
    ),
    "pacing": with_default(knobs.PACING, "stack: on", usual=True),
    "pacing_burst": Knob(
        int, "packets", None, "packets that may leave at once where pacing had let fewer through (stack: 10)",
        minimum=1, maximum=1_000, usual=10,
    ),
    "receive_queue": Knob(
        int, "packets", None, "packets that may wait to be processed; what arrives beyond is thrown away (stack: 256)",
        minimum=1, maximum=1_000_000, usual=256,
    ),
    "pto_factor": with_default(knobs.PTO_FACTOR, "stack: 1", usual=1.0),
    "initial_rtt": with_default(knobs.INITIAL_RTT, "stack: 0.1", usual=0.1, maximum=knobs.LONGEST_RTT_S),
    "ack_threshold": with_default(knobs.ACK_THRESHOLD, "stack: 2", usual=2),
    "max_ack_delay": with_default(knobs.MAX_ACK_DELAY, "stack: 0.026", minimum=0.002),
}  # fmt: skip
"""Knobs of the patched version; quic-go as it was released has none of them."""

_KNOBS = {
    "initial_stream_window": _over_quic(knobs.INITIAL_STREAM_WINDOW, "stack: 512 KiB", since="0.20.1"),
    "max_stream_window": _over_quic(knobs.MAX_STREAM_WINDOW, "stack: 6 MiB", usual=6 << 20),
    "initial_connection_window": _over_quic(knobs.INITIAL_CONNECTION_WINDOW, "stack: 768 KiB", since="0.20.1"),
    "max_connection_window": _over_quic(
        knobs.MAX_CONNECTION_WINDOW, "stack: 15 MiB", help="largest connection window", usual=15 << 20
    ),
    "initial_packet_size": Knob(
        int, "bytes", None, "QUIC: first UDP payload size",
        minimum=1200, maximum=1452, since="0.44.0", protocols=_QUIC,
    ),
    "disable_pmtud": replace(
        knobs.DISABLE_PMTUD, help="QUIC: no path MTU discovery", since="0.20.1", protocols=_QUIC
    ),
    "gso": _over_quic(
        knobs.GSO, "stack: where the kernel has it", help="UDP segmentation offload on sending", since="0.40.1"
    ),
    "ecn": Knob(bool, None, None, "QUIC: ECN marking (stack: on)", since="0.40.1", protocols=_QUIC),
    "idle_timeout": _over_quic(knobs.IDLE_TIMEOUT, "stack: 30", usual=30.0, since="0.58.0"),
    "keep_alive": _over_quic(knobs.KEEP_ALIVE, "stack: never", maximum=20, since="0.58.0"),
    "handshake_timeout": _over_quic(
        knobs.HANDSHAKE_TIMEOUT, "stack: 5", usual=5.0, since="0.58.0",
        help="silence during the handshake after which it is given up, as after twice this time in all",
    ),
    "allow_0rtt": replace(
        _over_quic(knobs.ALLOW_0RTT, "adapter: yes", default=None, since="0.32.0"), protocols=_QUIC_FILES
    ),
    "max_incoming_streams": with_default(
        knobs.MAX_INCOMING_STREAMS, "stack: 100 over h3, 250 over h2", maximum=None, protocols=(*_QUIC_FILES, "h2")
    ),
    "http2_stream_window": with_default(
        knobs.HTTP2_STREAM_WINDOW, "stack: 4 MiB", usual=4 << 20, since="0.37.5"
    ),
    "http2_connection_window": with_default(
        knobs.HTTP2_CONNECTION_WINDOW, "stack: 1 GiB", usual=(1 << 30) + 65_535, minimum=131_070, since="0.37.5"
    ),
    "fallback_delay": Knob(
        float, "seconds", None, "how long after QUIC, not yet connected, TCP is tried too (adapter: 0.25)",
        ("client",), minimum=0, maximum=60, protocols=(EITHER.name,), usual=0.25,
    ),
    "stall_timeout": Knob(
        float, "seconds", None, "QUIC that brings no data for so long is given up for TCP (adapter: never)",
        ("client",), minimum=0.01, maximum=60, protocols=(EITHER.name,),
    ),
    "alt_svc_port": with_default(knobs.ALT_SVC_PORT, "adapter: no"),
    "upload_answer": knobs.UPLOAD_ANSWER,
    "carrier": replace(knobs.CARRIER, since="0.58.0"),
    "move_at": replace(
        with_default(knobs.MOVE_AT, "over TCP: by a new connection, and what has not arrived is asked for again"),
        since="0.58.0", protocols=("h3", "h2"),
    ),
    "move_after_silence": with_default(
        knobs.MOVE_AFTER_SILENCE, "adapter: never", since="0.58.0", protocols=("h3", "h2")
    ),
    "retry": Knob(
        bool, None, None, "QUIC: answer clients with a Retry, one more round trip (stack: on)",
        ("server",), until="0.26.0", protocols=_QUIC,
    ),
    **{
        name: replace(knob, help=f"QUIC: {knob.help}", since=PATCHED_VERSION, until=PATCHED_VERSION, protocols=_QUIC)
        for name, knob in _TUNED.items()
    },
}  # fmt: skip


def install(version: str) -> Program:
    """Build the adapter with one version of quic-go, or take it from the cache."""
    return _adapter(STACK.version(version).name).build()


def installed(version: str) -> bool:
    """Return whether `install` has nothing to do."""
    return _adapter(version).is_built


def variant(
    name: str, version: Version, of: str, *, library: Sequence[Path] = (), adapter: Sequence[Path] = ()
) -> Stack:
    """Return version `of` with patches of the library and of the adapter's program, as a stack with a name of its own.

    The patches are files; they are part of what the program is built from, so a change of one makes another program,
    and its trials run again. InputError if there is no version `of`.
    """
    patches = Patches(tuple(library), tuple(adapter))
    return STACK.derived(
        name,
        version,
        of,
        summary=f"{_NAME} {of} with patches",
        install=lambda _version: _adapter(of, patches).build(),
        installed=lambda _version: _adapter(of, patches).is_built,
    )


def _adapter(version: str, patches: Patches = NO_PATCHES, tree: SourceTree | None = None) -> GoAdapter:
    return GoAdapter(_NAME, version, library_of(version), older_go(version), renamed(version), patches, tree)


def older_go(version: str) -> str | None:
    """Return the release of Go that a version has to be built with; None for the machine's."""
    return next((go for last, go in _OLDER_GO if release_of(version) <= last), None)


def renamed(version: str) -> tuple[str, str] | None:
    """Return the module's name now and its name in this version; None if they are the same."""
    return (_MODULE, _OLD_MODULE) if release_of(version) <= _OLD_MODULE_UNTIL else None


def library_of(version: str) -> str:
    """Return the module's path in this version."""
    names = renamed(version)
    return names[1] if names else _MODULE


def server_command(program: Program, job: ServerJob) -> Command:
    """Return the call of the program as a server."""
    return Command((program.path, *server_arguments(job)))


def client_command(program: Program, job_file: str) -> Command:
    """Return the call of the program as a client."""
    return Command((program.path, "client", job_file))


_FROM_SOURCES = FromSources(
    build=lambda tree: _adapter(tree.of, tree=tree).build(),
    is_built=lambda tree: _adapter(tree.of, tree=tree).is_built,
    state_version=lambda folder: state_go_version(folder, (_MODULE, _OLD_MODULE)),
    unpack=lambda version, into: _adapter(version).unpack(into),
    knob_patches=lambda version: _adapter(version).knob_patches,
)

STACK = Stack(
    name=_NAME,
    summary="quic-go: HTTP/3, and HTTP/2 of Go's net/http, from one program",
    roles=("server", "client"),
    protocols=(*_HTTP, HQ.name, *_LIVE),
    early_data_protocols=_QUIC_FILES,
    cold_protocols=_LIVE,
    connections=(ConnectionState.COLD, ConnectionState.RESUMED, ConnectionState.ZERO_RTT),
    versions=_VERSIONS,
    knobs=_KNOBS,
    log_formats=("qlog",),
    install=install,
    server_command=server_command,
    client_command=client_command,
    installed=installed,
    from_sources=_FROM_SOURCES,
    several_connections=True,
    either=True,
    waits=True,
    uploads={"server": ("h3", "h2"), "client": ("h3", "h2")},
    priorities=True,
    plays=True,
)
