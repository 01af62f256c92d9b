"""A second path between the ends: another device at each, joined by a link of its own.

    client [c0] ══ [rc] longlook-link [rs] ══ [s0] server
           [c1] ══ [rc] longlook-link [rs] ══ [s1]

The client has a second address there; the server has one address, at which both paths end, as a server has whose
clients have a phone's two networks. What the client sends from its second address goes over the second path, and so
does what the server sends to that address.

A server that asks its clients to come to another address has a second one, too, which only the second path leads to:
what is sent to it goes over that path, and so does what the server sends from it.
"""

import os
from collections.abc import Mapping
from dataclasses import replace

from longlook.core.flows import has_second_address, offers_preferred_address
from longlook.core.model import Scalar, Trial
from longlook.lab.linux import tcp
from longlook.lab.linux.namespace import Namespace
from longlook.lab.topology import (
    CLIENT,
    CLIENT_ADDRESS,
    SECOND_CLIENT_ADDRESS,
    SECOND_SERVER_ADDRESS,
    SERVER,
    SERVER_ADDRESS,
    EndpointNamespace,
)

_TABLE = 2
"""An end's routes for packets from its second address."""
_CLIENT_MAC, _SERVER_MAC = "02:00:00:00:00:03", "02:00:00:00:00:04"

_CLIENT = replace(
    CLIENT, device="c1", address=SECOND_CLIENT_ADDRESS, mac=_CLIENT_MAC, peer_mac=_SERVER_MAC,
    subnet=f"{SERVER_ADDRESS}/32",
)  # fmt: skip
_SERVER = replace(
    SERVER, device="s1", mac=_SERVER_MAC, peer_address=SECOND_CLIENT_ADDRESS, peer_mac=_CLIENT_MAC,
    subnet=f"{SECOND_CLIENT_ADDRESS}/32",
)  # fmt: skip


class _ServerSide(EndpointNamespace):
    """A side in the namespace of an end, which stays open when the side is closed."""

    def close(self) -> None:
        """Close the device."""
        if self.tun is not None:
            os.close(self.tun)


class _ClientSide(_ServerSide):
    def set_tcp(self, algorithm: str | None, settings: Mapping[str, Scalar]) -> None:
        """Make TCP use `algorithm` from the second address, as `EndpointNamespace.set_tcp` does from the first."""
        tcp.apply(self.namespace, self.end.device, settings)
        self._route(self.end.subnet, self.end.address, algorithm, tcp.route_metrics(settings), _TABLE)


class SecondPath:
    """Both ends of the second path, in the namespaces of `client` and `server`. Close it before the router's."""

    def __init__(self, router: Namespace, path: str, client: EndpointNamespace, server: EndpointNamespace) -> None:
        self.router = router
        self.client = _ClientSide(_CLIENT, router, path, client.namespace)
        self.server = _ServerSide(_SERVER, router, path, server.namespace)
        client.namespace.routes.add_rule(SECOND_CLIENT_ADDRESS, _TABLE)

    def add_server_address(self) -> None:
        """Give the server a second address, at the end of this path; the client reaches it from its first one."""
        self.server.add_second_address(SECOND_SERVER_ADDRESS)
        self.server.namespace.routes.add_rule(SECOND_SERVER_ADDRESS, _TABLE)
        self.server.lead(CLIENT_ADDRESS, SECOND_SERVER_ADDRESS, _TABLE)
        self.client.lead(SECOND_SERVER_ADDRESS, CLIENT_ADDRESS)

    @property
    def sides(self) -> tuple[EndpointNamespace, EndpointNamespace]:
        """Return its sides, the client's first."""
        return self.client, self.server

    def close(self) -> None:
        """Close the devices."""
        for side in self.sides:
            side.close()


def add_second_addresses(
    trial: Trial, client: EndpointNamespace, server: EndpointNamespace, second: SecondPath | None
) -> None:
    """Give the ends of a trial with one flow the second addresses that their knobs ask for, over one link or two."""
    if has_second_address(trial) and second is None:
        client.add_second_address(SECOND_CLIENT_ADDRESS)
        server.know_second_address(SECOND_CLIENT_ADDRESS)
    if offers_preferred_address(trial):
        if second is not None:
            second.add_server_address()
        else:
            server.add_second_address(SECOND_SERVER_ADDRESS)
            client.know_second_address(SECOND_SERVER_ADDRESS)
