"""Changes of a network namespace's devices, addresses, routes and neighbours.

The messages are pyroute2's. They are sent here, one after another, because pyroute2's own sockets belong to an event
loop. The import of that loop, with all message types that it may receive, takes a quarter of the CPU time of a small
trial in a guest. `Namespace.netlink` is for everything that is not here.
"""

import os
import socket
import struct
from collections.abc import Mapping
from typing import Any

from longlook.lab.linux.netlink import NetlinkError, fibmsg, ifaddrmsg, ifinfmsg, ndmsg, rtmsg

_NEW_LINK, _NEW_ADDRESS, _NEW_ROUTE, _NEW_NEIGHBOUR, _NEW_RULE = 16, 20, 24, 28, 32  # RTM_NEW…
_TO_TABLE = 1  # FR_ACT_TO_TBL
_REQUEST, _ACK, _REPLACE, _EXCLUSIVE, _CREATE = 0x1, 0x4, 0x100, 0x200, 0x400  # NLM_F_…
_ERROR = 2  # NLMSG_ERROR, which is the acknowledgement, too
_IFF_UP, _IFF_NOARP, _IFF_MULTICAST = 0x1, 0x80, 0x1000
_NUD_PERMANENT, _SCOPE_LINK, MAIN_TABLE, _PROTOCOL_STATIC, _UNICAST = 0x80, 253, 254, 4, 1
_NO_DUPLICATES = 0x02  # IFA_F_NODAD: an address of IPv6 counts at once, as one of IPv4
_ANSWER_BYTES = 1 << 16
_HEADER = struct.Struct("=IHHIIi")  # of an answer: length, type, flags, sequence number, port, error number


class RouteSocket:
    """A socket to the routing tables of the network namespace in which it is made. Close it.

    Each call returns when the kernel has done it, and raises NetlinkError with the kernel's error number if it refuses.
    Devices are named by their index; an address is of IPv6 if it has a colon.
    """

    def __init__(self) -> None:
        self._socket = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, socket.NETLINK_ROUTE)
        self._sequence = 0

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()

    def set_up(self, device: int) -> None:
        """Switch a device on."""
        self._change(ifinfmsg, _NEW_LINK, 0, {"index": device, "flags": _IFF_UP, "change": _IFF_UP})

    def set_up_silent(self, device: int) -> None:
        """Switch a device on whose neighbours are all known, and which joins no groups.

        So the kernel neither looks for neighbours of IPv6 on it nor reports groups (MLD), which both would be packets.
        """
        flags = _IFF_UP | _IFF_NOARP
        self._change(ifinfmsg, _NEW_LINK, 0, {"index": device, "flags": flags, "change": flags | _IFF_MULTICAST})

    def set_sizes(self, device: int, mtu_bytes: int, queue_packets: int) -> None:
        """Set a device's largest packet and how many may wait in it."""
        sizes = {"IFLA_MTU": mtu_bytes, "IFLA_TXQLEN": queue_packets}
        self._change(ifinfmsg, _NEW_LINK, 0, {"index": device}, sizes)

    def add_veth(self, near: Mapping[str, Any], far: Mapping[str, Any]) -> None:
        """Make a pair of virtual devices with these attributes (IFLA_…); the far one's name its namespace."""
        peer = {"attrs": list(far.items())}
        kind = {"attrs": [("IFLA_INFO_KIND", "veth"), ("IFLA_INFO_DATA", {"attrs": [("VETH_INFO_PEER", peer)]})]}
        self._change(ifinfmsg, _NEW_LINK, _CREATE | _EXCLUSIVE, {}, {**near, "IFLA_LINKINFO": kind})

    def add_address(self, device: int, address: str, prefix_bits: int | None = None, flags: int = 0) -> None:
        """Give a device an address, alone in its subnet unless `prefix_bits` are given; `flags` are IFA_F_…."""
        family, bits = _family(address)
        attributes: dict[str, Any] = {
            "IFA_LOCAL": address,
            "IFA_ADDRESS": address,
            "IFA_FLAGS": flags | (0 if bits == 32 else _NO_DUPLICATES),
        }
        fields = {"family": family, "index": device, "prefixlen": bits if prefix_bits is None else prefix_bits}
        self._change(ifaddrmsg, _NEW_ADDRESS, _CREATE | _EXCLUSIVE, fields, attributes)

    def add_rule(self, source: str, table: int) -> None:
        """Let a table of routes decide where packets from an address go, before the main one does."""
        family, bits = _family(source)
        fields = {"family": family, "src_len": bits, "table": table, "action": _TO_TABLE}
        self._change(fibmsg, _NEW_RULE, _CREATE | _EXCLUSIVE, fields, {"FRA_SRC": source})

    def replace_route(
        self, to: str, device: int, source: str, metrics: Mapping[str, Any], table: int = MAIN_TABLE
    ) -> None:
        """Lead packets to a subnet (`198.18.0.0/16`) to the neighbours of a device, in place of a former route there.

        The route is of the main table, or of one below 256 that `add_rule` names. `metrics` are named as in
        ip-route(8), such as `initcwnd`; `lock` has the bits of the locked ones.
        """
        network, _, bits = to.partition("/")
        attributes: dict[str, Any] = {"RTA_DST": network, "RTA_OIF": device, "RTA_PREFSRC": source}
        if metrics:
            attributes["RTA_METRICS"] = {"attrs": [(f"RTAX_{name.upper()}", value) for name, value in metrics.items()]}
        fields = {
            "family": _family(network)[0],
            "dst_len": int(bits),
            "table": table,
            "proto": _PROTOCOL_STATIC,
            "scope": _SCOPE_LINK,
            "type": _UNICAST,
        }
        self._change(rtmsg, _NEW_ROUTE, _CREATE | _REPLACE, fields, attributes)

    def replace_neighbour(self, device: int, address: str, mac: str) -> None:
        """Say once and for all which hardware address an address has."""
        fields = {"family": _family(address)[0], "ifindex": device, "state": _NUD_PERMANENT}
        self._change(ndmsg, _NEW_NEIGHBOUR, _CREATE | _REPLACE, fields, {"NDA_DST": address, "NDA_LLADDR": mac})

    def _change(
        self,
        message_type: Any,
        kind: int,
        flags: int,
        fields: Mapping[str, Any],
        attributes: Mapping[str, Any] | None = None,
    ) -> None:
        self._sequence += 1
        message = message_type()
        message["header"]["type"] = kind
        message["header"]["flags"] = _REQUEST | _ACK | flags
        message["header"]["sequence_number"] = self._sequence
        for name, value in fields.items():
            message[name] = value
        message["attrs"] = list((attributes or {}).items())
        message.encode()
        self._socket.send(message.data)
        _, answer, _, sequence, _, error = _HEADER.unpack_from(self._socket.recv(_ANSWER_BYTES))
        if (answer, sequence) != (_ERROR, self._sequence):
            raise RuntimeError(f"netlink answered with message {answer} to request {sequence}, not to {self._sequence}")
        if error:
            raise NetlinkError(-error, os.strerror(-error))  # type: ignore[no-untyped-call]


def _family(address: str) -> tuple[int, int]:
    """Return the family of an address, and how many bits it has."""
    return (socket.AF_INET6, 128) if ":" in address else (socket.AF_INET, 32)
