"""UDP sockets."""

import socket
from collections.abc import Iterator
from typing import Any

from longlook_adapter.addresses import family_of

_AT_ONCE = 64  # packets taken before anything is sent
_MTU_DISCOVER, _V6_MTU_DISCOVER, _PROBE = 10, 23, 3
_LARGEST_BYTES = 65535


def udp_socket(host: str, port: int) -> socket.socket:
    """Return a bound socket whose packets are never fragmented: ngtcp2 finds out how large they may be."""
    family = family_of(host)
    made = socket.socket(family, socket.SOCK_DGRAM)
    made.setblocking(False)
    v4, v6 = (socket.IPPROTO_IP, _MTU_DISCOVER), (socket.IPPROTO_IPV6, _V6_MTU_DISCOVER)
    made.setsockopt(*(v6 if family == socket.AF_INET6 else v4), _PROBE)
    made.bind((host, port))
    return made


def drain(sock: socket.socket) -> Iterator[tuple[bytes, tuple[Any, ...]]]:
    """Yield packets that have arrived, and who sent them."""
    for _ in range(_AT_ONCE):
        try:
            yield sock.recvfrom(_LARGEST_BYTES)
        except BlockingIOError:
            return
