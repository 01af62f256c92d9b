"""aioquic: HTTP/3 in Python, server and client (adapters/aioquic), in an environment of its own."""

from dataclasses import replace

from longlook.core import ConnectionState, Stack, Version, knobs, with_default
from longlook.provision import PythonAdapter, python_client, python_server, python_sources

_NAME = "aioquic"
_VERSIONS = (  # each has a lock file in adapters/aioquic/locks
    Version("0.9.21", "2023-07-04", note="the oldest with a ready-made package for Python 3.11; Reno alone"),
    Version("0.9.25", "2024-01-07", note="the first with Cubic"),
    Version("1.0.0", "2024-03-12"),
    Version("1.1.0", "2024-06-18"),
    Version("1.2.0", "2024-07-06"),
    Version("1.3.0", "2025-10-11"),
    Version("1.4.0", "2026-10-10"),
    Version("1.5.0", "2026-10-11"),
    Version("1.6.1", "2026-10-13"),
    Version("1.7.2", "2026-11-02"),
)
_CONFIGURABLE = "0.9.25"  # before, there is one congestion control, and packets have 1280 bytes
_KNOBS = {
    "congestion_control": with_default(
        knobs.CONGESTION_CONTROL, "stack: reno", choices=("reno", "cubic"), since=_CONFIGURABLE
    ),
    "initial_stream_window": with_default(
        knobs.INITIAL_STREAM_WINDOW, "stack: 1 MiB", help="stream window offered at first; doubles as it is used"
    ),
    "initial_connection_window": with_default(
        knobs.INITIAL_CONNECTION_WINDOW, "stack: 1 MiB",
        help="connection window offered at first; doubles as it is used",
    ),
    "max_udp_payload": with_default(
        knobs.MAX_UDP_PAYLOAD, "stack: 1200", help="UDP payload size; no path MTU discovery", since=_CONFIGURABLE
    ),
    "initial_rtt": with_default(knobs.INITIAL_RTT, "stack: 0.1"),
    "initial_window": replace(knobs.INITIAL_WINDOW, default=10, minimum=2, maximum=1_000),
    "packet_threshold": replace(knobs.PACKET_THRESHOLD, default=3, maximum=1_000),
    "time_threshold": replace(knobs.TIME_THRESHOLD, default=1.125, maximum=10),
    "pacing": replace(knobs.PACING, default=True),
    "max_incoming_streams": replace(
        knobs.MAX_INCOMING_STREAMS, default=128, maximum=2**60,
        help="requests at once per connection, at first; doubles as they are used",
    ),
}  # fmt: skip

_ADAPTER = PythonAdapter(_NAME, _VERSIONS)

STACK = Stack(
    name=_NAME,
    summary="aioquic: HTTP/3 in Python",
    roles=("server", "client"),
    protocols=("h3",),
    connections=(ConnectionState.COLD, ConnectionState.RESUMED, ConnectionState.ZERO_RTT),
    versions=_VERSIONS,
    knobs=_KNOBS,
    log_formats=("qlog",),
    install=_ADAPTER.install,
    server_command=python_server,
    client_command=python_client,
    installed=_ADAPTER.installed,
    from_sources=python_sources(_NAME),
    several_connections=True,
    priorities=True,
)
