"""s2n-quic (Amazon): HTTP/3 by h3 over it, server and client in one Rust program (adapters/s2n-quic)."""

from dataclasses import replace

from longlook.core import ConnectionState, Version, knobs, with_default
from longlook.provision import cargo_stack

_VERSIONS = (Version("1.91.0", "2026-10-14", note="by rustls, with which it resumes no connection"),)

_LARGEST_WINDOW = 2**32 - 1
"""s2n-quic keeps windows as 32-bit numbers."""

_KNOBS = {
    "congestion_control": with_default(
        knobs.CONGESTION_CONTROL, "stack: cubic", usual="cubic", choices=("cubic", "bbr"), help="bbr: its version 2"
    ),
    "initial_window": with_default(knobs.INITIAL_WINDOW, "stack: 10", usual=10),
    "initial_stream_window": with_default(
        knobs.INITIAL_STREAM_WINDOW, "stack: 3.75 MB", maximum=_LARGEST_WINDOW, help="stream window, which never grows"
    ),
    "initial_connection_window": with_default(
        knobs.INITIAL_CONNECTION_WINDOW, "stack: 3.75 MB", maximum=_LARGEST_WINDOW,
        help="connection window, which never grows",
    ),
    "max_incoming_streams": with_default(knobs.MAX_INCOMING_STREAMS, "stack: 100"),
    "max_udp_payload": with_default(
        knobs.MAX_UDP_PAYLOAD, "stack: 1472",
        help="largest UDP payload: where discovery ends, or with disable_pmtud all",
    ),
    "disable_pmtud": with_default(knobs.DISABLE_PMTUD, "stack: on, from 1200"),
    "max_ack_delay": with_default(knobs.MAX_ACK_DELAY, "stack: 0.025", usual=0.025),
    "initial_rtt": with_default(knobs.INITIAL_RTT, "stack: 0.333", usual=0.333),
    "gso": with_default(knobs.GSO, "stack: where the kernel has it"),
    "retry": with_default(knobs.RETRY, "stack: off", usual=False),
}  # fmt: skip

STACK = replace(
    cargo_stack(
        "s2n-quic",
        "s2n-quic (Amazon): HTTP/3 by h3 over it",
        _VERSIONS,
        _KNOBS,
        early_data_protocols=(),
        libraries=("s2n-quic", "s2n-quic-core", "s2n-quic-transport", "s2n-quic-platform", "s2n-quic-rustls"),
    ),
    connections=(ConnectionState.COLD,),
    log_formats=(),
)
