"""Knobs, and the configuration of aioquic that they end in."""

import os
from collections.abc import Callable, Mapping
from typing import Any

from aioquic.h3.connection import H3_ALPN
from aioquic.quic.configuration import QuicConfiguration
from longlook_adapter.knobs import one_of, parse_knobs, real, truth, whole

from aioquic_adapter import versions
from aioquic_adapter.trace import Traces

LARGEST_DATAGRAM_BYTES = 1472
"""UDP payload of an Ethernet packet over IPv4; aioquic does not look for a larger one, so the knob decides."""

STREAMS = "max_incoming_streams"
"""The knob that a server sets on each connection (`streams_allowed`); a client serves no requests."""

_LARGEST_WINDOW = 2**62 - 1
_ATTRIBUTES: Mapping[str, str] = {
    "congestion_control": "congestion_control_algorithm",
    "initial_stream_window": "max_stream_data",
    "initial_connection_window": "max_data",
    "max_udp_payload": "max_datagram_size",
    "initial_rtt": "initial_rtt",
}
_CONSTANTS: Mapping[str, Callable[[Any], None]] = {
    "initial_window": versions.set_initial_window,
    "packet_threshold": versions.set_packet_threshold,
    "time_threshold": versions.set_time_threshold,
    "pacing": versions.set_pacing,
}
_KNOBS: Mapping[str, Callable[[str], Any]] = {
    "congestion_control": one_of("reno", "cubic"),
    "initial_stream_window": whole(1, _LARGEST_WINDOW),
    "initial_connection_window": whole(1, _LARGEST_WINDOW),
    "max_udp_payload": whole(1200, LARGEST_DATAGRAM_BYTES),
    "initial_rtt": real(0.001, 10),
    "initial_window": whole(2, 1_000),
    "packet_threshold": whole(1, 1_000),
    "time_threshold": real(1, 10),
    "pacing": truth,
}
_SERVER_KNOBS: Mapping[str, Callable[[str], Any]] = {**_KNOBS, STREAMS: whole(1, 2**60)}


def configuration(knobs: Mapping[str, Any], traces: Traces | None, *, is_client: bool) -> QuicConfiguration:
    """Return aioquic's defaults with the knobs applied, and with the logs that the environment asks for.

    Knobs that aioquic has as constants hold for the whole process.
    """
    made = QuicConfiguration(is_client=is_client, alpn_protocols=[H3_ALPN[0]], quic_logger=traces)
    for name, value in parse_knobs(knobs, _KNOBS if is_client else _SERVER_KNOBS, "aioquic").items():
        if name in _ATTRIBUTES:
            versions.set_attribute(made, name, _ATTRIBUTES[name], value)
        elif name in _CONSTANTS:
            _CONSTANTS[name](value)
    if keys := os.environ.get("SSLKEYLOGFILE"):
        made.secrets_log_file = open(keys, "a")  # noqa: PTH123, SIM115  # until the process ends
    return made


def streams_allowed(knobs: Mapping[str, Any]) -> int | None:
    """Return how many requests a client may have open at once at first; None for aioquic's own 128."""
    found: int | None = parse_knobs(knobs, _SERVER_KNOBS, "aioquic").get(STREAMS)
    return found
