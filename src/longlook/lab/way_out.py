"""The way from the server's side of the network to a site of the world outside, in place of a server.

    client ══ longlook-link ══ [s0] server's namespace [w0] ══veth══ [ll-wN] outside ─network─ the site

Packets for the server's address go on to the site's, and its answers come back as if from the server: addresses change,
ports and packets do not. So the client, the link and its log are as in any trial.
"""

import ipaddress
from contextlib import ExitStack, suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from longlook.core import MachineError
from longlook.lab.linux.namespace import Namespace
from longlook.lab.linux.nat import Nat
from longlook.lab.linux.netlink import NetlinkError
from longlook.lab.linux.offload import switch_off
from longlook.lab.topology import EndpointNamespace

_INSIDE, _OUTSIDE = "w0", "ll-w{serial}"
_PREFIXES = {4: 30, 6: 126}
_OUTER, _INNER = {4: "169.254.109.1", 6: "fd6c:6f6e:676c::1"}, {4: "169.254.109.2", 6: "fd6c:6f6e:676c::2"}
_ANY = {4: "0.0.0.0/0", 6: "::/0"}
_CONF = Path("/proc/sys/net")
_HINT = "docs/guide/endpoints.md says what a machine needs"


class WayOut:
    """A way from a server's side to `address`, through the namespace `outside`; a context manager.

    `outside` forwards already. Raise MachineError if the kernel refuses it.
    """

    def __init__(self, server: EndpointNamespace, outside: Namespace, address: str, serial: int) -> None:
        self._server, self._outside = server, outside
        self._to = ipaddress.ip_address(address)
        self._device = _OUTSIDE.format(serial=serial)
        self._undo = ExitStack()

    def __enter__(self) -> Self:
        with ExitStack() as undo:
            try:
                self._join(undo)
                self._translate(undo)
            except NetlinkError as error:
                raise MachineError(f"the kernel refuses a way to {self._to}: {error}", _HINT) from error
            self._undo = undo.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._undo.close()

    def _join(self, undo: ExitStack) -> None:
        version, server = self._to.version, self._server.namespace
        peer = {"ifname": self._device, "net_ns_fd": self._outside.descriptor}
        server.netlink.link("add", ifname=_INSIDE, kind="veth", peer=peer)
        undo.callback(self._remove)
        for namespace, device, addresses in (
            (self._outside, self._device, _OUTER),
            (server, _INSIDE, _INNER),
        ):
            with namespace.inside():
                switch_off(device)
            if version == 6:
                namespace.allow_ipv6(device)
            index = namespace.index(device)
            namespace.netlink.addr("add", index=index, address=addresses[version], prefixlen=_PREFIXES[version])
            namespace.netlink.link("set", index=index, state="up")
        with self._outside.inside():
            _forward(version, self._device)
        with server.inside():
            _forward(version, _INSIDE)
            _forward(version, self._server.end.device)
        default = "default" if version == 4 else "::/0"
        server.netlink.route("add", dst=default, gateway=_OUTER[version], family=self._family)

    @property
    def _family(self) -> int:
        return 2 if self._to.version == 4 else 10

    def _translate(self, undo: ExitStack) -> None:
        everywhere = ipaddress.ip_network(_ANY[self._to.version])
        with self._server.namespace.inside():
            nat = Nat("ll-site", self._to.version)
            undo.callback(nat.close)
            nat.redirect(ipaddress.ip_address(self._server.end.address), self._to)
            nat.masquerade(everywhere)
        with self._outside.inside():
            nat = Nat(self._device, self._to.version)
            undo.callback(nat.close)
            nat.masquerade(
                ipaddress.ip_network(f"{_INNER[self._to.version]}/{_PREFIXES[self._to.version]}", strict=False)
            )

    def _remove(self) -> None:
        with suppress(NetlinkError, OSError):  # somebody has removed it
            self._server.namespace.netlink.link("del", index=self._server.namespace.index(_INSIDE))


def _forward(version: int, device: str) -> None:
    (_CONF / f"ipv{version}" / "conf" / device / "forwarding").write_text("1")
