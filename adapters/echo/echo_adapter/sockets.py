"""Sockets whose datagrams may be fragmented, or may not."""

import errno
import socket
from collections.abc import Mapping
from typing import Any

from longlook_adapter.addresses import family_of
from longlook_adapter.errors import UnsupportedError
from longlook_adapter.knobs import one_of, parse_knobs

from echo_adapter import NAME, QUIC

SET, UNSET, KERNEL = "set", "unset", "kernel"

# From linux/in.h and linux/in6.h; Python 3.11 has no names for them.
_IP_MTU_DISCOVER, _IPV6_MTU_DISCOVER = 10, 23
_DISCOVERY = {
    SET: 3,  # PROBE: never fragmented, and the kernel's idea of the path MTU is not asked
    UNSET: 0,  # DONT: fragmented here where it is too large, and anywhere on the way
    KERNEL: 1,  # WANT: not to be fragmented on the way, but here where it is larger than the path MTU that is known
}


def dont_fragment_of(knobs: Mapping[str, Any], protocol: str) -> str:
    """Return the knob `dont_fragment`; over QUIC it is always set (RFC 9000, 14) and no knob."""
    if protocol == QUIC and "dont_fragment" in knobs:
        raise UnsupportedError("knob 'dont_fragment': packets of QUIC are never fragmented (RFC 9000, 14)")
    found: str = parse_knobs(knobs, {"dont_fragment": one_of(SET, UNSET, KERNEL)}, NAME).get("dont_fragment", SET)
    return found


def make_socket(address: str, dont_fragment: str) -> socket.socket:
    """Return a UDP socket of the address's family, not yet bound."""
    family = family_of(address)
    made = socket.socket(family, socket.SOCK_DGRAM)
    if family == socket.AF_INET6:
        made.setsockopt(socket.IPPROTO_IPV6, _IPV6_MTU_DISCOVER, _DISCOVERY[dont_fragment])
    else:
        made.setsockopt(socket.IPPROTO_IP, _IP_MTU_DISCOVER, _DISCOVERY[dont_fragment])
    return made


def too_large(error: OSError) -> bool:
    """Return whether the kernel refused a datagram because it does not fit the interface in one piece."""
    return error.errno == errno.EMSGSIZE
