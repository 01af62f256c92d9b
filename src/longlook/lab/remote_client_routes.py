"""The client's side of the network if the client is another machine, such as a phone.

    phone ─network─ this machine ══veth══ client's namespace [c0] ══veth══ [rc] longlook-link [rs] ══veth══ server

The client's namespace becomes a router: what the phone sends to the server's address comes in from this machine, leaves
with the client's usual address, and passes the link like any client's packets. All that this machine gets is a device
and a route to the server's address, which the kernel removes with the namespace.
"""

import ipaddress
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from longlook.core import MachineError
from longlook.lab.addresses import IPV4
from longlook.lab.linux import system
from longlook.lab.linux.namespace import CurrentNamespace, Namespace
from longlook.lab.linux.nat import Nat
from longlook.lab.linux.netlink import NetlinkError
from longlook.lab.linux.offload import switch_off
from longlook.lab.topology import CLIENT, EndpointNamespace

_INSIDE, _OUTSIDE = "in0", "ll-phone"
_OUTSIDE_ADDRESS, _INSIDE_ADDRESS, _PREFIX = "169.254.108.1", "169.254.108.2", 30
_MAIN_TABLE, _INET = 254, 2
_CONF = Path("/proc/sys/net/ipv4/conf")
_DOCS = "docs/guide/browsers.md shows how a phone is attached"


class WayIn(EndpointNamespace):
    """A client's side that other machines reach through this one; `outside` is the namespace that it was started in.

    Raise MachineError if this machine cannot pass their packets on.
    """

    def __init__(self, router: Namespace, path: str, outside: Namespace) -> None:
        self.outside = outside
        self._nat: Nat | None = None
        self._is_open = False  # before that, a device of this name is another laboratory's
        super().__init__(CLIENT, router, path)
        try:
            self._open()
        except NetlinkError as error:
            self.close()
            raise MachineError(f"the kernel refuses a way from this machine to the link: {error}", _DOCS) from error
        except BaseException:
            self.close()
            raise

    def drops(self) -> int:
        """Return the packets that were lost on this side outside the router, including the way in."""
        ways = (self.namespace.drops(_INSIDE), self.outside.drops(_OUTSIDE))
        return super().drops() + sum(sum(way.values()) for way in ways)

    def close(self) -> None:
        """Remove the way in, and everything else."""
        if self._nat is not None:
            self._nat.close()
        if self._is_open:
            with suppress(NetlinkError, OSError):  # somebody has removed it
                self.outside.netlink.link("del", index=self.outside.index(_OUTSIDE))
        self.outside.close()
        super().close()

    def _open(self) -> None:
        _raise_if_taken(self.outside)
        with self.outside.inside():
            _raise_if_nothing_is_forwarded()
        self.namespace.netlink.link(
            "add",
            ifname=_INSIDE,
            kind="veth",
            peer={"ifname": _OUTSIDE, "net_ns_fd": self.outside.descriptor},
        )
        self._is_open = True
        for namespace, device, address in (
            (self.outside, _OUTSIDE, _OUTSIDE_ADDRESS),
            (self.namespace, _INSIDE, _INSIDE_ADDRESS),
        ):
            index = namespace.index(device)
            with namespace.inside():
                switch_off(device)
                _silence(device)
                (_CONF / device / "forwarding").write_text("1")
            namespace.netlink.addr("add", index=index, address=address, prefixlen=_PREFIX)
            namespace.netlink.link("set", index=index, state="up")
        self.outside.netlink.route("add", dst=f"{IPV4.server}/32", gateway=_INSIDE_ADDRESS)
        self.namespace.netlink.route("add", dst="default", gateway=_OUTSIDE_ADDRESS)
        with self.namespace.inside():
            (_CONF / self.end.device / "forwarding").write_text("1")
            self._nat = Nat("ll-phone")
            self._nat.masquerade(ipaddress.IPv4Network("0.0.0.0/0"))


def _silence(device: str) -> None:
    """Let no IPv6 run over a device of this namespace: nobody asked for its neighbour discovery."""
    ipv6 = Path("/proc/sys/net/ipv6/conf") / device / "disable_ipv6"
    if ipv6.exists():
        ipv6.write_text("1")


def namespace_outside(descriptor: int | None) -> Namespace:
    """Return the namespace behind a descriptor, in which the laboratory was started.

    Raise MachineError if there is none, or if it may not be entered.
    """
    if descriptor is None:
        raise MachineError(
            "a client or a server elsewhere needs real time: a guest has no way out", "use --engine live"
        )
    try:
        with system.inside(descriptor):
            return CurrentNamespace()
    except PermissionError as error:
        raise MachineError(
            "a client or a server elsewhere needs root: only root may connect this machine's network with the link",
            "run as root",
        ) from error


def _raise_if_taken(outside: Namespace) -> None:
    """Raise MachineError if this machine has a way to the server's address already, beside its default route."""
    for route in _routes(outside):
        if (to := route.get_attr("RTA_DST")) is None:
            continue
        network = ipaddress.IPv4Network(f"{to}/{route['dst_len']}")
        if ipaddress.IPv4Address(IPV4.server) in network:
            raise MachineError(
                f"this machine has a route to {network} already, and {IPV4.server} is the server behind the link",
                "end the other run that has a phone, or the network (a VPN?) that has these addresses",
            )


def _routes(outside: Namespace) -> Iterator[Any]:
    netlink: Any = outside.netlink
    yield from netlink.get_routes(family=_INET, table=_MAIN_TABLE)


def _raise_if_nothing_is_forwarded() -> None:
    """Raise MachineError if no device of this namespace forwards what a phone sends."""
    devices = [place.name for place in _CONF.iterdir() if place.name not in ("all", "default", "lo")]
    if not any((_CONF / device / "forwarding").read_text().strip() == "1" for device in devices):
        raise MachineError(
            "this machine forwards for nobody, so that no packet of a phone would reach the link",
            f"sysctl -w net.ipv4.conf.DEVICE.forwarding=1, for the device that the phone is on; {_DOCS}",
        )
