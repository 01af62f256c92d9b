"""What differs between the versions of aioquic, and what no version lets its callers set.

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
    """Set what a newer version's configuration has; UnsupportedError where this one has it not."""
    if not hasattr(configuration, attribute):
        raise UnsupportedError(f"knob {knob!r}: aioquic has it since 0.9.25")
    setattr(configuration, attribute, value)


def set_initial_window(packets: int) -> None:
    """The congestion window at the start. Older versions count it in bytes, of packets of a fixed size."""
    if base is None:
        _set(recovery, "K_INITIAL_WINDOW", packets * recovery.K_MAX_DATAGRAM_SIZE)
        return
    for module in (base, cubic):  # each has a name of its own for it
        _set(module, "K_INITIAL_WINDOW", packets)


def set_packet_threshold(packets: int) -> None:
    """Packets acknowledged beyond a missing one until it counts as lost."""
    _set(recovery, "K_PACKET_THRESHOLD", packets)


def set_time_threshold(ratio: float) -> None:
    """Age, as a multiple of the round-trip time, at which a packet counts as lost."""
    _set(recovery, "K_TIME_THRESHOLD", ratio)


def set_pacing(wanted: bool) -> None:
    """Without pacing no packet has to wait for its time."""
    if not wanted:
        _set(recovery.QuicPacketPacer, "next_send_time", lambda _pacer, now: None)


def allow_streams(quic: QuicConnection, count: int) -> None:
    """How many requests the peer may make at first; to be called before the first datagram arrives."""
    limit = quic._local_max_streams_bidi
    limit.value = limit.sent = count


def close(protocol: QuicConnectionProtocol, error_code: int) -> None:
    """Close a connection: what the protocol's own `close` does, which takes no error code before 1.2.0."""
    protocol._quic.close(error_code=error_code)
    protocol.transmit()


def peer_address(quic: QuicConnection) -> Any:
    """Where datagrams of a connection go."""
    return quic._network_paths[0].addr


def _set(where: ModuleType | type, name: str, value: Any) -> None:
    if not hasattr(where, name):
        raise UnsupportedError(f"this aioquic has no {name} in {where.__name__}")
    setattr(where, name, value)
