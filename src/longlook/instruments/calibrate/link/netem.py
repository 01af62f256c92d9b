"""The kernel's own emulator in the router's place, with which the link is compared."""

from contextlib import ExitStack
from types import TracebackType
from typing import Any, Self

from pyroute2.netlink import NLM_F_ACK, NLM_F_CREATE, NLM_F_EXCL, NLM_F_REQUEST
from pyroute2.netlink.rtnl import RTM_NEWQDISC, TC_H_ROOT
from pyroute2.netlink.rtnl.tcmsg import sched_netem, tcmsg

from longlook.instruments.calibrate.link.passages import Netem
from longlook.lab import CLIENT, PACKET, SERVER, EndpointNamespace, Namespace

_ETHERNET_BYTES = 14
_INGRESS = 0xFFFF0000  # TC_H_MAJ of the ingress qdisc


class NetemBed:
    """Client, router and server namespaces; packets of the client leave the router through a netem.

    Like a LinkBed, and the shaping is on the router's device too. Frames are moved by the kernel's redirect as they
    came: no address of the router exists. The way back is not shaped and not connected.
    """

    def __init__(self, settings: Netem) -> None:
        self._settings = settings
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            router = stack.enter_context(Namespace())
            self.client = stack.enter_context(EndpointNamespace(CLIENT, router, PACKET))
            self.server = stack.enter_context(EndpointNamespace(SERVER, router, PACKET))
            inward, outward = (router.index(end.router_device) for end in (CLIENT, SERVER))
            _add_netem(router.netlink, outward, self._settings)
            router.netlink.tc("add", "ingress", inward)
            redirect = {"kind": "mirred", "direction": "egress", "action": "redirect", "ifindex": outward}
            router.netlink.tc("add-filter", "matchall", inward, parent=_INGRESS, action=redirect)
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()


def _add_netem(netlink: Any, device: int, settings: Netem) -> None:
    """Make it the device's queueing discipline. netem counts frames; a negative overhead makes that IP bytes.

    A message of our own, because pyroute2's `tc` takes netem's rate for the attribute TCA_RATE as well. Its
    `get_parameters` takes microseconds, per cent and bytes/s.
    """
    rate = {"rate": settings.rate_bps // 8, "packet_overhead": -_ETHERNET_BYTES} if settings.rate_bps else {}
    options = sched_netem.get_parameters(  # type: ignore[no-untyped-call]
        {
            "limit": settings.limit_packets,
            "delay": settings.delay_ns // 1_000,
            "jitter": settings.jitter_ns // 1_000,
            "loss": settings.loss * 100,
            **rate,
        }
    )
    message = tcmsg()  # type: ignore[no-untyped-call]
    message["index"], message["parent"] = device, TC_H_ROOT
    message["attrs"] = [["TCA_KIND", "netem"], ["TCA_OPTIONS", options]]
    flags = NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL
    number = netlink.asyncore.addr_pool.alloc()
    netlink.put(message, RTM_NEWQDISC, flags, msg_seq=number)
    netlink.get(number)  # raises what the kernel refused
