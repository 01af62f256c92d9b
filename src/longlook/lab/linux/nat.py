"""Masquerading of packets that leave a network namespace for a world that does not know their sender, by nftables.

The table belongs to the socket that made it (NFT_TABLE_F_OWNER, Linux 5.12), so the kernel removes it when this process
ends, for whatever reason.
"""

import socket
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_network
from typing import Any

from longlook.core import MachineError
from longlook.lab.linux.netlink import NetlinkError, open_nftables

_OWNED_BY_SOCKET = 2
_ACCEPT, _DROP = 1, 0
_BEFORE_ROUTING, _FORWARDING, _AFTER_ROUTING = 0, 2, 4
_OF_DESTINATION, _OF_FILTER, _OF_SOURCE = -100, 0, 100  # customary priorities of chains
_NETWORK_HEADER, _SOURCE, _DESTINATION = 1, "source", "destination"
_OFFSETS = {4: {_SOURCE: 12, _DESTINATION: 16}, 6: {_SOURCE: 8, _DESTINATION: 24}}  # in the header of IP
_INCOMING_NAME, _OUTGOING_NAME = 6, 7  # of nft's `meta`
_EQUAL, _REGISTER, _VERDICT_REGISTER = 0, 1, 0
_DNAT = 1
_FAMILIES = {4: socket.AF_INET, 6: socket.AF_INET6}

Expression = dict[str, Any]
Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network


class Nat:
    """A table of the namespace that this thread is in, for one version of IP; it goes with `close` or this process."""

    def __init__(self, name: str, version: int = 4) -> None:
        self._name, self._family = name, _FAMILIES[version]
        self._nft = open_nftables(self._family)
        try:
            self._nft.table("add", kwarg={"name": name, "flags": _OWNED_BY_SOCKET})
        except NetlinkError as error:
            self._nft.close()
            raise _unavailable(error) from error

    def masquerade(self, subnet: Network) -> None:
        """Let packets from a subnet leave with this namespace's own address, unless they stay in the subnet."""
        self._chain("beyond", "nat", _AFTER_ROUTING, _OF_SOURCE)
        self._rule("beyond", [*_address(_SOURCE, subnet), _expression("masq", {})])

    def forward_only(self, prefix: str) -> None:
        """Forward only packets from or to a device whose name begins with `prefix`.

        A namespace that did not forward before must not become a router for its neighbours.
        """
        self._chain("only-links", "filter", _FORWARDING, _OF_FILTER)
        for side in (_INCOMING_NAME, _OUTGOING_NAME):
            self._rule("only-links", [*_device(side, prefix), _verdict(_ACCEPT)])
        self._rule("only-links", [_verdict(_DROP)])

    def redirect(self, address: Address, to: Address) -> None:
        """Redirect packets for one address to another."""
        self._chain("outside", "nat", _BEFORE_ROUTING, _OF_DESTINATION)
        target = _load(to.packed)
        nat = {"type": _DNAT, "family": self._family, "reg_addr_min": _REGISTER}
        self._rule(
            "outside",
            [*_address(_DESTINATION, ip_network(address)), target, _expression("nat", nat)],
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


def _address(which: str, network: Network) -> list[Expression]:
    """Return expressions that match an address of the IP header with a network."""
    size = network.max_prefixlen // 8
    header = {"dreg": _REGISTER, "base": _NETWORK_HEADER, "offset": _OFFSETS[network.version][which], "len": size}
    mask = {"sreg": _REGISTER, "dreg": _REGISTER, "len": size}
    mask_of = _expression("bitwise", {**mask, "mask": _value(network.netmask.packed), "xor": _value(bytes(size))})
    return [_expression("payload", header), mask_of, _compare(network.network_address.packed)]


def _device(side: int, prefix: str) -> list[Expression]:
    return [_expression("meta", {"dreg": _REGISTER, "key": side}), _compare(prefix.encode())]


def _verdict(code: int) -> Expression:
    verdict = {"attrs": [("NFTA_DATA_VERDICT", {"attrs": [("NFTA_VERDICT_CODE", code)]})]}
    return _expression("immediate", {"dreg": _VERDICT_REGISTER, "data": verdict})
