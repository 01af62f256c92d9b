"""The client's side of the network if the client has only a share of one CPU.

    client's namespace [c0] ══veth══ [ci] relay [ri] ══veth══ [rc] longlook-link [rs] ══veth══ server

A kernel processes an arriving packet (TCP's receiver and its acknowledgements, UDP's queue) on the account of the
program that hands it the packet. On a usual side this program is the router, outside of any quota. Here it is the
relay, a member of the client's control group, so that the work for each packet comes out of the client's share. While
the share is used up, packets wait in the relay, at most `BACKLOG_PACKETS` of them. The relay is `longlook-link` without
stages.
"""

import json
import os
import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from longlook.core import Link, MachineError, cpu_of_tree
from longlook.lab.environment import Environment
from longlook.lab.linux import receive_cost
from longlook.lab.linux.cpuquota import CpuQuota
from longlook.lab.linux.namespace import Namespace
from longlook.lab.linux.offload import switch_off
from longlook.lab.process import Process, start, watch
from longlook.lab.topology import PACKET, End, EndpointNamespace, join
from longlook.network import linger_of, link_config

BACKLOG_PACKETS = 1024  # as many as Linux lets wait for a CPU (net.core.netdev_max_backlog is 1,000)
_TO_CLIENT, _TO_ROUTER = ("ci", "02:00:00:00:02:01"), ("ri", "02:00:00:00:02:02")
_NOTHING = Link((), ())
_READY_WITHIN_S, _IDLE_S = 10.0, 0.1
_FIRST = -20  # nice: a kernel handles packets before its programs run


@dataclass(frozen=True)
class Slow:
    """How slow a client is made: its share of one CPU. `relay` is the path of the program `longlook-link`."""

    share: float
    relay: str


class SlowSide(EndpointNamespace):
    """A client's side with a share of one CPU; start the client's programs inside `quota`.

    `name` tells this side's control group from others of the laboratory. Raise MachineError if this
    machine cannot limit both the programs and the kernel's work for them.
    """

    quota: CpuQuota

    def __init__(self, end: End, router: Namespace, path: str, slow: Slow, environment: Environment, name: str) -> None:
        if path != PACKET:
            raise MachineError(
                f"client_cpu limits what the client's kernel does, which LONGLOOK_DATAPATH={path} does not allow",
                f"leave out client_cpu, or use LONGLOOK_DATAPATH={PACKET}",
            )
        receive_cost.check_charged()
        self._relay: Process | None = None
        self._seen: tuple[int, int] | None = None
        self._since_s = 0.0
        with ExitStack() as undo:
            self.quota = CpuQuota(environment.marker, name, slow.share)
            undo.callback(self.quota.close)
            self._between = undo.enter_context(Namespace())
            own = Namespace()
            self._parts = undo.pop_all()
        super().__init__(end, router, path, own)  # which closes this side where it fails
        try:
            self._start_relay(slow.relay, environment)
        except BaseException:
            self.close()
            raise

    def namespaces(self) -> list[Namespace]:
        """Return the namespaces of this side's programs, the relay's among them."""
        return [*super().namespaces(), self._between]

    def settled(self) -> bool:
        """Return whether the relay has been idle for `_IDLE_S`: a session's last trial may have left it packets."""
        now_s, counted = time.monotonic(), (self._waiting_down(), self._waiting_up())
        if counted != self._seen:
            self._seen, self._since_s = counted, now_s
        return now_s - self._since_s >= _IDLE_S

    def drops(self) -> int:
        """Return the packets that were lost on this side outside the router and the relay."""
        between = (self._between.drops(device) for device, _ in (_TO_CLIENT, _TO_ROUTER))
        return super().drops() + sum(each["tx_dropped"] + each["tx_errors"] + each["rx_errors"] for each in between)

    def slowness(self) -> dict[str, float]:
        """Return what the share has done so far, as the guard's numbers (docs/explanation/lab.md)."""
        relay = self._relay
        if relay is None or relay.has_ended():
            raise MachineError(
                "the client's relay has ended", "run it again; if it ends again, this is a bug: report it"
            )
        return {
            **self.quota.throttled(),
            "client_receive_cpu_s": cpu_of_tree(relay.pid),
            "client_receive_dropped": float(self._waiting_down()),
            "client_send_dropped": float(self._waiting_up()),
        }

    def close(self) -> None:
        """End the relay and remove everything."""
        if self._relay is not None:
            self._relay.close()
            self._relay = None
        super().close()
        self._parts.close()

    def _waiting_down(self) -> int:
        """Return how many packets came to the relay for the client that have not reached its kernel."""
        return self._between.received(_TO_ROUTER[0]) - self.namespace.received(self.end.device)

    def _waiting_up(self) -> int:
        """Return how many packets of the client have not reached the router."""
        return self._between.received(_TO_CLIENT[0]) - self.router.received(self.end.router_device)

    def _make_veth(self) -> None:
        join((self.namespace, self.end.device, self.end.mac), (self._between, *_TO_CLIENT))
        join((self._between, *_TO_ROUTER), (self.router, self.end.router_device, self.end.router_mac))
        with self._between.inside():
            switch_off(_TO_ROUTER[0])
        self._between.routes.set_up(self._between.index(_TO_ROUTER[0]))

    def _start_relay(self, relay: str, environment: Environment) -> None:
        self._relay = process = start(
            "the client's relay",
            [
                *(relay, "run", "--config", "/dev/stdin", "--log", os.devnull),  # the router's log is that of the link
                *("--client-if", _TO_CLIENT[0], "--server-if", _TO_ROUTER[0]),
                *("--ring-frames", str(BACKLOG_PACKETS), "--no-fifo", "--no-memory-lock"),
            ],
            self._between,
            environment.variables({}, {}),
            stdout_log=None,
            stderr_log=Path(os.devnull),
            with_stdin=True,
        )
        self._prepare(process)

    def _prepare(self, relay: Process) -> None:
        """Configure the relay, wait until it is ready, and make it a member of the group that runs first."""
        relay.write_line(json.dumps(link_config(_NOTHING, 0, linger_of(_NOTHING))))
        relay.close_stdin()
        watch([relay], lambda: bool(relay.events("ready")) or relay.exit is not None, _READY_WITHIN_S)
        if not relay.events("ready"):
            reasons = [str(line.get("reason")) for line in relay.events("error")]
            ended = "it does not become ready" if relay.exit is None else f"it ended with {relay.exit}"
            raise MachineError(
                f"the client's relay cannot run: {', '.join(reasons) or ended}", "install it again: longlook setup"
            )
        self.quota.add(relay.pid)
        try:
            os.setpriority(os.PRIO_PROCESS, relay.pid, _FIRST)
        except PermissionError as error:
            raise MachineError(
                "client_cpu needs the right to raise a program's priority (CAP_SYS_NICE)",
                "run as root on the host, or leave out client_cpu",
            ) from error
