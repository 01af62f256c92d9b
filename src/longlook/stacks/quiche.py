"""quiche: HTTP/3 of Cloudflare's library under an event loop of our own (adapters/quiche)."""

from longlook.core import Version, knobs, with_default
from longlook.provision import cargo_stack

_VERSIONS = (
    Version("0.20.1", "2024-03-12"),
    Version("0.22.0", "2024-06-26"),
    Version("0.28.0", "2026-04-01"),
    Version("0.30.0", "2026-09-17"),
)

_KNOBS = {
    "congestion_control": with_default(
        knobs.CONGESTION_CONTROL, "stack: cubic", usual="cubic", choices=("cubic", "reno", "bbr2"),
        window_after_loss={"reno": 0.5},  # as the RFC says; pacing of old versions moves a part of it on
        lasting_loss={"cubic": 45},  # it goes back to the window before where less than a fifth of it was lost
    ),
    "initial_window": with_default(knobs.INITIAL_WINDOW, "stack: 10", usual=10),
    "pacing": with_default(
        knobs.PACING, "stack: on; later versions pace bbr2 alone", until="0.22.0",
        help="packets leave at the times that quiche gives them",
    ),
    "max_pacing_rate": with_default(knobs.MAX_PACING_RATE, "stack: none", until="0.22.0"),
    "hystart": with_default(
        knobs.HYSTART, "stack: on", usual=True, until="0.28.0",  # its proof misses what it demands of 0.30.0
        help="HyStart++",
    ),
    "initial_stream_window": with_default(knobs.INITIAL_STREAM_WINDOW, "quiche's programs: 1,000,000"),
    "initial_connection_window": with_default(knobs.INITIAL_CONNECTION_WINDOW, "quiche's programs: 10,000,000"),
    "max_stream_window": with_default(knobs.MAX_STREAM_WINDOW, "stack: 16 MiB"),
    "max_connection_window": with_default(knobs.MAX_CONNECTION_WINDOW, "stack: 24 MiB"),
    "max_incoming_streams": with_default(knobs.MAX_INCOMING_STREAMS, "quiche's programs: 100"),
    "max_udp_payload": with_default(
        knobs.MAX_UDP_PAYLOAD, "stack: 1200", usual=1200, help="largest UDP payload; no path MTU discovery"
    ),
    "max_ack_delay": with_default(knobs.MAX_ACK_DELAY, "stack: 0.025", usual=0.025),
    "initial_rtt": with_default(knobs.INITIAL_RTT, "stack: 0.333", since="0.28.0"),
    "allow_0rtt": knobs.ALLOW_0RTT,
}  # fmt: skip

STACK = cargo_stack(
    "quiche",
    "quiche (Cloudflare): HTTP/3",
    _VERSIONS,
    _KNOBS,
    boringssl=True,
    libraries=("quiche", "octets", "qlog"),
)
