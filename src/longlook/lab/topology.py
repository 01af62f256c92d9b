"""The topology: client — router — server, three network namespaces joined by two veth pairs or two TUN devices.

Client and server share a subnet; the router moves whole packets between its two sides, so no address of it exists.
"""

import fcntl
import os
import struct
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from longlook.core import MachineError, Scalar
from longlook.lab.addresses import IPV4, AddressPlan, alone
from longlook.lab.linux import tcp
from longlook.lab.linux.cpuquota import CpuQuota
from longlook.lab.linux.namespace import Namespace
from longlook.lab.linux.netlink import NetlinkError
from longlook.lab.linux.offload import switch_off
from longlook.lab.linux.rtnetlink import MAIN_TABLE

_MTU_BYTES = 1500
_QUEUE_PACKETS = 10_000  # of the devices: never the bottleneck
_LOCK_CONGESTION_CONTROL = 1 << 16  # RTAX_LOCK: bit RTAX_CC_ALGO
_TUNSETIFF, _TUNSETOFFLOAD = 0x400454CA, 0x400454D0
_IFF_TUN, _IFF_NO_PI, _IFF_VNET_HDR = 0x0001, 0x1000, 0x4000
_CHECKSUM, _TSO4, _TSO6, _USO4, _USO6 = 0x01, 0x02, 0x04, 0x20, 0x40
_IFA_F_NOPREFIXROUTE = 0x200

PACKET, TUN, OFFLOAD = "packet", "tun", "offload"


@dataclass(frozen=True)
class End:
    """Names and addresses of one endpoint; `router_device` is the router's device that faces it."""

    role: str
    device: str
    router_device: str
    router_mac: str
    address: str
    mac: str
    peer_address: str
    peer_mac: str
    subnet: str
    table: int = MAIN_TABLE  # of the routes for packets from its address


_CLIENT_MAC, _SERVER_MAC = "02:00:00:00:00:01", "02:00:00:00:00:02"
CLIENT = End("client", "c0", "rc", "02:00:00:00:01:01", IPV4.client, _CLIENT_MAC, IPV4.server, _SERVER_MAC, IPV4.subnet)
SERVER = End("server", "s0", "rs", "02:00:00:00:01:02", IPV4.server, _SERVER_MAC, IPV4.client, _CLIENT_MAC, IPV4.subnet)


def client_of(plan: AddressPlan) -> End:
    """Return the client's end with the addresses of a plan."""
    return replace(CLIENT, address=plan.client, peer_address=plan.server, subnet=plan.subnet)


def server_of(plan: AddressPlan) -> End:
    """Return the server's end with the addresses of a plan."""
    return replace(SERVER, address=plan.server, peer_address=plan.client, subnet=plan.subnet)


def datapath() -> str:
    """Return how packets reach the router: `packet` (AF_PACKET on veths), or `tun` or `offload` by LONGLOOK_DATAPATH.

    Raise MachineError for any other value.
    """
    choice = os.environ.get("LONGLOOK_DATAPATH", PACKET)
    if choice not in (PACKET, TUN, OFFLOAD):
        raise MachineError(f"LONGLOOK_DATAPATH is {choice!r}", f"use {PACKET}, {TUN} or {OFFLOAD}")
    return choice


Device = tuple[Namespace, str, str]
"""A device of a namespace: its name and its MAC address."""


def join(near: Device, far: Device) -> None:
    """Make a veth pair between two namespaces. The far device does not offload anything, and is up."""
    namespace, name, mac = near
    sizes = {"IFLA_MTU": _MTU_BYTES, "IFLA_TXQLEN": _QUEUE_PACKETS}
    far_namespace, far_name, far_mac = far
    namespace.routes.add_veth(
        {"IFLA_IFNAME": name, "IFLA_ADDRESS": mac, **sizes},
        {"IFLA_IFNAME": far_name, "IFLA_ADDRESS": far_mac, "IFLA_NET_NS_FD": far_namespace.descriptor, **sizes},
    )
    with far_namespace.inside():
        switch_off(far_name)
    far_namespace.routes.set_up(far_namespace.index(far_name))


class EndpointNamespace:
    """One endpoint's namespace and its device towards the router. Close it before the router's namespace.

    The namespace is a new one unless `namespace` is given. It is closed with the side unless it is `shared`. `quota` is
    the share of a CPU in which its programs are to be started, None without a limit.
    """

    quota: CpuQuota | None = None

    def __init__(
        self, end: End, router: Namespace, path: str, namespace: Namespace | None = None, *, shared: bool = False
    ) -> None:
        self.end, self._shared = end, shared
        self.router = router
        self.namespace = namespace or Namespace()
        self.tun: int | None = None
        try:
            if path == PACKET:
                self._make_veth()
            else:
                self.tun = self._make_tun(path)
            self._configure(path)
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def set_tcp(self, algorithm: str | None, settings: Mapping[str, Scalar]) -> None:
        """Make TCP use `algorithm` towards the peer, whatever programs ask for; None: the kernel's default.

        `settings` are as in `Trial.tcp`. Raise MachineError if the kernel does not have the algorithm.

        A route's locked congestion control is the one way that works everywhere: outside the initial namespace the
        sysctl takes unrestricted algorithms only, and a program's own choice would need a privilege.
        """
        tcp.apply(self.namespace, self.end.device, settings)
        self._route(self.end.subnet, self.end.address, algorithm, tcp.route_metrics(settings), self.end.table)

    def _route(
        self, to: str, source: str, algorithm: str | None, metrics: dict[str, Any], table: int = MAIN_TABLE
    ) -> None:
        if algorithm is not None:
            metrics |= {"cc_algo": algorithm, "lock": metrics.get("lock", 0) | _LOCK_CONGESTION_CONTROL}
        try:
            self.namespace.routes.replace_route(to, self.namespace.index(self.end.device), source, metrics, table)
        except NetlinkError as error:
            available = Path("/proc/sys/net/ipv4/tcp_available_congestion_control").read_text().strip()
            raise MachineError(
                f"this kernel cannot use the congestion control {algorithm!r}: {error}",
                f"it has: {available}; load the module (modprobe tcp_{algorithm}) or choose one of these",
            ) from error

    def add_address(self, own: str, peer: str, algorithm: str | None, settings: Mapping[str, Scalar]) -> None:
        """Add an address, from which this side reaches the peer's address with a TCP of its own.

        `settings` are as in `Trial.tcp`. The settings of the route count, because it belongs to the address; all others
        belong to the namespace. None leaves the kernel's congestion control.
        """
        index = self.namespace.index(self.end.device)
        if own != self.end.address:
            self.namespace.routes.add_address(index, own)
        if self.tun is None and peer != self.end.peer_address:
            self._add_neighbour(index, peer)
        self._route(alone(peer), own, algorithm, tcp.route_metrics(settings))

    def add_second_address(self, address: str) -> None:
        """Give this side a second address on its device, from which programs may send that ask for it."""
        self.namespace.routes.add_address(self.namespace.index(self.end.device), address)

    def know_second_address(self, address: str) -> None:
        """Let this side reach the peer's second address, as it reaches the first."""
        if self.tun is None:
            self._add_neighbour(self.namespace.index(self.end.device), address)

    def lead(self, peer: str, source: str, table: int = MAIN_TABLE) -> None:
        """Lead packets for a further address of the peer over this side's device; they come from address `source`."""
        self.know_second_address(peer)
        self._route(alone(peer), source, None, {}, table)

    def drain(self) -> None:
        """Discard what a TUN device has queued while no router read it."""
        if self.tun is None:
            return
        while True:
            try:
                os.read(self.tun, 2 * _MTU_BYTES)
            except BlockingIOError:
                return

    def drops(self) -> int:
        """Return the packets that were lost on this side outside the router, both directions, since it was made."""
        total = sum(self.namespace.drops(self.end.device).values())
        if self.tun is None:
            # What the router receives is consumed by its packet socket; the kernel counts its own copy as unwanted.
            towards = self.router.drops(self.end.router_device)
            total += towards["tx_dropped"] + towards["tx_errors"] + towards["rx_errors"]
        return total

    def namespaces(self) -> list[Namespace]:
        """Return the namespaces of this side's programs."""
        return [self.namespace]

    def settled(self) -> bool:
        """Return whether nothing of an earlier trial is still on its way on this side."""
        return True

    def slowness(self) -> dict[str, float]:
        """Return what a limit of this side's CPU time has done so far, as numbers of the guard; {} without one."""
        return {}

    def close(self) -> None:
        """Remove the devices and close the namespace; a namespace that is shared keeps them until it is closed."""
        if self.tun is not None:
            os.close(self.tun)
        if not self._shared:
            self.namespace.close()

    def _make_veth(self) -> None:
        join(
            (self.namespace, self.end.device, self.end.mac), (self.router, self.end.router_device, self.end.router_mac)
        )

    def _make_tun(self, path: str) -> int:
        with self.namespace.inside():
            try:
                descriptor = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
            except OSError as error:
                raise MachineError(f"/dev/net/tun: {error.strerror}", "modprobe tun, chmod 666 /dev/net/tun") from error
            flags = _IFF_TUN | _IFF_NO_PI | (_IFF_VNET_HDR if path == OFFLOAD else 0)
            try:
                fcntl.ioctl(descriptor, _TUNSETIFF, struct.pack("16sH22x", self.end.device.encode(), flags))
                if path == OFFLOAD:
                    fcntl.ioctl(descriptor, _TUNSETOFFLOAD, _CHECKSUM | _TSO4 | _TSO6 | _USO4 | _USO6)
            except OSError as error:
                os.close(descriptor)
                hint = "LONGLOOK_DATAPATH=packet" if path == TUN else "Linux 6.2 or newer, or LONGLOOK_DATAPATH=packet"
                raise MachineError(f"TUN device: {error.strerror}", hint) from error
        index = self.namespace.index(self.end.device)
        self.namespace.routes.set_sizes(index, _MTU_BYTES, _QUEUE_PACKETS)
        return descriptor

    def _configure(self, path: str) -> None:
        routes = self.namespace.routes
        index = self.namespace.index(self.end.device)
        if path != OFFLOAD:
            with self.namespace.inside():
                switch_off(self.end.device)
        if ":" in self.end.address:
            self.namespace.allow_ipv6(self.end.device)
            routes.set_up_silent(index)
        else:
            routes.set_up(index)
        prefix = int(self.end.subnet.rpartition("/")[2])
        # The kernel's own route would have no congestion control; ours replaces it.
        routes.add_address(index, self.end.address, prefix, _IFA_F_NOPREFIXROUTE)
        if path == PACKET:
            self._add_neighbour(index, self.end.peer_address)
        self.set_tcp(None, {})
        if self.end.table != MAIN_TABLE:
            routes.add_rule(self.end.address, self.end.table)

    def _add_neighbour(self, index: int, address: str) -> None:
        self.namespace.routes.replace_neighbour(index, address, self.end.peer_mac)
