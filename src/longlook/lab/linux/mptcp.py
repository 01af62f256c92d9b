"""Multipath TCP of the kernel (RFC 8684): its endpoints, and proof that connections use it.

Generic netlink is written out here, as pyroute2's own sockets cost a guest the import of an event loop.
"""

import os
import socket
import struct
from pathlib import Path

from longlook.core import MachineError
from longlook.lab.linux.namespace import Namespace

_NETLINK_GENERIC = 16
_CONTROL, _GET_FAMILY, _FAMILY_ID, _FAMILY_NAME = 16, 3, 1, 2  # GENL_ID_CTRL, CTRL_CMD_…, CTRL_ATTR_…
_ADD_ADDRESS = 1  # MPTCP_PM_CMD_ADD_ADDR
_ENDPOINT, _NESTED = 1, 0x8000  # MPTCP_PM_ATTR_ADDR
_FAMILY, _ID, _ADDRESS4, _FLAGS = 1, 2, 3, 6  # MPTCP_PM_ADDR_ATTR_…
_SUBFLOW, _BACKUP = 2, 4  # MPTCP_PM_ADDR_FLAG_…
_REQUEST, _ACK, _ERROR = 0x1, 0x4, 2
_HEADER, _GENERIC = struct.Struct("=IHHII"), struct.Struct("=BBH")
_ANSWER_BYTES = 1 << 16

COUNTERS = ("MPCapableSYNRX", "MPCapableACKRX", "MPJoinAckRx", "MPCapableFallbackACK", "MPFallbackTokenInit")


def add_subflow_endpoint(namespace: Namespace, address: str, *, backup: bool) -> None:
    """Let the kernel open a further subflow of each connection of this namespace from an address.

    `backup`: data goes over it only if no other subflow is left. Raise MachineError if the kernel refuses.
    """
    flags = _SUBFLOW | (_BACKUP if backup else 0)
    endpoint = b"".join(
        (
            _attribute(_FAMILY, struct.pack("=H", socket.AF_INET)),
            _attribute(_ID, struct.pack("=B", 1)),
            _attribute(_ADDRESS4, socket.inet_aton(address)),
            _attribute(_FLAGS, struct.pack("=I", flags)),
        )
    )
    with namespace.inside():
        kernel = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, _NETLINK_GENERIC)
    with kernel:
        family = _ask(kernel, _CONTROL, _GET_FAMILY, _attribute(_FAMILY_NAME, b"mptcp_pm\0"), _REQUEST)
        _ask(kernel, family, _ADD_ADDRESS, _attribute(_ENDPOINT | _NESTED, endpoint), _REQUEST | _ACK)


def counted(namespace: Namespace) -> dict[str, int]:
    """Return the kernel's counters of a namespace since it was made; {} if the kernel has no Multipath TCP."""
    with namespace.inside():
        lines = [line.split() for line in Path("/proc/thread-self/net/netstat").read_text().splitlines()]
    named = [line[1:] for line in lines if line and line[0] == "MPTcpExt:"]
    if len(named) != 2:
        return {}
    return {name: int(value) for name, value in zip(*named, strict=True) if name in COUNTERS}


def _attribute(kind: int, value: bytes) -> bytes:
    return struct.pack("=HH", 4 + len(value), kind) + value + bytes(-len(value) % 4)


def _ask(kernel: socket.socket, family: int, command: int, attributes: bytes, flags: int) -> int:
    """Send a request; return the family's number from an answer that names one, else 0."""
    body = _GENERIC.pack(command, 1, 0) + attributes
    kernel.send(_HEADER.pack(_HEADER.size + len(body), family, flags, 1, 0) + body)
    answer = kernel.recv(_ANSWER_BYTES)
    _, kind, *_ = _HEADER.unpack_from(answer)
    if kind == _ERROR:
        (error,) = struct.unpack_from("=i", answer, _HEADER.size)
        if error:
            raise MachineError(
                f"the kernel refuses an endpoint of Multipath TCP: {os.strerror(-error)}",
                "use --engine virtual, whose kernel has it, or leave tcp_multipath out",
            )
        return 0
    at = _HEADER.size + _GENERIC.size
    while at + 4 <= len(answer):
        length, name = struct.unpack_from("=HH", answer, at)
        if name == _FAMILY_ID:
            return int(struct.unpack_from("=H", answer, at + 4)[0])
        at += (max(length, 4) + 3) & ~3
    return 0
