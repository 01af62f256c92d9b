"""A network namespace of this process's own with a way out, through which the trials of a run reach sites.

    laboratory of a trial ══veth══ [ll-wN] gateway [up0] ══veth══ [ll-…] this namespace ─network─ the world

The agent of real time finds the gateway as the namespace that it was started in. So whatever a trial changes to get out
is changed there, and all that this machine itself sees is the one device of the gateway.
"""

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from longlook.core import MachineError
from longlook.lab import CurrentNamespace, Namespace, NetlinkError, system
from longlook.outside import rootless
from longlook.outside.addresses import choose_subnet, ends_of
from longlook.outside.reaper import Reaper
from longlook.outside.record import locked, open_record
from longlook.outside.ways import OuterSide, client_end, open_ways, outer_end

_DEVICE = "up0"
_PREFIX = 30
_PACKET = "packet"


class Gateway:
    """A context manager: inside, this thread and what it starts are in the gateway.

    `notes` say what was changed on this machine. Raise MachineError if there is no way out, or without root.
    """

    def __init__(self) -> None:
        self.notes: tuple[str, ...] = ()
        self._home = -1  # the descriptor of the namespace that Longlook was started in, inside
        self._undo = ExitStack()

    def __enter__(self) -> Self:
        if not rootless.may_change_network():
            raise MachineError("the way out to a site needs root", "run it as root, or with sudo")
        with ExitStack() as undo:
            self._open(undo)
            self._undo = undo.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._undo.close()

    @contextmanager
    def home(self) -> Iterator[None]:
        """Run a block in the namespace that Longlook was started in, whose resolver may be a local one."""
        with system.inside(self._home):
            yield

    def _open(self, undo: ExitStack) -> None:
        record = open_record()
        undo.callback(record.release)
        gateway = undo.enter_context(Namespace())
        with locked():  # addresses are free until they are taken
            here = CurrentNamespace()
            subnet = choose_subnet(here)
            client = client_end(subnet)
            end = replace(outer_end(record, subnet), router_device=_DEVICE, router_mac=client.mac)
            outer = undo.enter_context(OuterSide(end, gateway, _PACKET, here))
        gateway.netlink.addr("add", index=gateway.index(_DEVICE), address=client.address, prefixlen=_PREFIX)
        _lead(gateway.netlink, str(ends_of(subnet)[0]))
        with gateway.inside():
            _forward_everything()
        record.inside = (os.fstat(gateway.descriptor).st_ino,)
        record.write()
        undo.callback(Reaper(record, [gateway.descriptor]).dismiss)
        self.notes = tuple(open_ways(record, outer, undo))
        self._home = system.network_namespace()
        undo.callback(os.close, self._home)
        undo.callback(system.set_namespace, self._home, system.CLONE_NEWNET)
        system.set_namespace(gateway.descriptor, system.CLONE_NEWNET)


def _lead(netlink: Any, gateway: str) -> None:
    try:
        netlink.route("add", dst="default", gateway=gateway)
    except NetlinkError as error:
        raise MachineError(f"the kernel refuses the gateway's route: {error}") from error


def _forward_everything() -> None:
    """Let this thread's namespace, which is ours alone, forward."""
    Path("/proc/sys/net/ipv4/ip_forward").write_text("1")
