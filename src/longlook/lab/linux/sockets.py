"""Asks the kernel which congestion control its TCP sockets really use (sock_diag(7)).

The protocol is written out here rather than used through pyroute2, because the transfer is being measured meanwhile:
one request costs tens of microseconds here and milliseconds there.
"""

import socket
import struct
from collections.abc import Iterator
from contextlib import suppress

from longlook.lab.linux.namespace import Namespace

_NETLINK_SOCK_DIAG = 4
_SOCK_DIAG_BY_FAMILY = 20
_REQUEST_DUMP = 0x1 | 0x300
_DONE, _ERROR = 3, 2
_INET_DIAG_CONG = 4
_CONNECTED = 1 << 1 | 1 << 4 | 1 << 5 | 1 << 8 | 1 << 9 | 1 << 11  # established and every stage of closing
_HEADER = struct.Struct("=IHHII")
_REQUEST = struct.Struct("=BBBxI48x")
_MESSAGE_BYTES = 72  # inet_diag_msg
_LOCAL = 8  # where the local address begins in it
_LOOPBACK = "127.", "::1"


class SocketProbe:
    """A socket to the kernel for questions about one namespace."""

    def __init__(self, namespace: Namespace) -> None:
        with namespace.inside():
            self._socket = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, _NETLINK_SOCK_DIAG)
        self._socket.settimeout(1.0)
        self._family = socket.AF_INET6 if namespace.has_ipv6 else socket.AF_INET

    def congestion_controls(self) -> dict[str, set[str]]:
        """Return the congestion controls of the TCP connections that exist now, by their address in this namespace.

        Loopback is left out; connections that are over cannot be seen.
        """
        body = _REQUEST.pack(self._family, socket.IPPROTO_TCP, 1 << (_INET_DIAG_CONG - 1), _CONNECTED)
        self._socket.send(_HEADER.pack(_HEADER.size + len(body), _SOCK_DIAG_BY_FAMILY, _REQUEST_DUMP, 1, 0) + body)
        found: dict[str, set[str]] = {}
        with suppress(TimeoutError):
            while True:
                for kind, message in _messages(self._socket.recv(1 << 16)):
                    if kind in (_DONE, _ERROR):
                        return found
                    local = message[_LOCAL : _LOCAL + (16 if self._family == socket.AF_INET6 else 4)]
                    address = socket.inet_ntop(self._family, local)
                    if not address.startswith(_LOOPBACK):
                        found.setdefault(address, set()).update(_congestion_control(message))
        return found

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()


def _messages(data: bytes) -> Iterator[tuple[int, bytes]]:
    while len(data) >= _HEADER.size:
        length, kind, *_ = _HEADER.unpack_from(data)
        yield kind, data[_HEADER.size : length]
        data = data[_aligned(length) :]


def _congestion_control(message: bytes) -> Iterator[str]:
    attributes = message[_MESSAGE_BYTES:]
    while len(attributes) >= 4:
        length, kind = struct.unpack_from("=HH", attributes)
        if kind == _INET_DIAG_CONG:
            yield attributes[4:length].rstrip(b"\0").decode()
        attributes = attributes[_aligned(max(length, 4)) :]


def _aligned(length: int) -> int:
    return (length + 3) & ~3
