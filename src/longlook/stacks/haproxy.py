"""HAProxy of Debian: a server before an origin with the files, and a proxy of TCP (adapters/haproxy)."""

import sys
from dataclasses import replace

from longlook.core import (
    ALT_SVC_PORT,
    Command,
    ConnectionState,
    Program,
    ProxyJob,
    Stack,
    Version,
    knobs,
    proxy_arguments,
    with_default,
)
from longlook.provision import ENVIRONMENT, DebianAdapter, packaged_server

SUITES = {"2.6.12": "bookworm", "3.2.26": "forky"}

_NAME = "haproxy"
_OVER_TCP = ("h2", "http/1.1", "http/1.0")
_SERVER, _QUIC = ("server",), ("h3",)
_QUIC_SINCE = "3.2.26"
_VERSIONS = (
    Version("2.6.12", "2023-03-28", _OVER_TCP),
    Version("3.2.26", "2026-10-14"),
)
_LEFT = {"cubic": 0.6, "reno": 0.6}
"""Measured: its recovery takes a round trip more than others', so that growth has begun again or not yet."""
_ADAPTER = DebianAdapter(_NAME, _VERSIONS, SUITES)

_KNOBS = {
    "congestion_control": replace(
        knobs.CONGESTION_CONTROL, help="congestion control (stack: cubic)", roles=_SERVER,
        choices=("cubic", "reno", "bbr"), window_after_loss=_LEFT, since=_QUIC_SINCE, protocols=_QUIC,
    ),
    "max_window": with_default(
        knobs.MAX_WINDOW, "stack: 480 KiB", roles=_SERVER, minimum=9, since=_QUIC_SINCE, protocols=_QUIC
    ),
    "hystart": with_default(knobs.HYSTART, "stack: off", roles=_SERVER, since=_QUIC_SINCE, protocols=_QUIC),
    "pacing": with_default(knobs.PACING, "stack: on", roles=_SERVER, since=_QUIC_SINCE, protocols=_QUIC),
    "initial_connection_window": with_default(
        knobs.INITIAL_CONNECTION_WINDOW, "stack: 100 times 16 KiB", roles=_SERVER, minimum=16_384, maximum=1 << 30,
        since=_QUIC_SINCE, protocols=_QUIC,
    ),
    "max_incoming_streams": with_default(
        knobs.MAX_INCOMING_STREAMS, "stack: 100", roles=_SERVER, maximum=100_000, protocols=("h3", "h2")
    ),
    "retry": with_default(knobs.RETRY, "stack: no", since=_QUIC_SINCE, protocols=_QUIC),
    "allow_0rtt": with_default(
        knobs.ALLOW_0RTT, "adapter: yes", help="accepts early data", default=None, since=_QUIC_SINCE, protocols=_QUIC
    ),
    "alt_svc_port": with_default(ALT_SVC_PORT, "stack: no header", since=_QUIC_SINCE),
}  # fmt: skip


def proxy_command(program: Program, job: ProxyJob) -> Command:
    """Return the call of the program as a proxy; it needs no site-packages."""
    return Command((sys.executable, "-S", program.path, *proxy_arguments(job)), ENVIRONMENT)


STACK = Stack(
    name=_NAME,
    summary="HAProxy of Debian: a server before an origin, or a proxy that splits TCP and passes TLS through",
    roles=("server", "proxy"),
    protocols=("h3", *_OVER_TCP),
    proxy_protocols=_OVER_TCP,
    connections=tuple(ConnectionState),
    versions=_VERSIONS,
    knobs=_KNOBS,
    log_formats=(),
    install=_ADAPTER.install,
    server_command=packaged_server,
    proxy_command=proxy_command,
    installed=_ADAPTER.installed,
    early_data_protocols=("h3", *_OVER_TCP),
    either=True,
    default="2.6.12",  # of a stable release: a later one may leave the archive any day
    server_config="haproxy.cfg",
    server_reports_state=False,  # it does not report early data over QUIC
)
