"""Properties of another program's TCP socket, from the kernel (sock_diag(7))."""

import ipaddress
import socket
import struct

_NETLINK_SOCK_DIAG, _SOCK_DIAG_BY_FAMILY, _REQUEST = 4, 20, 1
_INET_DIAG_CONG, _LISTEN = 4, 10
_HEADER = struct.Struct("=IHHII")
_WHICH = struct.Struct("=BBBxI")
_ADDRESSES = struct.Struct("!HH16s16s")
_ANY_DEVICE_ANY_COOKIE = struct.pack("=III", 0, 0xFFFFFFFF, 0xFFFFFFFF)
_MESSAGE_BYTES = 72  # inet_diag_msg; its second byte is the socket's state


def congestion_control(local: tuple[str, int], remote: tuple[str, int]) -> str | None:
    """Return the congestion control of the connection between two addresses of this network namespace.

    None where the connection is closed, or the kernel does not allow the question.
    """
    ends = [ipaddress.ip_address(address).packed for address, _ in (local, remote)]
    family = socket.AF_INET if len(ends[0]) == 4 else socket.AF_INET6
    body = _WHICH.pack(family, socket.IPPROTO_TCP, 1 << (_INET_DIAG_CONG - 1), 0xFFFFFFFF)
    body += _ADDRESSES.pack(local[1], remote[1], *(end.ljust(16, b"\0") for end in ends)) + _ANY_DEVICE_ANY_COOKIE
    try:
        with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, _NETLINK_SOCK_DIAG) as kernel:
            kernel.send(_HEADER.pack(_HEADER.size + len(body), _SOCK_DIAG_BY_FAMILY, _REQUEST, 1, 0) + body)
            return _congestion_control(kernel.recv(1 << 14))
    except OSError:
        return None


def _congestion_control(answer: bytes) -> str | None:
    length, kind, *_ = _HEADER.unpack_from(answer)
    message = answer[_HEADER.size : length]
    if kind != _SOCK_DIAG_BY_FAMILY or message[1] == _LISTEN:  # of a closed connection: it is the listener
        return None
    attributes = message[_MESSAGE_BYTES:]
    while len(attributes) >= 4:
        size, name = struct.unpack_from("=HH", attributes)
        if name == _INET_DIAG_CONG:
            return attributes[4:size].rstrip(b"\0").decode()
        attributes = attributes[(max(size, 4) + 3) & ~3 :]
    return None
