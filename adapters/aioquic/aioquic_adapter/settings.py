"""Knobs, and the configuration of aioquic that they end in. Both roles have the same knobs."""

import os
from collections.abc import Callable, Mapping
from typing import Any

from aioquic.h3.connection import H3_ALPN
from aioquic.quic.configuration import QuicConfiguration
from longlook_adapter.errors import BadUsageError, UnsupportedError

from aioquic_adapter.trace import Traces

LARGEST_DATAGRAM_BYTES = 1472
"""What an Ethernet packet holds over IPv4; aioquic looks for no larger one, so the knob decides."""


def configuration(knobs: Mapping[str, Any], traces: Traces | None, *, is_client: bool) -> QuicConfiguration:
    """aioquic's defaults with the knobs applied, and with the logs that the environment asks for."""
    made = QuicConfiguration(is_client=is_client, alpn_protocols=[H3_ALPN[0]], quic_logger=traces)
    for name, value in knobs.items():
        if name not in _KNOBS:
            raise UnsupportedError(f"unknown knob {name!r}")
        attribute, parse = _KNOBS[name]
        try:
            setattr(made, attribute, parse(value))
        except ValueError as error:
            raise BadUsageError(f"knob {name}={value}: {error}") from error
    if keys := os.environ.get("SSLKEYLOGFILE"):
        made.secrets_log_file = open(keys, "a")  # noqa: PTH123, SIM115  # until the process ends
    return made


def _whole(lowest: int, highest: int) -> Callable[[Any], int]:
    def parse(value: Any) -> int:
        number = int(str(value))
        if not lowest <= number <= highest:
            raise ValueError(f"not between {lowest} and {highest}")
        return number

    return parse


def _seconds(value: Any) -> float:
    number = float(str(value))
    if not 0.001 <= number <= 10:
        raise ValueError("not between 0.001 and 10")
    return number


def _algorithm(value: Any) -> str:
    if value not in ("reno", "cubic"):
        raise ValueError("neither reno nor cubic")
    return str(value)


_WINDOW = _whole(1, 2**62 - 1)
_KNOBS: Mapping[str, tuple[str, Callable[[Any], Any]]] = {
    "congestion_control": ("congestion_control_algorithm", _algorithm),
    "initial_stream_window": ("max_stream_data", _WINDOW),
    "initial_connection_window": ("max_data", _WINDOW),
    "max_udp_payload": ("max_datagram_size", _whole(1200, LARGEST_DATAGRAM_BYTES)),
    "initial_rtt": ("initial_rtt", _seconds),
}
