"""Envoy: Google's QUICHE and HTTP/2 in one server (adapters/envoy), from Python's package index."""

from dataclasses import replace

from longlook.core import (
    Command,
    ConnectionState,
    Knob,
    Program,
    ProxyJob,
    ServerJob,
    Stack,
    Version,
    knobs,
    proxy_arguments,
    server_arguments,
    with_default,
)
from longlook.provision import ENVIRONMENT, PythonAdapter, adapter_of

_NAME = "envoy"
_SERVER, _PROXY, _SENDING, _QUIC = ("server",), ("proxy",), ("server", "proxy"), ("h3",)

_NO_LARGE = "no file larger than 64 MiB"
_VERSIONS = (  # each has a lock file in adapters/envoy/locks
    Version("1.36.4", "2025-12-14", note=_NO_LARGE),
    Version("1.37.0", "2026-01-15", note=_NO_LARGE),
    Version("1.38.3", "2026-07-04"),
    Version("1.39.3", "2026-10-09"),
    Version("1.40.0", "2026-10-15"),
)

_KNOBS = {
    "congestion_control": replace(
        knobs.CONGESTION_CONTROL,
        help="congestion control (stack: bbr); cubic acts for two connections; clients can ask for Reno",
        roles=_SENDING, choices=("cubic", "bbr", "bbr2"), window_after_loss={"cubic": 0.85}, protocols=_QUIC,
    ),
    "initial_stream_window": with_default(
        knobs.INITIAL_STREAM_WINDOW, "stack: 16 MiB",
        roles=_SERVER, minimum=65_535, maximum=1 << 24, protocols=_QUIC,
    ),
    "initial_connection_window": with_default(
        knobs.INITIAL_CONNECTION_WINDOW, "stack: 24 MiB",
        roles=_SERVER, minimum=65_535, maximum=25_165_824, protocols=_QUIC,
    ),
    "max_incoming_streams": with_default(knobs.MAX_INCOMING_STREAMS, "stack: 100 over QUIC", maximum=100_000),
    "alt_svc_port": with_default(knobs.ALT_SVC_PORT, "adapter: no"),
    "allow_0rtt": with_default(
        knobs.ALLOW_0RTT, "stack: true", help="accepts early data", default=None, roles=_SENDING, protocols=_QUIC
    ),
    "upstream_connections": Knob(
        str, None, None, "cold: one to the server for each of a client's; warm: shared by all of them (stack: cold)",
        roles=_PROXY, choices=("cold", "warm"),
    ),
    "upstream_0rtt": Knob(
        bool, None, None, "sends early data to a server that gave it a ticket (stack: false)",
        roles=_PROXY, protocols=_QUIC,
    ),
}  # fmt: skip


def server_command(program: Program, job: ServerJob) -> Command:
    """Return the call of the program as a server."""
    main = str(adapter_of(program) / "envoy_main.py")
    return Command((program.path, "-S", main, *server_arguments(job)), ENVIRONMENT)  # -S: it needs no site-packages


def proxy_command(program: Program, job: ProxyJob) -> Command:
    """Return the call of the program as a proxy."""
    main = str(adapter_of(program) / "envoy_main.py")
    return Command((program.path, "-S", main, *proxy_arguments(job)), ENVIRONMENT)


_ADAPTER = PythonAdapter(_NAME, _VERSIONS)

STACK = Stack(
    name=_NAME,
    summary="Envoy: Google's QUICHE, and HTTP/2, in one server, or in a proxy",
    roles=("server", "proxy"),
    protocols=("h3", "h2"),
    connections=(ConnectionState.COLD, ConnectionState.RESUMED, ConnectionState.ZERO_RTT),
    versions=_VERSIONS,
    knobs=_KNOBS,
    log_formats=(),
    install=_ADAPTER.install,
    server_command=server_command,
    proxy_command=proxy_command,
    installed=_ADAPTER.installed,
    either=True,
    server_reports_state=False,  # it does not report whether a connection over QUIC was resumed
)
