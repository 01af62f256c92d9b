"""The path of a trial: its hops from the client to the server, each with two devices and a link between them.

    one link        client [c0] ══ [rc] longlook-link [rs] ══ [s0] server

    with a middle   client [c0] ══ [rc] longlook-link [rs] ══ [m0] middle
                    middle [m1] ══ [rc] longlook-link [rs] ══ [s0] server

    two paths       client [c0] ══ [rc] longlook-link [rs] ══ [s0] server
                    client [c1] ══ [rc] longlook-link [rs] ══ [s1] server

The middle is a namespace whose kernel forwards what the ends send to each other, as any router does. It has an address
of its own on both devices, at which a proxy can stand. Towards each end it has the other end's hardware address, so
that the ends have the same settings as on a path without a middle.

On a second path the client has a second address. The server has one address, at which both paths end, as a server has
whose clients have a phone's two networks. Packets from and to the client's second address go over the second path. A
server that asks its clients to come to another address has a second one, too, to which only the second path leads.
"""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from longlook.core import (
    BEHIND,
    MAIN,
    SECOND,
    Job,
    Scalar,
    Trial,
    counter_name,
    has_second_address,
    offers_preferred_address,
)
from longlook.lab import multipath
from longlook.lab.addresses import alone, plan_of
from longlook.lab.environment import Environment
from longlook.lab.flow_run import observations_of
from longlook.lab.guard import together
from longlook.lab.linux.namespace import Namespace
from longlook.lab.observations import Observations
from longlook.lab.process import Process
from longlook.lab.router import Router, finish
from longlook.lab.topology import CLIENT, SERVER, End, EndpointNamespace, client_of, server_of

_MIDDLE = "proxy"
"""The role of the middle's devices."""
_TABLE = 2
"""An end's routes for packets from its second address."""
_SECOND_MACS = "02:00:00:00:00:03", "02:00:00:00:00:04"


@dataclass(frozen=True)
class HopPlan:
    """A hop before it is made: the name of its link, and its devices towards the client and towards the server."""

    link: str
    near: End
    far: End


def hops_of(trial: Trial, router_device: str) -> tuple[HopPlan, ...]:
    """Return the hops of a trial's path, the client's first; `router_device` faces the far end of the first link."""
    plan = plan_of(trial)
    client, server = client_of(plan), server_of(plan)
    far = replace(server, router_device=router_device)
    if BEHIND in trial.links:
        towards_client = replace(far, role=_MIDDLE, device="m0", address=plan.middle, subnet=alone(plan.client))
        towards_server = replace(client, role=_MIDDLE, device="m1", address=plan.middle, subnet=alone(plan.server))
        return HopPlan(MAIN, client, towards_client), HopPlan(BEHIND, towards_server, server)
    main = HopPlan(MAIN, client, far)
    if SECOND not in trial.links:
        return (main,)
    client_mac, server_mac = _SECOND_MACS
    near = replace(
        client, device="c1", address=plan.second_client, mac=client_mac, peer_mac=server_mac,
        subnet=alone(plan.server), table=_TABLE,
    )  # fmt: skip
    far = replace(
        server, device="s1", mac=server_mac, peer_address=plan.second_client, peer_mac=client_mac,
        subnet=alone(plan.second_client),
    )  # fmt: skip
    return main, HopPlan(SECOND, near, far)


@dataclass(frozen=True)
class Hop:
    """A part of the path: a link in the namespace `router` between a side towards the client and one to the server."""

    link: str
    router: Namespace
    near: EndpointNamespace
    far: EndpointNamespace


class TrialPath:
    """The namespaces, devices and links of a trial. Entering makes namespaces and devices, leaving ends everything.

    `client` is the client's side of the first hop, which the caller closes after the path. `datapath` is the way by
    which packets reach a link, as `topology.datapath` returns it.
    """

    def __init__(self, trial: Trial, client: EndpointNamespace, datapath: str, router_device: str) -> None:
        self._trial, self._datapath = trial, datapath
        self._plans, self._addresses = hops_of(trial, router_device), plan_of(trial)
        self._nodes = {client.end.role: client.namespace}
        self._undo = ExitStack()
        self._routers: dict[str, Router] = {}
        self.client = client
        self.hops: list[Hop] = []

    def __enter__(self) -> Self:
        with ExitStack() as undo:
            for plan in self._plans:
                self.hops.append(self._make_hop(plan, undo))
            self._forward_in_the_middle()
            self._undo = undo.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._undo.close()

    def _make_hop(self, plan: HopPlan, undo: ExitStack) -> Hop:
        first = not self.hops
        router = self.client.router if first else undo.enter_context(Namespace())
        near = self.client if first else self._make_side(plan.near, router, undo)
        return Hop(plan.link, router, near, self._make_side(plan.far, router, undo))

    def _make_side(self, end: End, router: Namespace, undo: ExitStack) -> EndpointNamespace:
        if end.role not in self._nodes:
            self._nodes[end.role] = undo.enter_context(Namespace())
        return undo.enter_context(EndpointNamespace(end, router, self._datapath, self._nodes[end.role], shared=True))

    def _forward_in_the_middle(self) -> None:
        """Let the middle forward. Its devices are up by now, so that over IPv6 they join no group of routers."""
        if (middle := self._nodes.get(_MIDDLE)) is None:
            return
        forwarding = "ipv6/conf/all/forwarding" if self._addresses.version == 6 else "ipv4/ip_forward"
        with middle.inside():
            Path("/proc/sys/net", forwarding).write_text("1")

    @property
    def server(self) -> EndpointNamespace:
        """Return the server's side of the hop that leads from the client, over a middle or not, to it."""
        return next(hop.far for hop in self.hops if hop.far.end.role == SERVER.role)

    @property
    def middle(self) -> EndpointNamespace | None:
        """Return the middle's side towards the client, or None if the path has no middle."""
        return next((hop.far for hop in self.hops if hop.far.end.role == _MIDDLE), None)

    @property
    def second(self) -> Hop | None:
        """Return the hop that leads from the client beside the first one, or None if there is none."""
        return next((hop for hop in self.hops[1:] if hop.near.end.role == CLIENT.role), None)

    @property
    def sides(self) -> tuple[EndpointNamespace, ...]:
        """Return both sides of every hop, the client's first."""
        return tuple(side for hop in self.hops for side in (hop.near, hop.far))

    def set_tcp(self, algorithm: str | None, settings: Mapping[str, Scalar]) -> None:
        """Make TCP of every side use a congestion control, None: the kernel's own, and settings as in `Trial.tcp`.

        Both ends can reach the middle's own address then, with the same TCP.
        """
        for side in self.sides:
            side.set_tcp(algorithm, settings)
        if self.middle is not None:
            for side in (self.client, self.server):
                side.add_address(side.end.address, self._addresses.middle, algorithm, settings)

    def start_links(self, job: Job, environment: Environment, options: Sequence[str]) -> None:
        """Start the link of every hop; `options` are further options of `longlook-link`."""
        for hop in self.hops:
            router = Router(job, hop.router, hop.near, hop.far, environment, options, hop.link)
            self._undo.callback(router.process.close)
            self._routers[hop.link] = router

    def add_second_addresses(self) -> None:
        """Give both ends the second addresses that their knobs and their TCP ask for, over one path or two.

        Raise MachineError if the kernel cannot open a second subflow.
        """
        second, server, addresses = self.second, self.server, self._addresses
        if second is not None:
            multipath.prepare(self._trial, self.client.namespace)
        elif has_second_address(self._trial):
            self.client.add_second_address(addresses.second_client)
            server.know_second_address(addresses.second_client)
        if not offers_preferred_address(self._trial):
            return
        if second is None:
            server.add_second_address(addresses.second_server)
            self.client.know_second_address(addresses.second_server)
        else:  # the second path alone leads to it, and the client reaches it from its first address
            second.far.add_second_address(addresses.second_server)
            second.far.namespace.routes.add_rule(addresses.second_server, _TABLE)
            second.far.lead(addresses.client, addresses.second_server, _TABLE)
            second.near.lead(addresses.second_server, addresses.client)

    @property
    def processes(self) -> list[Process]:
        """Return the processes of all links."""
        return [router.process for router in self._routers.values()]

    @property
    def ended(self) -> bool:
        """Return whether a link has ended."""
        return any(process.exit is not None for process in self.processes)

    @property
    def ready(self) -> bool:
        """Return whether packets would flow over every link."""
        return all(router.ready for router in self._routers.values())

    def raise_if_not_ready(self) -> None:
        """Raise MachineError if a link ended or hangs before it was ready, InputError if it refuses the network."""
        for router in self._routers.values():
            router.raise_if_not_ready()

    def finish(self, *, drain: bool) -> None:
        """Stop all links; `drain`: wait for the last packet, which may cross several links."""
        finish(list(self._routers.values()), drain=drain)

    def summary(self) -> Mapping[str, Any]:
        """Return the links' summary lines as one, for the guard; {} if a link left none."""
        return together([router.summary() for router in self._routers.values()])

    def counters(self) -> dict[str, Mapping[str, int]]:
        """Return the counters of each direction of each link, as `Run.link` has them."""
        return {
            counter_name(name, direction): router.summary()[direction]
            for name, router in self._routers.items()
            for direction in ("up", "down")
            if direction in router.summary()
        }

    def observations(self) -> Observations:
        """Return what is known of all links as of one program, which ends as the first link that failed."""
        found = [observations_of(process) for process in self.processes]
        worst = next((each for each in found if each.exit_code), found[0])
        return replace(worst, lines=tuple(line for each in found for line in each.lines))

    def cpu_s(self) -> dict[str, float]:
        """Return the CPU seconds of each link that has ended, by the name of its process."""
        return {process.name: process.exit.cpu_s if process.exit else 0.0 for process in self.processes}
