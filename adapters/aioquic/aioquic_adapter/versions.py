"""The differences between versions of aioquic, and settings for which no version has an interface.

Each version has the constants of RFC 9002 in its modules and reads them where it uses them. A process of this adapter
is one server or one job, so a constant is set for the process, before any connection is made.
"""

from types import ModuleType
from typing import Any

from aioquic.asyncio.protocol import QuicConnectionProtocol
from aioquic.quic import recovery
from aioquic.quic.connection import QuicConnection
from longlook_adapter.errors import UnsupportedError

try:
    from aioquic.quic.congestion import base, cubic
except ImportError:  # before 0.9.25: Reno alone, as part of `recovery`
    base = cubic = None


def set_attribute(configuration: Any, knob: str, attribute: str, value: Any) -> None:
    """Set an attribute of the configuration; UnsupportedError where this version does not have it."""
    if not hasattr(configuration, attribute):
        raise UnsupportedError(f"knob {knob!r}: aioquic has it since 0.9.25")
    setattr(configuration, attribute, value)


def set_initial_window(packets: int) -> None:
    """Set the initial congestion window. Older versions count it in bytes, in packets of a fixed size."""
    if base is None:
        _set(recovery, "K_INITIAL_WINDOW", packets * recovery.K_MAX_DATAGRAM_SIZE)
        return
    for module in (base, cubic):  # each has a name of its own for it
        _set(module, "K_INITIAL_WINDOW", packets)


def set_packet_threshold(packets: int) -> None:
    """Set how many packets are acknowledged beyond a missing one until it counts as lost."""
    _set(recovery, "K_PACKET_THRESHOLD", packets)


def set_time_threshold(ratio: float) -> None:
    """Set the age, as a multiple of the round-trip time, at which a packet counts as lost."""
    _set(recovery, "K_TIME_THRESHOLD", ratio)


def set_pacing(wanted: bool) -> None:
    """Switch pacing off where it is not wanted: then no packet waits for its time."""
    if not wanted:
        _set(recovery.QuicPacketPacer, "next_send_time", lambda _pacer, now: None)


def allow_streams(quic: QuicConnection, count: int) -> None:
    """Set how many requests the peer may make at first; call it before the first datagram arrives."""
    limit = quic._local_max_streams_bidi
    limit.value = limit.sent = count


def close(protocol: QuicConnectionProtocol, error_code: int) -> None:
    """Close a connection as the protocol's own `close` does, which takes no error code before 1.2.0."""
    protocol._quic.close(error_code=error_code)
    protocol.transmit()


def peer_address(quic: QuicConnection) -> Any:
    """Return the address that datagrams of a connection go to."""
    return quic._network_paths[0].addr


def _set(where: ModuleType | type, name: str, value: Any) -> None:
    if not hasattr(where, name):
        raise UnsupportedError(f"this aioquic has no {name} in {where.__name__}")
    setattr(where, name, value)
