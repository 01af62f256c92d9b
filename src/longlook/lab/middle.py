"""The middle of a path of two links: client -[main link]- middle -[behind]- server.

    client [c0] ══ [rc] longlook-link [rs] ══ [m0] middle [m1] ══ [rc] longlook-link [rs] ══ [s0] server

The middle is a namespace with a device on each link. Its kernel forwards what the ends send to each other, as any
router does. It has an address of its own on both devices, at which a proxy can stand.

Towards each end it has the other end's hardware address, so that the ends' own settings are those of a path without it.
"""

import os
from dataclasses import replace
from pathlib import Path

from longlook.core.model import Trial
from longlook.lab.linux.namespace import Namespace
from longlook.lab.programs import stack_of
from longlook.lab.topology import CLIENT, CLIENT_ADDRESS, SERVER, SERVER_ADDRESS, End, EndpointNamespace

MIDDLE_ADDRESS = "198.18.255.1"
"""Outside the pairs of competing flows, of which there are at most two blocks."""


def connected_to(trial: Trial) -> str:
    """Return the address that the client of a trial connects to: the server's, a proxy's, or a relay's beside it."""
    if trial.proxy is None:
        return SERVER_ADDRESS
    return MIDDLE_ADDRESS if stack_of(trial.proxy).relay_command is None else CLIENT_ADDRESS


class _Face(EndpointNamespace):
    """A side of the middle, in a namespace that is closed with the middle."""

    def close(self) -> None:
        """Close the device, and leave the namespace open, which belongs to both faces."""
        if self.tun is not None:
            os.close(self.tun)


class Middle:
    """The namespace between two links. Close it before the routers' namespaces.

    `near` and `far` are the namespaces of the routers towards the client and towards the server; `near_device` is the
    router's device that faces the middle.
    """

    def __init__(self, near: Namespace, far: Namespace, path: str, near_device: str) -> None:
        own = replace(SERVER, role="proxy", device="m0", address=MIDDLE_ADDRESS, router_device=near_device)
        other = replace(CLIENT, role="proxy", device="m1", address=MIDDLE_ADDRESS)
        self.namespace = Namespace()
        try:
            with self.namespace.inside():
                Path("/proc/sys/net/ipv4/ip_forward").write_text("1")
            self.towards_client = _Face(_to(own, CLIENT_ADDRESS), near, path, self.namespace)
            self.towards_server = _Face(_to(other, SERVER_ADDRESS), far, path, self.namespace)
        except BaseException:
            self.namespace.close()
            raise

    @property
    def faces(self) -> tuple[EndpointNamespace, EndpointNamespace]:
        """Return its sides towards the client and the server."""
        return self.towards_client, self.towards_server

    def join(self, trial: Trial, client: EndpointNamespace, server: EndpointNamespace) -> None:
        """Let both ends reach the middle's own address with the trial's TCP, and the middle reach them with the same.

        What belongs to the namespace (sysctls) is that of the ends, too.
        """
        for face in self.faces:
            face.set_tcp(trial.congestion_control, trial.tcp)
        for end in (client, server):
            end.add_address(end.end.address, MIDDLE_ADDRESS, trial.congestion_control, trial.tcp)

    def close(self) -> None:
        """Close the namespace, and with it its devices."""
        for face in self.faces:
            face.close()
        self.namespace.close()


def _to(end: End, address: str) -> End:
    return replace(end, subnet=f"{address}/32")
