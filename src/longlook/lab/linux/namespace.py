"""Network namespaces of the laboratory: anonymous, held by a descriptor, destroyed when the last holder closes it."""

import os
import socket
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from longlook.core import MachineError
from longlook.lab.linux import system
from longlook.lab.linux.netlink import open_routes
from longlook.lab.linux.rtnetlink import RouteSocket

TCP_BUFFER_BYTES = 64 << 20
"""How far TCP's windows may grow unless a trial sets less: beyond the bandwidth-delay product of any link."""

_SETTINGS: Mapping[str, str] = {
    "net/ipv6/conf/all/disable_ipv6": "1",
    "net/ipv6/conf/default/disable_ipv6": "1",
    "net/ipv4/tcp_rmem": f"4096 131072 {TCP_BUFFER_BYTES}",
    "net/ipv4/tcp_wmem": f"4096 65536 {TCP_BUFFER_BYTES}",
    "net/ipv4/tcp_no_metrics_save": "1",
    "net/ipv4/tcp_fastopen": "3",  # of clients and servers that ask for it
    "net/ipv4/ip_local_port_range": "32768 60999",
    "net/ipv4/ip_unprivileged_port_start": "0",  # servers under test have no privilege
    "net/mptcp/enabled": "0",  # Go's listeners and others take it where a kernel has it, and TCP would be another
}
"""Set in each namespace, whatever the host has; limits of UDP buffers belong to the host alone
(docs/explanation/lab.md)."""

_IPV6: Mapping[str, str] = {
    "addr_gen_mode": "1",  # no address of the link's own
    "accept_dad": "0",
    "accept_ra": "0",
    "autoconf": "0",
    "disable_ipv6": "0",
}
"""Set for a device that is to have addresses of IPv6: no others, and no packets that no program asked for."""

_LOOPBACK = 1  # the index of loopback in every namespace
_DEVICE_COUNTERS: Mapping[str, int] = {"rx_errors": 2, "rx_dropped": 3, "tx_errors": 10, "tx_dropped": 11}
"""Counter → its column in /proc/net/dev."""
_RECEIVED_PACKETS = 1  # the column beside these
_FULL = "RcvbufErrors", "MemErrors"
"""Counters of datagrams for which a buffer had no room."""


class Namespace:
    """A new network namespace with loopback up and nothing else. Close it, or use it as a context manager.

    `paced` has the devices whose queueing discipline paces TCP (`lab.linux.tcp` adds and removes it).
    """

    has_ipv6 = False

    def __init__(self) -> None:
        self.paced: set[str] = set()
        self.descriptor = system.new_network_namespace()
        try:
            with self.inside():
                for key, value in _SETTINGS.items():
                    _write_setting(key, value)
                self.routes = RouteSocket()
        except BaseException:
            os.close(self.descriptor)
            raise
        self._undo = ExitStack()
        self.routes.set_up(_LOOPBACK)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @contextmanager
    def inside(self) -> Iterator[None]:
        """Run a block in this namespace; programs started in it stay there."""
        with system.inside(self.descriptor):
            yield

    @cached_property
    def netlink(self) -> Any:
        """Return an IPRoute of pyroute2 in this namespace, for what `routes` cannot do; opened at its first use."""
        with self.inside():
            opened = open_routes()
        self._undo.callback(opened.close)
        return opened

    def allow_ipv6(self, device: str) -> None:
        """Let a device that is down, and loopback, have addresses of IPv6; MachineError if the kernel has no IPv6."""
        conf = Path("/proc/sys/net/ipv6/conf")
        with self.inside():
            if not conf.exists():
                raise MachineError(
                    "this kernel has no IPv6",
                    'use --engine virtual, whose kernel has it; boot without ipv6.disable=1; or use network.ip = "4"',
                )
            for name, value in _IPV6.items():
                (conf / device / name).write_text(value)
            (conf / "lo" / "disable_ipv6").write_text("0")
        self.has_ipv6 = True

    def index(self, device: str) -> int:
        """Return the index of an interface of this namespace; raise OSError if there is none."""
        with self.inside():
            return socket.if_nametoindex(device)

    def drops(self, device: str) -> dict[str, int]:
        """Return the counters `tx_dropped`, `rx_dropped`, `tx_errors` and `rx_errors` of a device, in packets."""
        counted = self._counters(device)
        return {name: counted[column] for name, column in _DEVICE_COUNTERS.items()}

    def received(self, device: str) -> int:
        """Return how many packets a device has received since it was made."""
        return self._counters(device)[_RECEIVED_PACKETS]

    def _counters(self, device: str) -> list[int]:
        """Return the columns of a device in /proc/net/dev."""
        with self.inside():
            lines = Path("/proc/thread-self/net/dev").read_text().splitlines()
        (counted,) = (line.partition(":")[2].split() for line in lines if line.partition(":")[0].strip() == device)
        return [int(column) for column in counted]

    def udp_errors(self) -> int:
        """Return how many UDP datagrams this namespace received and dropped because a buffer was full.

        `InErrors` would not do: it counts bad checksums too, which a link that corrupts packets causes on purpose.
        """
        with self.inside():
            lines = Path("/proc/thread-self/net/snmp").read_text().splitlines()
            more = Path("/proc/thread-self/net/snmp6").read_text().splitlines() if self.has_ipv6 else []
        names, values = (line.split()[1:] for line in lines if line.startswith("Udp:"))
        counters = {f"Udp{name}": value for name, value in zip(names, values, strict=True)}
        counters |= {name: value for name, value in map(str.split, more) if name.startswith("Udp6")}
        return sum(int(counters.get(f"{of}{name}", 0)) for of in ("Udp", "Udp6") for name in _FULL)

    def close(self) -> None:
        """Close the descriptor. The kernel destroys the namespace and its devices once its programs have ended too."""
        self._undo.close()
        self.routes.close()
        os.close(self.descriptor)


class CurrentNamespace(Namespace):
    """The namespace of this thread as it is: no setting is changed."""

    def __init__(self) -> None:
        self.paced: set[str] = set()
        self.descriptor = system.network_namespace()
        try:
            self.routes = RouteSocket()
        except BaseException:
            os.close(self.descriptor)
            raise
        self._undo = ExitStack()


def _write_setting(key: str, value: str) -> None:
    path = Path("/proc/sys") / key
    if key.startswith(("net/ipv6/", "net/mptcp/")) and not path.exists():
        return  # a kernel without IPv6 or MPTCP has nothing to turn off
    path.write_text(value)
