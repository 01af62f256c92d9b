"""The far side of a link that leads out: a device in the network namespace that `longlook link` was started in.

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
from longlook.instruments.link.addresses import choose_subnet, ends_of
from longlook.instruments.link.record import MARKER, LinkRecord, locked
from longlook.lab import CLIENT, SERVER, CurrentNamespace, EndpointNamespace, Namespace, Nat, NetlinkError

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
        devices = list(dict.fromkeys(self._ways()))
        if not devices:
            return
        nat = Nat(f"{DEVICE_PREFIX}{self.record.marker}")
        self._undo.callback(nat.close)
        nat.masquerade(self.subnet)
        if self.host is not None:
            nat.redirect(self.address, self.host)
        try:
            changed = self.record.turn_forwarding_on([*devices, self.outer.end.device])
        except OSError as error:
            self.notes.append(f"only this machine can be reached: its kernel does not forward, and {error}")
            return
        if shown := [device for device in changed if device != self.outer.end.device]:
            nat.forward_only(DEVICE_PREFIX)
        if (
            shown and self.host is None and MARKER not in os.environ
        ):  # else the namespace is ours, and has no neighbours
            self.notes.append(f"while the link is open, {', '.join(shown)} forwards, for links alone")

    def _ways(self) -> Iterator[str]:
        netlink: Any = self.outer.namespace.netlink
        for route in netlink.get_routes(family=2, table=_MAIN_TABLE):
            index = route.get_attr("RTA_OIF")
            if index in (None, _LOOPBACK):
                continue
            (device,) = netlink.link("get", index=index)
            if not (name := str(device.get_attr("IFLA_IFNAME"))).startswith(DEVICE_PREFIX):
                yield name

    def _end(self) -> Any:
        outer, client = ends_of(self.subnet)
        device = f"{DEVICE_PREFIX}{self.record.marker}"
        return replace(
            SERVER, device=device, address=str(outer), peer_address=str(client), subnet=str(self.subnet), role="outside"
        )


def client_end(subnet: IPv4Network) -> Any:
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
