"""Knobs, and the configuration of aioquic that they end in."""

import os
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from aioquic.h3.connection import H3_ALPN
from aioquic.quic.configuration import QuicConfiguration
from longlook_adapter.errors import BadUsageError, UnsupportedError

from aioquic_adapter import versions
from aioquic_adapter.trace import Traces

_T = TypeVar("_T")

LARGEST_DATAGRAM_BYTES = 1472
"""What an Ethernet packet holds over IPv4; aioquic looks for no larger one, so the knob decides."""


STREAMS = "max_incoming_streams"
"""The knob that a server sets on each connection (`streams_allowed`); a client serves no requests."""


def configuration(knobs: Mapping[str, Any], traces: Traces | None, *, is_client: bool) -> QuicConfiguration:
    """aioquic's defaults with the knobs applied, and with the logs that the environment asks for.

    Knobs that aioquic has as constants hold for the whole process.
    """
    made = QuicConfiguration(is_client=is_client, alpn_protocols=[H3_ALPN[0]], quic_logger=traces)
    for name, value in knobs.items():
        if name == STREAMS and not is_client:
            continue
        if name in _CONFIGURED:
            attribute, parse = _CONFIGURED[name]
            versions.set_attribute(made, name, attribute, _parsed(name, value, parse))
        elif name in _CONSTANTS:
            apply, parse = _CONSTANTS[name]
            apply(_parsed(name, value, parse))
        else:
            raise UnsupportedError(f"unknown knob {name!r}")
    if keys := os.environ.get("SSLKEYLOGFILE"):
        made.secrets_log_file = open(keys, "a")  # noqa: PTH123, SIM115  # until the process ends
    return made


def streams_allowed(knobs: Mapping[str, Any]) -> int | None:
    """Requests that a client may have open at once at first; None for aioquic's own 128."""
    return _parsed(STREAMS, knobs[STREAMS], _whole(1, 2**60)) if STREAMS in knobs else None


def _parsed(name: str, value: Any, parse: Callable[[Any], _T]) -> _T:
    try:
        return parse(value)
    except ValueError as error:
        raise BadUsageError(f"knob {name}={value}: {error}") from error


def _whole(lowest: int, highest: int) -> Callable[[Any], int]:
    def parse(value: Any) -> int:
        number = int(str(value))
        if not lowest <= number <= highest:
            raise ValueError(f"not between {lowest} and {highest}")
        return number

    return parse


def _real(lowest: float, highest: float) -> Callable[[Any], float]:
    def parse(value: Any) -> float:
        number = float(str(value))
        if not lowest <= number <= highest:
            raise ValueError(f"not between {lowest:g} and {highest:g}")
        return number

    return parse


def _algorithm(value: Any) -> str:
    if value not in ("reno", "cubic"):
        raise ValueError("neither reno nor cubic")
    return str(value)


def _flag(value: Any) -> bool:
    text = str(value).lower()
    if text not in ("true", "false"):
        raise ValueError("neither true nor false")
    return text == "true"


_WINDOW = _whole(1, 2**62 - 1)
_CONFIGURED: Mapping[str, tuple[str, Callable[[Any], Any]]] = {
    "congestion_control": ("congestion_control_algorithm", _algorithm),
    "initial_stream_window": ("max_stream_data", _WINDOW),
    "initial_connection_window": ("max_data", _WINDOW),
    "max_udp_payload": ("max_datagram_size", _whole(1200, LARGEST_DATAGRAM_BYTES)),
    "initial_rtt": ("initial_rtt", _real(0.001, 10)),
}
_CONSTANTS: Mapping[str, tuple[Callable[[Any], None], Callable[[Any], Any]]] = {
    "initial_window": (versions.set_initial_window, _whole(2, 1_000)),
    "packet_threshold": (versions.set_packet_threshold, _whole(1, 1_000)),
    "time_threshold": (versions.set_time_threshold, _real(1, 10)),
    "pacing": (versions.set_pacing, _flag),
}
