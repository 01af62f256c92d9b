"""tquic: HTTP/3 of Tencent's library under an event loop of our own (adapters/tquic)."""

from longlook.core import Version, knobs, with_default
from longlook.provision import cargo_stack

_VERSIONS = (Version("1.6.0", "2025-02-25"),)

_KNOBS = {
    "congestion_control": with_default(
        knobs.CONGESTION_CONTROL, "stack: bbr", usual="bbr", choices=("cubic", "bbr", "bbr3", "copa")
    ),
    "initial_window": with_default(knobs.INITIAL_WINDOW, "stack: 10", usual=10),
    "initial_ssthresh": with_default(
        knobs.INITIAL_SSTHRESH, "stack: none", help="cubic: congestion window at which the first slow start ends"
    ),
    "pacing": with_default(
        knobs.PACING, "stack: on", usual=True, help="packets are spread over the round trip, ten at once"
    ),
    "initial_stream_window": with_default(
        knobs.INITIAL_STREAM_WINDOW, "stack: 5 MiB for answers, 2 MiB for requests"
    ),
    "initial_connection_window": with_default(knobs.INITIAL_CONNECTION_WINDOW, "stack: 10 MiB"),
    "max_stream_window": with_default(knobs.MAX_STREAM_WINDOW, "stack: 6 MiB"),
    "max_incoming_streams": with_default(knobs.MAX_INCOMING_STREAMS, "stack: 200"),
    "max_udp_payload": with_default(
        knobs.MAX_UDP_PAYLOAD, "stack: 1472", minimum=1201,
        help="largest UDP payload: where discovery ends, or with disable_pmtud all",
    ),
    "disable_pmtud": with_default(knobs.DISABLE_PMTUD, "stack: on, from 1200"),
    "ack_threshold": with_default(knobs.ACK_THRESHOLD, "stack: 2", usual=2),
    "max_ack_delay": with_default(knobs.MAX_ACK_DELAY, "stack: 0.025", usual=0.025),
    "initial_rtt": with_default(knobs.INITIAL_RTT, "stack: 0.333", usual=0.333),
    "allow_0rtt": knobs.ALLOW_0RTT,
    "multipath": with_default(
        knobs.MULTIPATH, "stack: off", choices=("minrtt", "roundrobin", "redundant"),
        help="several paths at once (draft-ietf-quic-multipath-05), by this scheduler, and one path of the client from "
        "its second address; both ends must have it",
    ),
    "retry": with_default(knobs.RETRY, "stack: off", usual=False),
}  # fmt: skip

STACK = cargo_stack("tquic", "tquic (Tencent): HTTP/3", _VERSIONS, _KNOBS, boringssl=True)
