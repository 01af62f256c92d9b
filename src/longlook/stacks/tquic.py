"""tquic: HTTP/3 of Tencent's library under an event loop of our own (adapters/tquic)."""

from longlook.core.stack import Knob, Version
from longlook.provision.rust import cargo_stack

_NAME = "tquic"
_CMAKE = ("cmake", "sudo apt-get install cmake g++ (for BoringSSL, which the crate brings along)")
_VERSIONS = (Version("1.6.0", "2025-02-25"),)
_LARGEST_WINDOW = 2**62 - 1
_ENVIRONMENT = {"OPENSSL_ia32cap": "~0x4000000000000000"}
"""BoringSSL mixes the processor's RDRAND into its random numbers, which no seed repeats: hide it."""


def _window(help_text: str) -> Knob:
    return Knob(int, "bytes", None, help_text, minimum=1, maximum=_LARGEST_WINDOW)


_KNOBS = {
    "congestion_control": Knob(
        str, None, None, "congestion control (stack: bbr)", choices=("cubic", "bbr", "bbr3", "copa")
    ),
    "initial_window": Knob(
        int, "packets", None, "congestion window at the start (stack: 10)", minimum=1, maximum=10_000
    ),
    "pacing": Knob(bool, None, None, "packets are spread over the round trip, ten at once (stack: on)"),
    "initial_stream_window": _window("stream window offered at first (stack: 5 MiB for answers, 2 MiB for requests)"),
    "initial_connection_window": _window("connection window offered at first (stack: 10 MiB)"),
    "max_stream_window": _window("largest stream window that auto-tuning may reach (stack: 6 MiB)"),
    "max_incoming_streams": Knob(
        int, "streams", None, "requests at once per connection (stack: 200)", ("server",), minimum=1, maximum=2**20
    ),
    "max_udp_payload": Knob(
        int, "bytes", None, "largest UDP payload: where discovery ends, or with disable_pmtud all (stack: 1472)",
        minimum=1201, maximum=1472,
    ),
    "disable_pmtud": Knob(bool, None, None, "no path MTU discovery (stack: on, from 1200)"),
    "ack_threshold": Knob(
        int, "packets", None, "ack-eliciting packets that bring an ACK at once (stack: 2)", minimum=1, maximum=1000
    ),
    "max_ack_delay": Knob(
        float, "seconds", None, "the longest that an ACK may wait, as the peer is told (stack: 0.025)",
        minimum=0.001, maximum=16,
    ),
    "initial_rtt": Knob(
        float, "seconds", None, "round-trip time assumed before the first is measured (stack: 0.333)",
        minimum=0.001, maximum=10,
    ),
    "allow_0rtt": Knob(bool, None, True, "accept early data", roles=("server",)),
    "retry": Knob(bool, None, None, "answer a first packet with a Retry (stack: off)", roles=("server",)),
}  # fmt: skip


STACK = cargo_stack(_NAME, "tquic (Tencent): HTTP/3", _VERSIONS, _KNOBS, boringssl=True)
