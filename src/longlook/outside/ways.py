"""A way out of a namespace of ours: a device in the network namespace that Longlook was started in.

Servers here are reached at its address. Packets that go farther are masqueraded, if there is a way out.
"""

import os
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, replace
from ipaddress import IPv4Address, IPv4Network
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from longlook.core import MachineError
from longlook.lab import CLIENT, SERVER, CurrentNamespace, End, EndpointNamespace, Namespace, Nat, NetlinkError
from longlook.outside.addresses import choose_subnet, ends_of
from longlook.outside.record import MARKER, LinkRecord, locked

DEVICE_PREFIX = "ll-"
_LOOPBACK = 1
_IFF_MULTICAST = 0x1000
_MAIN_TABLE = 254


class OuterSide(EndpointNamespace):
    """A link's end in a namespace that is not ours. It is quiet, because every packet on the link counts as traffic."""

    def _configure(self, path: str) -> None:
        device = self.end.device
        ipv6 = Path("/proc/sys/net/ipv6/conf") / device / "disable_ipv6"
        if ipv6.exists():
            ipv6.write_text("1")
        netlink: Any = self.namespace.netlink
        # Services that announce themselves on every interface that can (mDNS, SSDP) leave this one out.
        netlink.link("set", index=self.namespace.index(device), flags=0, change=_IFF_MULTICAST)
        super()._configure(path)

    def close(self) -> None:
        """Remove the device at once; the kernel would, some time after the router's namespace has gone."""
        if self.tun is None:
            with suppress(NetlinkError, OSError):  # another program removed it, which is why the link ended
                self.namespace.netlink.link("del", index=self.namespace.index(self.end.device))
        super().close()


@dataclass
class Outside:
    """Both sides of a link out of this namespace, and the changes made for it; a context manager."""

    record: LinkRecord
    router: Namespace
    path: str
    host: IPv4Address | None = None
    """The place to which the outer end's address leads instead of this namespace."""
    subnet: IPv4Network = field(init=False)
    client: EndpointNamespace = field(init=False)
    outer: EndpointNamespace = field(init=False)
    notes: list[str] = field(default_factory=list)
    _undo: ExitStack = field(default_factory=ExitStack)

    def __enter__(self) -> Self:
        with ExitStack() as undo:
            # Addresses are free until they are taken: no other link may choose in between.
            with locked():
                here = CurrentNamespace()
                self.subnet = choose_subnet(here)
                self.outer = undo.enter_context(
                    OuterSide(self._end(), self.router, self.path, here),
                )
            self.client = undo.enter_context(EndpointNamespace(client_end(self.subnet), self.router, self.path))
            lead_out(self.client, self.address)
            self._undo = undo.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._undo.close()

    @property
    def address(self) -> IPv4Address:
        """Return the address of the outer end."""
        return ends_of(self.subnet)[0]

    def open_ways(self) -> None:
        """Let the client's packets go beyond this namespace, if there is a way; `notes` lists the changes."""
        self.notes += open_ways(self.record, self.outer, self._undo, self.host)

    def _end(self) -> End:
        return outer_end(self.record, self.subnet)


def outer_end(record: LinkRecord, subnet: IPv4Network) -> End:
    """Return the outer end in a subnet of two ends."""
    outer, client = ends_of(subnet)
    device = f"{DEVICE_PREFIX}{record.marker}"
    return replace(
        SERVER, device=device, address=str(outer), peer_address=str(client), subnet=str(subnet), role="outside"
    )


def open_ways(
    record: LinkRecord, outer: EndpointNamespace, undo: ExitStack, host: IPv4Address | None = None
) -> list[str]:
    """Let packets from the subnet of an outer end go beyond its namespace, if there is a way, until `undo` is closed.

    Packets for the outer end itself go to `host`, if it is given. Return notes on the changes.
    """
    devices = list(dict.fromkeys(_ways(outer)))
    if not devices:
        return []
    nat = Nat(outer.end.device)
    undo.callback(nat.close)
    nat.masquerade(IPv4Network(outer.end.subnet))
    if host is not None:
        nat.redirect(IPv4Address(outer.end.address), host)
    try:
        changed = record.turn_forwarding_on([*devices, outer.end.device])
    except OSError as error:
        return [f"only this machine can be reached: its kernel does not forward, and {error}"]
    shown = [device for device in changed if device != outer.end.device]
    if shown:
        nat.forward_only(DEVICE_PREFIX)
    if shown and host is None and MARKER not in os.environ:  # else the namespace is ours, and has no neighbours
        return [f"while the link is open, {', '.join(shown)} forwards, for links alone"]
    return []


def _ways(outer: EndpointNamespace) -> Iterator[str]:
    netlink: Any = outer.namespace.netlink
    for route in netlink.get_routes(family=2, table=_MAIN_TABLE):
        index = route.get_attr("RTA_OIF")
        if index in (None, _LOOPBACK):
            continue
        (device,) = netlink.link("get", index=index)
        if not (name := str(device.get_attr("IFLA_IFNAME"))).startswith(DEVICE_PREFIX):
            yield name


def client_end(subnet: IPv4Network) -> End:
    """Return the client's end in a subnet of two ends."""
    outer, client = ends_of(subnet)
    return replace(CLIENT, device="link0", address=str(client), peer_address=str(outer), subnet=str(subnet))


def lead_out(client: EndpointNamespace, gateway: IPv4Address) -> None:
    """Give a client's namespace its default route."""
    netlink: Any = client.namespace.netlink
    try:
        netlink.route("add", dst="default", gateway=str(gateway))
    except NetlinkError as error:
        raise MachineError(f"the kernel refuses the client's route: {error}") from error
