"""UDP sockets."""

import ipaddress
import socket
from collections.abc import Iterator
from typing import Any

_AT_ONCE = 64  # packets taken before anything is sent
_MTU_DISCOVER, _V6_MTU_DISCOVER, _PROBE = 10, 23, 3
_LARGEST_BYTES = 65535


def udp_socket(host: str, port: int) -> socket.socket:
    """A socket whose packets are never cut up: ngtcp2 finds out how large they may be."""
    v6 = ipaddress.ip_address(host).version == 6
    made = socket.socket(socket.AF_INET6 if v6 else socket.AF_INET, socket.SOCK_DGRAM)
    made.setblocking(False)
    option = (socket.IPPROTO_IPV6, _V6_MTU_DISCOVER) if v6 else (socket.IPPROTO_IP, _MTU_DISCOVER)
    made.setsockopt(*option, _PROBE)
    made.bind((host, port))
    return made


def socket_towards(address: tuple[str, int]) -> socket.socket:
    """A socket on the address that the kernel would send from."""
    v6 = ipaddress.ip_address(address[0]).version == 6
    with socket.socket(socket.AF_INET6 if v6 else socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect(address)  # sends nothing
        host = probe.getsockname()[0]
    return udp_socket(host, 0)


def drain(sock: socket.socket) -> Iterator[tuple[bytes, tuple[Any, ...]]]:
    """Packets that are there, and who sent them."""
    for _ in range(_AT_ONCE):
        try:
            yield sock.recvfrom(_LARGEST_BYTES)
        except BlockingIOError:
            return
