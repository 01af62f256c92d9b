"""A subnet for the ends of a link that no route of this network namespace, and no link around it, uses already."""

import os
from collections.abc import Iterable, Sequence
from ipaddress import IPv4Address, IPv4Network
from typing import Any

from longlook.core import MachineError
from longlook.lab import Namespace

TAKEN_BY_OUTER_LINKS = "LONGLOOK_LINK_TAKEN"
"""Environment variable: the subnets of the links that a command is behind, so that all of their ends stay reachable."""

_PREFIX = 30  # the two ends, and the two addresses that a subnet reserves
_SIZE = 1 << (32 - _PREFIX)
_POOLS = (
    IPv4Network("100.64.0.0/10"),  # shared address space (RFC 6598): no host of the Internet, no home or office network
    IPv4Network("198.18.0.0/15"),  # for benchmarks of networks (RFC 2544), where the first is taken whole
)


def choose_subnet(namespace: Namespace) -> IPv4Network:
    """Return a free subnet of two ends in a namespace as it is now; raise MachineError if none is free."""
    return free_subnet([*_routed(namespace), *outer_subnets()])


def outer_subnets() -> list[IPv4Network]:
    """Return the subnets of the links around this process."""
    return [IPv4Network(text) for text in os.environ.get(TAKEN_BY_OUTER_LINKS, "").split(",") if text]


def free_subnet(taken: Iterable[IPv4Network], pools: Sequence[IPv4Network] = _POOLS) -> IPv4Network:
    """Return the first subnet of the pools that overlaps none of the taken ones."""
    used = list(taken)
    for pool in pools:
        first = int(pool.network_address)
        while first <= int(pool.broadcast_address):
            candidate = IPv4Network((first, _PREFIX))
            in_the_way = [network for network in used if network.overlaps(candidate)]
            if not in_the_way:
                return candidate
            after = max(int(network.broadcast_address) for network in in_the_way) + 1
            first = max(first + _SIZE, -(-after // _SIZE) * _SIZE)
    raise MachineError(
        f"every address of {' and '.join(map(str, pools))} is routed here already",
        "use --isolated, or another network namespace",
    )


def ends_of(subnet: IPv4Network) -> tuple[IPv4Address, IPv4Address]:
    """Return the address of the outer end and the address of the client."""
    outer, client = subnet.hosts()
    return outer, client


def _routed(namespace: Namespace) -> list[IPv4Network]:
    """Return the destinations of all routes of all tables, except default routes, which lead everywhere."""
    netlink: Any = namespace.netlink
    networks = []
    for route in netlink.get_routes(family=2):
        destination = route.get_attr("RTA_DST")
        if destination is not None and route["dst_len"]:
            networks.append(IPv4Network((destination, route["dst_len"]), strict=False))
    return networks
