"""quiche: HTTP/3 of Cloudflare's library under an event loop of our own (adapters/quiche)."""

from longlook.core.stack import Knob, Version
from longlook.provision.rust import cargo_stack

_NAME = "quiche"
_CMAKE = ("cmake", "sudo apt-get install cmake g++ (for BoringSSL, which the crate brings along)")
_VERSIONS = (
    Version("0.20.1", "2024-03-12"),
    Version("0.22.0", "2024-06-26"),
    Version("0.28.0", "2026-04-01", note="the last one that builds without libclang"),
)
_LARGEST_WINDOW = 2**62 - 1
_ENVIRONMENT = {"OPENSSL_ia32cap": "~0x4000000000000000"}
"""BoringSSL mixes the processor's RDRAND into its random numbers, which no seed repeats: hide it."""


def _window(help_text: str) -> Knob:
    return Knob(int, "bytes", None, help_text, minimum=1, maximum=_LARGEST_WINDOW)


_KNOBS = {
    "congestion_control": Knob(
        str, None, None, "congestion control (stack: cubic)", choices=("cubic", "reno", "bbr2"),
        window_after_loss={"reno": 0.5},  # as the RFC says; pacing of old versions moves a part of it on
        lasting_loss={"cubic": 45},  # it goes back to the window before where less than a fifth of it was lost
    ),
    "initial_window": Knob(
        int, "packets", None, "congestion window at the start (stack: 10)", minimum=1, maximum=10_000
    ),
    "pacing": Knob(
        bool, None, None, "packets leave at the times that quiche gives them (stack: on); later ones pace bbr2 alone",
        until="0.22.0",
    ),
    "hystart": Knob(bool, None, None, "HyStart++ (stack: on)"),
    "initial_stream_window": _window("stream window offered at first (quiche's programs: 1,000,000)"),
    "initial_connection_window": _window("connection window offered at first (quiche's programs: 10,000,000)"),
    "max_stream_window": _window("largest stream window that auto-tuning may reach (stack: 16 MiB)"),
    "max_connection_window": _window("largest connection window that auto-tuning may reach (stack: 24 MiB)"),
    "max_incoming_streams": Knob(
        int, "streams", None, "requests at once per connection (quiche's programs: 100)", ("server",),
        minimum=1, maximum=2**20,
    ),
    "max_udp_payload": Knob(
        int, "bytes", None, "largest UDP payload; no path MTU discovery (stack: 1200)", minimum=1200, maximum=1472
    ),
    "max_ack_delay": Knob(
        float, "seconds", None, "the longest that an ACK may wait, as the peer is told (stack: 0.025)",
        minimum=0.001, maximum=16,
    ),
    "initial_rtt": Knob(
        float, "seconds", None, "round-trip time assumed before the first is measured (stack: 0.333)",
        minimum=0.001, maximum=10, since="0.28.0",
    ),
    "allow_0rtt": Knob(bool, None, True, "accept early data", roles=("server",)),
}  # fmt: skip


STACK = cargo_stack(_NAME, "quiche (Cloudflare): HTTP/3", _VERSIONS, _KNOBS, boringssl=True)
