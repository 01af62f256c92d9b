"""quinn: HTTP/3 (h3 over quinn) and HTTP/2 (hyper over rustls) from one Rust program (adapters/quinn)."""

from dataclasses import replace

from longlook.core import Knob, Version, knobs, with_default
from longlook.provision import cargo_stack

_VERSIONS = (
    Version("0.11.9", "2025-08-27", note="quinn-proto 0.11.13"),
    Version("0.11.11", "2026-06-22", note="quinn-proto 0.11.15"),
    Version("0.11.12", "2026-09-14", note="quinn-proto 0.11.18"),
)
"""Each with the release of quinn-proto, where the transport is, that was newest when it came out."""

_OF_QUIC = {
    "congestion_control": with_default(
        knobs.CONGESTION_CONTROL, "stack: cubic", usual="cubic", choices=("cubic", "reno", "bbr")
    ),
    "initial_window": with_default(knobs.INITIAL_WINDOW, "stack: 12,000 bytes", usual=10),
    "max_window": with_default(knobs.MAX_WINDOW, "stack: none"),
    "min_window": with_default(knobs.MIN_WINDOW, "stack: 2", usual=2),
    "window_after_loss": with_default(
        knobs.WINDOW_AFTER_LOSS, "stack: 0.5", only_with={"congestion_control": ("reno",)},
        help="share of the window that a loss leaves; with congestion_control = reno alone",
    ),
    "persistent_congestion_threshold": with_default(knobs.PERSISTENT_CONGESTION_THRESHOLD, "stack: 3", usual=3),
    "send_buffer": with_default(knobs.SEND_BUFFER, "stack: 10 MB"),
    "packet_threshold": with_default(knobs.PACKET_THRESHOLD, "stack: 3", usual=3),
    "time_threshold": with_default(knobs.TIME_THRESHOLD, "stack: 9/8", usual=1.125),
    "initial_stream_window": with_default(
        knobs.INITIAL_STREAM_WINDOW, "stack: 1.25 MB", help="stream window, which never grows"
    ),
    "initial_connection_window": with_default(
        knobs.INITIAL_CONNECTION_WINDOW, "stack: unlimited", help="connection window, which never grows"
    ),
    "initial_rtt": with_default(knobs.INITIAL_RTT, "stack: 0.333", usual=0.333, maximum=knobs.LONGEST_RTT_S),
    "idle_timeout": with_default(knobs.IDLE_TIMEOUT, "stack: 30", usual=30.0),
    "keep_alive": with_default(knobs.KEEP_ALIVE, "stack: never"),
    "max_udp_payload": with_default(
        knobs.MAX_UDP_PAYLOAD, "stack: 1452", maximum=1452,
        help="largest UDP payload: where discovery ends, or with disable_pmtud all",
    ),
    "disable_pmtud": with_default(knobs.DISABLE_PMTUD, "stack: on, from 1200"),
    "gso": with_default(knobs.GSO, "stack: where the kernel has it"),
    "move_at": with_default(knobs.MOVE_AT, "adapter: never; it sends from there at once, and the server validates"),
    "move_after_silence": with_default(knobs.MOVE_AFTER_SILENCE, "adapter: never"),
    "preferred_address": knobs.PREFERRED_ADDRESS,
    "requested_ack_threshold": Knob(
        int, "packets", None, "asks a peer that has the ACK frequency extension for one ACK in so many packets",
        minimum=1, maximum=1000,
    ),
    "requested_max_ack_delay": Knob(
        float, "seconds", None, "asks a peer that has the ACK frequency extension to wait no longer with an ACK",
        minimum=0.001, maximum=1,
    ),
}  # fmt: skip

_KNOBS = {
    **{name: replace(knob, protocols=("h3",)) for name, knob in _OF_QUIC.items()},
    "max_incoming_streams": with_default(knobs.MAX_INCOMING_STREAMS, "stack: 100 over h3, 200 over h2"),
    "http2_stream_window": with_default(knobs.HTTP2_STREAM_WINDOW, "stack: 2 MiB", usual=2 << 20),
    "http2_connection_window": with_default(knobs.HTTP2_CONNECTION_WINDOW, "stack: 5 MiB", usual=5 << 20),
    "allow_0rtt": knobs.ALLOW_0RTT,
    "fast_open": knobs.FAST_OPEN,
}

STACK = replace(
    cargo_stack(
        "quinn",
        "quinn: HTTP/3, and HTTP/2 of hyper, from one program",
        _VERSIONS,
        _KNOBS,
        protocols=("h3", "h2"),
        libraries=("quinn", "quinn-proto", "quinn-udp"),
        early_data_protocols=("h3", "h2"),
    ),
    ipv4_knobs=("preferred_address",),
)
