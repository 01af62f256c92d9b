"""The knobs that several stacks have: each means the same everywhere (adapters/CONTRACT.md).

A stack declares the knobs that it can obey by `with_default`, with bounds and choices of its own. `with_default` is the
entry point, beside the constants.
"""

from dataclasses import replace
from typing import Any

from longlook.core.live import CARRIERS
from longlook.core.protocol import EITHER
from longlook.core.stack import Knob

_LARGEST_WINDOW = 2**62 - 1
"""The largest number that QUIC can encode."""
LARGEST_HTTP2_WINDOW = 2**31 - 1
"""RFC 9113, 6.9.1."""

CONGESTION_CONTROL = Knob(str, None, None, "congestion control")
INITIAL_WINDOW = Knob(int, "packets", None, "congestion window at the start", minimum=1, maximum=10_000)
MAX_WINDOW = Knob(int, "packets", None, "largest congestion window", minimum=2, maximum=10_000)
MIN_WINDOW = Knob(int, "packets", None, "smallest congestion window", minimum=1, maximum=1000)
INITIAL_SSTHRESH = Knob(
    int, "packets", None, "congestion window at which the first slow start ends", minimum=2, maximum=10_000
)
WINDOW_AFTER_LOSS = Knob(
    float, "ratio", None, "share of the congestion window that a loss leaves", minimum=0.1, maximum=0.99
)
PACING = Knob(bool, None, None, "packets are spread over the round trip")
MAX_PACING_RATE = Knob(
    int, "bit/s", None, "the highest rate at which packets are spread", minimum=10_000, maximum=10_000_000_000
)
HYSTART = Knob(bool, None, None, "slow start may end on a rising RTT")

INITIAL_STREAM_WINDOW = Knob(int, "bytes", None, "stream window offered at first", minimum=1, maximum=_LARGEST_WINDOW)
INITIAL_CONNECTION_WINDOW = Knob(
    int, "bytes", None, "connection window offered at first", minimum=1, maximum=_LARGEST_WINDOW
)
MAX_STREAM_WINDOW = Knob(
    int, "bytes", None, "largest stream window that auto-tuning may reach", minimum=1, maximum=_LARGEST_WINDOW
)
MAX_CONNECTION_WINDOW = Knob(
    int, "bytes", None, "largest connection window that auto-tuning may reach", minimum=1, maximum=_LARGEST_WINDOW
)
HTTP2_STREAM_WINDOW = Knob(
    int, "bytes", None, "HTTP/2's window of each stream, as it is offered at first",
    roles=("client",), minimum=1, maximum=LARGEST_HTTP2_WINDOW, protocols=("h2",),
)  # fmt: skip
HTTP2_CONNECTION_WINDOW = Knob(
    int, "bytes", None, "HTTP/2's window of the connection, as it is offered at first",
    roles=("client",), minimum=65_535, maximum=LARGEST_HTTP2_WINDOW, protocols=("h2",),
)  # fmt: skip
MAX_INCOMING_STREAMS = Knob(
    int, "streams", None, "requests at once per connection", roles=("server",), minimum=1, maximum=2**20
)

PACKET_THRESHOLD = Knob(
    int, "packets", None, "packets acknowledged beyond a missing one until it is lost", minimum=1, maximum=10_000
)
TIME_THRESHOLD = Knob(float, "ratio", None, "age at which a packet is lost", minimum=1, maximum=16)
ACK_THRESHOLD = Knob(int, "packets", None, "ack-eliciting packets that bring an ACK at once", minimum=1, maximum=1000)
MAX_ACK_DELAY = Knob(
    float, "seconds", None, "the longest that an ACK may wait, as the peer learns", minimum=0.001, maximum=16
)
INITIAL_RTT = Knob(
    float, "seconds", None, "round-trip time assumed before the first is measured", minimum=0.001, maximum=10
)
LONGEST_RTT_S = 86_400
"""The longest initial RTT of stacks that can hold one between planets."""
IDLE_TIMEOUT = Knob(
    float, "seconds", None, "silence that ends the connection, as the peer learns", minimum=0.1, maximum=31_536_000
)
KEEP_ALIVE = Knob(
    float, "seconds", None, "silence after which this end sends a packet to be kept", minimum=0.1, maximum=86_400
)
HANDSHAKE_TIMEOUT = Knob(
    float, "seconds", None, "silence during the handshake after which it is given up", minimum=0.1, maximum=31_536_000
)
PERSISTENT_CONGESTION_THRESHOLD = Knob(
    int, "timeouts", None, "probe timeouts that losses must span to end in the smallest window", minimum=1, maximum=1000
)
SEND_BUFFER = Knob(int, "bytes", None, "data kept until it is acknowledged", minimum=1, maximum=_LARGEST_WINDOW)
STREAM_SEND_BUFFER = Knob(
    int, "bytes", None, "data of a stream kept until it is acknowledged", minimum=1, maximum=_LARGEST_WINDOW
)
PTO_FACTOR = Knob(float, "ratio", None, "probe timeout (PTO), as a multiple of RFC 9002's", minimum=0.25, maximum=16)

MAX_UDP_PAYLOAD = Knob(int, "bytes", None, "largest UDP payload", minimum=1200, maximum=1472)
DISABLE_PMTUD = Knob(bool, None, None, "no path MTU discovery")
GSO = Knob(bool, None, None, "UDP segmentation offload")
ALLOW_0RTT = Knob(bool, None, True, "accept early data", roles=("server",))
FAST_OPEN = Knob(
    bool, None, False, "TCP Fast Open: data in the SYN of a client that was here before", protocols=("h2",)
)
MOVE_AT = Knob(
    float, "seconds", None, "after so much of the load the client continues from its second address",
    roles=("client",), minimum=0.01, maximum=3600,
)  # fmt: skip
MOVE_AFTER_SILENCE = Knob(
    float, "seconds", None, "a client to which nothing of an answer has come for so long moves to its second address",
    roles=("client",), minimum=0.01, maximum=3600,
)  # fmt: skip
MULTIPATH = Knob(
    str, None, None, "QUIC over several paths at once, by this scheduler; the client opens one from its second address",
    protocols=("h3",),
)  # fmt: skip
PREFERRED_ADDRESS = Knob(
    bool, None, False, "the server asks its clients to continue at its second address (RFC 9000, 9.6)",
    roles=("server",), protocols=("h3",),
)  # fmt: skip
ALT_SVC_PORT = Knob(
    int, "port", None, "answers over TCP name HTTP/3 on this port (Alt-Svc), and tickets are off",
    roles=("server",), minimum=1, maximum=65_535, protocols=(EITHER.name,),
)  # fmt: skip
MEMORY = Knob(
    str, None, None, "what is remembered of earlier loads: nothing, the server's Alt-Svc, or a page's load too",
    roles=("client",), choices=("none", "alt-svc", "page"), protocols=(EITHER.name,), usual="none",
)  # fmt: skip
RESOLVER = Knob(
    str, None, None, "names are asked of a resolver beside it: with their addresses alone, or with an HTTPS record",
    roles=("client",), choices=("none", "addresses", "https-record"), protocols=(EITHER.name,), usual="none",
)  # fmt: skip
PLAYER = Knob(
    str, None, None, "what plays a video of pictures in the page: shaka-player or dash.js, as sites have them",
    roles=("client",), choices=("shaka", "dash.js"), protocols=("h3", "h2"),
)  # fmt: skip
UPLOAD_ANSWER = Knob(
    str, None, "whole", "what becomes of an upload: taken whole, refused (413), answered early, reset in the middle",
    roles=("server",), choices=("whole", "refused", "early", "reset"), protocols=("h3", "h2"),
)  # fmt: skip
CARRIER = Knob(
    str, None, CARRIERS[0], "how the frames of a live source travel: a stream for each, all in one, or in datagrams",
    roles=("client",), choices=CARRIERS, protocols=("quic-live",),
)  # fmt: skip
RETRY = Knob(bool, None, None, "answer a first packet with a Retry", roles=("server",))


def with_default(knob: Knob, whose: str, /, **changes: Any) -> Knob:
    """Return a knob as one stack has it: `whose` ends its help, and `changes` replace fields of the knob.

    `whose` says what the default is and who sets it, as in "stack: 10".
    """
    help_text = changes.pop("help", knob.help)
    return replace(knob, help=f"{help_text} ({whose})", **changes)
