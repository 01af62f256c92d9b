"""quinn: HTTP/3 (h3 over quinn) and HTTP/2 (hyper over rustls) from one Rust program (adapters/quinn)."""

from longlook.core.stack import Knob, Version
from longlook.provision.rust import cargo_stack

_NAME = "quinn"
_VERSIONS = (
    Version("0.11.9", "2025-08-27", note="quinn-proto 0.11.13"),
    Version("0.11.11", "2026-06-22", note="quinn-proto 0.11.15"),
    Version("0.11.12", "2026-09-14", note="quinn-proto 0.11.18"),
)
"""Each with the release of quinn-proto, where the transport is, that was newest when it came out."""
_H3 = ("h3",)
_LARGEST_WINDOW = 2**62 - 1

_KNOBS = {
    "congestion_control": Knob(
        str, None, None, "congestion control (stack: cubic)", choices=("cubic", "reno", "bbr"), protocols=_H3
    ),
    "initial_window": Knob(
        int, "packets", None, "congestion window at the start (stack: 12,000 bytes)",
        minimum=1, maximum=10_000, protocols=_H3,
    ),
    "packet_threshold": Knob(
        int, "packets", None, "packets acknowledged beyond a missing one until it is lost (stack: 3)",
        minimum=1, maximum=10_000, protocols=_H3,
    ),
    "time_threshold": Knob(
        float, "RTT", None, "age at which a packet is lost (stack: 9/8)", minimum=1, maximum=16, protocols=_H3
    ),
    "initial_stream_window": Knob(
        int, "bytes", None, "stream window, which never grows (stack: 1.25 MB)",
        minimum=1, maximum=_LARGEST_WINDOW, protocols=_H3,
    ),
    "initial_connection_window": Knob(
        int, "bytes", None, "connection window, which never grows (stack: unlimited)",
        minimum=1, maximum=_LARGEST_WINDOW, protocols=_H3,
    ),
    "max_incoming_streams": Knob(
        int, "streams", None, "requests at once per connection (stack: 100 over h3, 200 over h2)", ("server",),
        minimum=1, maximum=2**20,
    ),
    "initial_rtt": Knob(
        float, "seconds", None, "round-trip time assumed before the first is measured (stack: 0.333)",
        minimum=0.001, maximum=10, protocols=_H3,
    ),
    "max_udp_payload": Knob(
        int, "bytes", None, "largest UDP payload: where discovery ends, or with disable_pmtud all (stack: 1452)",
        minimum=1200, maximum=1452, protocols=_H3,
    ),
    "disable_pmtud": Knob(bool, None, None, "no path MTU discovery (stack: on, from 1200)", protocols=_H3),
    "gso": Knob(bool, None, None, "UDP segmentation offload (stack: where the kernel has it)", protocols=_H3),
    "allow_0rtt": Knob(bool, None, True, "accept early data", roles=("server",), protocols=_H3),
    "requested_ack_threshold": Knob(
        int, "packets", None, "asks a peer that has the ACK frequency extension for one ACK in so many packets",
        minimum=1, maximum=1000, protocols=_H3,
    ),
    "requested_max_ack_delay": Knob(
        float, "seconds", None, "asks a peer that has the ACK frequency extension to wait no longer with an ACK",
        minimum=0.001, maximum=1, protocols=_H3,
    ),
}  # fmt: skip


STACK = cargo_stack(
    _NAME, "quinn: HTTP/3, and HTTP/2 of hyper, from one program", _VERSIONS, _KNOBS, protocols=("h3", "h2")
)
