"""The second level of each setting that a screening varies: values that cures of causes use, within what is declared.

A level is the value under which a rule of the protocol limits least, as a cure has it: no cap, more credit, timers that
are short, losses that are declared late.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from longlook.core.knobs import LARGEST_HTTP2_WINDOW
from longlook.core.model import Scalar
from longlook.core.stack import Knob
from longlook.explain.pair import Pair
from longlook.explain.signs import RANDOM_REASONS

_CREDIT_BYTES = 16 << 20
_BUFFER_BYTES = 64 << 20
_PACKETS = 10_000
_CONTROLLERS = ("bbr", "bbr2", "reno", "cubic")


@dataclass(frozen=True)
class SecondLevel:
    """The values to try for a knob, of which the first is taken that the arm does not have; and in which role."""

    role: str
    values: Callable[[Pair], tuple[Scalar, ...]]


def _of(role: str, *values: Scalar) -> SecondLevel:
    return SecondLevel(role, lambda _pair: values)


def _round_trip_s(pair: Pair) -> tuple[Scalar, ...]:
    return (max(pair.loser.round_trip_ns, 1_000_000) / 1e9,)


KNOBS: Mapping[str, SecondLevel] = {
    "congestion_control": _of("server", *_CONTROLLERS),
    "max_window": _of("server", _PACKETS),
    "send_buffer": _of("server", _BUFFER_BYTES),
    "initial_window": _of("server", 32, 10),
    "min_window": _of("server", 10),
    "initial_ssthresh": _of("server", _PACKETS),
    "hystart": _of("server", False, True),
    "pacing": _of("server", False, True),
    "pacing_burst": _of("server", 1, 10),
    "max_pacing_rate": _of("server", 10_000_000_000),
    "emulated_connections": _of("server", 4, 1),
    "window_after_loss": _of("server", 0.85, 0.7),
    "packet_threshold": _of("server", 50, 3),
    "time_threshold": _of("server", 4.0, 1.125),
    "adaptive_reordering": _of("server", True, False),
    "persistent_congestion_threshold": _of("server", 10, 3),
    "pto_factor": _of("server", 0.5, 1.0),
    "initial_rtt": SecondLevel("server", _round_trip_s),
    "max_udp_payload": _of("server", 1472, 1200),
    "initial_packet_size": _of("server", 1452, 1200),
    "disable_pmtud": _of("server", True, False),
    "gso": _of("server", False, True),
    "ecn": _of("server", False, True),
    "retry": _of("server", False),
    "allow_0rtt": _of("server", True),
    "max_incoming_streams": _of("server", 1000, 100),
    "http2_stream_window": _of("client", LARGEST_HTTP2_WINDOW),
    "http2_connection_window": _of("client", LARGEST_HTTP2_WINDOW),
    "initial_stream_window": _of("client", _CREDIT_BYTES),
    "max_stream_window": _of("client", _CREDIT_BYTES),
    "initial_connection_window": _of("client", _CREDIT_BYTES),
    "max_connection_window": _of("client", _CREDIT_BYTES),
    "ack_threshold": _of("client", 2, 1),
    "max_ack_delay": _of("client", 0.005, 0.025),
}
"""Knob → its levels, where it acts on a download: the sender's rules are the server's, credit and acknowledgements the
client's. A design has room for the first MOST_FACTORS; those that cap a load altogether come first."""

TCP: Mapping[str, tuple[Scalar, ...]] = {
    "congestion_control": ("bbr", "cubic"),
    "tcp_initial_window": (32, 10),
    "tcp_receive_buffer": ("64MiB",),
    "tcp_send_buffer": ("64MiB",),
    "tcp_pacing": (True, False),
    "tcp_idle_restart": (False,),
    "tcp_hystart": (False,),
    "tcp_window_after_loss": (0.85,),
    "tcp_initial_ssthresh": (100_000,),
    "tcp_reordering": (50,),
    "tcp_adaptive_reordering": (True,),
    "tcp_sack": (True,),
    "tcp_dsack": (True,),
    "tcp_tail_loss_probe": (True,),
    "tcp_rto_min": ("50ms",),
    "tcp_quickack": (True,),
    "tcp_timestamps": (True,),
    "tcp_mss": ("1460B",),
    "tcp_mtu_probing": (True,),
}
"""Setting of the kernel's TCP → its levels."""

PATH: Mapping[str, tuple[tuple[str, ...], Mapping[str, Scalar], str]] = {
    "loss": (RANDOM_REASONS, {"loss": "0%"}, "no random loss"),
    "jitter": (("jitter",), {"jitter": "0ms", "jitter_reorders": False}, "a constant delay"),
    "reorder": (("reorder",), {"reorder": "0%"}, "no reordering"),
    "queue": (("rate",), {"queue": "8bdp"}, "a queue of 8 BDP"),
}
"""Setting of the path → the stages that it is about, the change, and the change in words."""

PATH_WORDS: Mapping[str, str] = {
    "loss": "random losses",
    "jitter": "varying delay",
    "reorder": "reordering",
    "queue": "full queue",
}
"""Setting of the path → what the path does by it."""


def admitted(knob: Knob, values: tuple[Scalar, ...], own: Scalar | None) -> Scalar | None:
    """Return the first of some values that a knob takes and an arm does not have; None where there is none.

    A number out of the knob's bounds becomes the bound.
    """
    for value in values:
        bounded = within(knob, value)
        if bounded is not None and bounded != own:
            return bounded
    return None


def within(knob: Knob, value: Scalar) -> Scalar | None:
    """Return a value as a knob takes it, at a bound where it is beyond; None where the knob does not have it."""
    if knob.choices:
        return value if value in knob.choices else None
    if knob.kind in (bool, str):
        return value if isinstance(value, knob.kind) else None
    if isinstance(value, bool | str):
        return None
    low = value if knob.minimum is None else max(value, knob.minimum)
    bounded = low if knob.maximum is None else min(low, knob.maximum)
    return knob.kind(bounded)
