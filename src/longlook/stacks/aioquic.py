"""aioquic: HTTP/3 in Python, server and client (adapters/aioquic), in an environment of its own."""

from pathlib import Path

from longlook.core.job import Program
from longlook.core.model import ConnectionState
from longlook.core.paths import adapters_dir
from longlook.core.stack import Knob, Stack, Version
from longlook.provision.python import environment, is_made, python_client, python_server

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
_LARGEST_WINDOW = 2**62 - 1

_KNOBS = {
    "congestion_control": Knob(
        str, None, None, "congestion control (stack: reno)", choices=("reno", "cubic"), since=_CONFIGURABLE
    ),
    "initial_stream_window": Knob(
        int, "bytes", None, "stream window offered at first; doubles as it is used (stack: 1 MiB)",
        minimum=1, maximum=_LARGEST_WINDOW,
    ),
    "initial_connection_window": Knob(
        int, "bytes", None, "connection window offered at first; doubles as it is used (stack: 1 MiB)",
        minimum=1, maximum=_LARGEST_WINDOW,
    ),
    "max_udp_payload": Knob(
        int, "bytes", None, "UDP payload size; no path MTU discovery (stack: 1200)", minimum=1200, maximum=1472,
        since=_CONFIGURABLE,
    ),
    "initial_rtt": Knob(
        float, "seconds", None, "round-trip time assumed before the first is measured (stack: 0.1)",
        minimum=0.001, maximum=10,
    ),
    "initial_window": Knob(int, "packets", 10, "congestion window at the start", minimum=2, maximum=1_000),
    "packet_threshold": Knob(
        int, "packets", 3, "packets acknowledged beyond a missing one until it counts as lost", minimum=1, maximum=1_000
    ),
    "time_threshold": Knob(
        float, "ratio", 1.125, "age, in round-trip times, at which a packet counts as lost", minimum=1, maximum=10
    ),
    "pacing": Knob(bool, None, True, "packets are spread over the round trip"),
    "max_incoming_streams": Knob(
        int, "streams", 128, "requests at once per connection, at first; doubles as they are used", roles=("server",),
        minimum=1, maximum=2**60,
    ),
}  # fmt: skip


def install(version: str) -> Program:
    """Make the environment with one version of aioquic, or take it from the cache."""
    return environment(_NAME, STACK.version(version).name, _sources())


def installed(version: str) -> bool:
    """Return whether `install` has nothing to do."""
    return is_made(_NAME, version, _sources())


def _sources() -> Path:
    return adapters_dir() / _NAME


STACK = Stack(
    name=_NAME,
    summary="aioquic: HTTP/3 in Python",
    roles=("server", "client"),
    protocols=("h3",),
    connections=(ConnectionState.COLD, ConnectionState.RESUMED, ConnectionState.ZERO_RTT),
    versions=_VERSIONS,
    knobs=_KNOBS,
    log_formats=("qlog",),
    install=install,
    server_command=python_server,
    client_command=python_client,
    installed=installed,
    several_connections=True,
)
