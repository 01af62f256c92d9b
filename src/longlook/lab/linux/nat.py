"""Masquerading of packets that leave a network namespace for a world that does not know their sender, by nftables.

The table belongs to the socket that made it (NFT_TABLE_F_OWNER, Linux 5.12), so the kernel removes it when this process
ends, for whatever reason.
"""

import socket
from ipaddress import IPv4Address, IPv4Network
from typing import Any

from longlook.core import MachineError
from longlook.lab.linux.netlink import NetlinkError, open_nftables

_OWNED_BY_SOCKET = 2
_ACCEPT, _DROP = 1, 0
_BEFORE_ROUTING, _FORWARDING, _AFTER_ROUTING = 0, 2, 4
_OF_DESTINATION, _OF_FILTER, _OF_SOURCE = -100, 0, 100  # customary priorities of chains
_NETWORK_HEADER, _SOURCE_OFFSET, _DESTINATION_OFFSET = 1, 12, 16
_INCOMING_NAME, _OUTGOING_NAME = 6, 7  # of nft's `meta`
_EQUAL, _REGISTER, _VERDICT_REGISTER = 0, 1, 0
_DNAT, _IPV4 = 1, socket.AF_INET

Expression = dict[str, Any]


class Nat:
    """A table of the namespace that this thread is in; it is removed by `close`, or with this process."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._nft = open_nftables(_IPV4)
        try:
            self._nft.table("add", kwarg={"name": name, "flags": _OWNED_BY_SOCKET})
        except NetlinkError as error:
            self._nft.close()
            raise _unavailable(error) from error

    def masquerade(self, subnet: IPv4Network) -> None:
        """Let packets from a subnet leave with this namespace's own address, unless they stay in the subnet."""
        self._chain("beyond", "nat", _AFTER_ROUTING, _OF_SOURCE)
        self._rule("beyond", [*_address(_SOURCE_OFFSET, subnet), _expression("masq", {})])

    def forward_only(self, prefix: str) -> None:
        """Forward only packets from or to a device whose name begins with `prefix`.

        A namespace that did not forward before must not become a router for its neighbours.
        """
        self._chain("only-links", "filter", _FORWARDING, _OF_FILTER)
        for side in (_INCOMING_NAME, _OUTGOING_NAME):
            self._rule("only-links", [*_device(side, prefix), _verdict(_ACCEPT)])
        self._rule("only-links", [_verdict(_DROP)])

    def redirect(self, address: IPv4Address, to: IPv4Address) -> None:
        """Redirect packets for one address to another."""
        self._chain("outside", "nat", _BEFORE_ROUTING, _OF_DESTINATION)
        target = _load(to.packed)
        nat = {"type": _DNAT, "family": _IPV4, "reg_addr_min": _REGISTER}
        self._rule(
            "outside",
            [*_address(_DESTINATION_OFFSET, IPv4Network(address)), target, _expression("nat", nat)],
        )

    def close(self) -> None:
        """Remove the table."""
        self._nft.close()

    def _chain(self, name: str, kind: str, hook: int, priority: int) -> None:
        names = {_BEFORE_ROUTING: "prerouting", _FORWARDING: "forward", _AFTER_ROUTING: "postrouting"}
        try:
            self._nft.chain("add", table=self._name, name=name, hook=names[hook], type=kind, priority=priority)
        except NetlinkError as error:
            raise _unavailable(error) from error

    def _rule(self, chain: str, expressions: list[Expression]) -> None:
        try:
            self._nft.rule("add", table=self._name, chain=chain, expressions=[expressions])
        except NetlinkError as error:
            raise _unavailable(error) from error


def _unavailable(error: NetlinkError) -> MachineError:
    return MachineError(
        f"the kernel refuses address translation by nftables: {error}",
        "it needs Linux 5.12 and: modprobe nft_masq nft_chain_nat (`longlook link --isolated` does without)",
    )


def _expression(name: str, fields: dict[str, Any]) -> Expression:
    data = [(f"NFTA_{name.upper()}_{field.upper()}", value) for field, value in fields.items()]
    return {"attrs": [("NFTA_EXPR_NAME", name), ("NFTA_EXPR_DATA", {"attrs": data})]}


def _value(packed: bytes) -> dict[str, Any]:
    return {"attrs": [("NFTA_DATA_VALUE", packed)]}


def _load(packed: bytes) -> Expression:
    return _expression("immediate", {"dreg": _REGISTER, "data": _value(packed)})


def _compare(packed: bytes) -> Expression:
    return _expression("cmp", {"sreg": _REGISTER, "op": _EQUAL, "data": _value(packed)})


def _address(offset: int, network: IPv4Network) -> list[Expression]:
    """Return expressions that match an address of the IP header with a network."""
    header = {"dreg": _REGISTER, "base": _NETWORK_HEADER, "offset": offset, "len": 4}
    mask = {"sreg": _REGISTER, "dreg": _REGISTER, "len": 4}
    mask_of = _expression("bitwise", {**mask, "mask": _value(network.netmask.packed), "xor": _value(bytes(4))})
    return [_expression("payload", header), mask_of, _compare(network.network_address.packed)]


def _device(side: int, prefix: str) -> list[Expression]:
    return [_expression("meta", {"dreg": _REGISTER, "key": side}), _compare(prefix.encode())]


def _verdict(code: int) -> Expression:
    verdict = {"attrs": [("NFTA_DATA_VERDICT", {"attrs": [("NFTA_VERDICT_CODE", code)]})]}
    return _expression("immediate", {"dreg": _VERDICT_REGISTER, "data": verdict})
