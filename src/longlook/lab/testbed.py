"""The testbed of one trial: network, router, servers and clients, all running. Closing it ends all of it."""

import math
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Self

from longlook.core import FLOWS_FILE, Flow, Job, Program, Trial, flow_folder, phases_of, program_role
from longlook.lab import link_options, multipath, trial_files
from longlook.lab.addresses import SERVER_PORT, Addresses, plan_of
from longlook.lab.artefacts import write_json
from longlook.lab.client_jobs import client_job
from longlook.lab.clients import Client, SessionClient
from longlook.lab.cpu_limit import Slow, SlowSide
from longlook.lab.cpu_profiler import CpuProfiler
from longlook.lab.environment import Environment
from longlook.lab.flow_run import FlowRun, observations_of, tcp_of, tcp_of_sides
from longlook.lab.linux import processor, tcp
from longlook.lab.linux.namespace import Namespace
from longlook.lab.linux.users import end_all_of
from longlook.lab.observations import Stopped, Teardown
from longlook.lab.process import Process, stop, watch
from longlook.lab.programs import Launch, plain_client, stack_of, start_server
from longlook.lab.proxy_run import ProxyRun, connected_to
from longlook.lab.remote_client_routes import WayIn, namespace_outside
from longlook.lab.sandbox import Sandbox
from longlook.lab.session import Sessions
from longlook.lab.tcp_recorder import TcpRecorder
from longlook.lab.timing import Timing
from longlook.lab.topology import EndpointNamespace, client_of
from longlook.lab.trace_folders import TracePlaces
from longlook.lab.trial_path import TrialPath
from longlook.lab.watcher import Watcher
from longlook.lab.way_out import WayOut

READY_WITHIN_S = 10.0
SESSION_READY_WITHIN_S = 30.0
LISTENS_EVERY_S = 0.01
"""The time from one look to the next whether a server listens that does not say so."""


@dataclass(frozen=True)
class Facilities:
    """Everything that the trials of one laboratory share."""

    sessions: Sessions
    environment: Environment
    sandbox: Sandbox
    datapath: str  # how packets reach the router, as `topology.datapath` returns it
    timing: Timing
    outlets: Path | None = None  # for what programs write through descriptors; None: the trial's folder
    exchange: Path | None = None  # a folder of the host; None where there is no guest
    outside: int | None = None  # descriptor of the network namespace that it was started in; None in a guest


class Testbed:
    """The running parts of one trial. `serial` differs between the trials of a laboratory."""

    def __init__(self, job: Job, facilities: Facilities, serial: int) -> None:
        self._job, self._folder = job, Path(job.folder)
        self._sessions, self._environment = facilities.sessions, facilities.environment
        self._sandbox, self._exchange = facilities.sandbox, facilities.exchange
        self._datapath, self._outlets = facilities.datapath, facilities.outlets or self._folder
        self._serial = serial
        self._virtual, self._outside = facilities.timing.virtual, facilities.outside
        self._link_options = link_options.in_guest(job) if self._virtual else link_options.on_host()
        self._traces = TracePlaces(self._folder, virtual=self._virtual)
        self._throttled_before: dict[str, float] = {}
        self._packets_before: dict[str, int] = {}
        self._recorder: TcpRecorder | None = None
        self._profiler: CpuProfiler | None = None
        self.proxy = ProxyRun()
        self._undo = ExitStack()
        self.flow_runs: list[FlowRun] = []

    def __enter__(self) -> Self:
        with ExitStack() as undo:
            self._undo = undo
            self._start()
            self._undo = undo.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._undo.close()

    def _start(self) -> None:
        trial = self._job.trial
        self._undo.callback(self._traces.close)  # before what makes folders of traces, and so after it has ended
        session_client = self._make_client_side()
        # A session client's router may still hold the last trial's device while the kernel takes its namespace down.
        path = TrialPath(trial, self.client_side, self._datapath, router_device=f"rs{self._serial}")
        self.path = self._undo.enter_context(path)
        scratch = self._environment.scratch
        self.watcher = Watcher(self._programs, self._traces, scratch, self._exchange, virtual=self._virtual)
        tcp.apply_to_kernel(trial.tcp, own_kernel=self._virtual)
        self.path.set_tcp(None if trial.competes else trial.congestion_control, tcp_of_sides(trial))
        for side in self._with_processors():
            processor.declare(side.namespace, trial.processors[side.end.role])
            self._undo.callback(processor.declare, side.namespace, processor.FREE)  # a session client's namespace stays
        self.path.start_links(self._job, self._environment, self._link_options)
        self._add_addresses()
        self._lead_out()
        servers: dict[int, Process] = {}
        for flow in trial.each_flow():
            self._add_flow_run(flow, servers, session_client)
        self._start_proxy()
        for flow_run in self.flow_runs:
            flow_run.client.prepare()
        self._start_collectors()
        self._packets_before = self._packets()

    def _start_collectors(self) -> None:
        if (program := self._job.programs.get("trace")) is not None:
            self._recorder = TcpRecorder(
                program, SERVER_PORT, self.client_side, self.path.server, self._environment, self._folder
            )
            self._undo.callback(self._recorder.process.close)
        if self._job.trial.capture.cpu:
            self._profiler = CpuProfiler(self.path.server.namespace, self._environment, self._folder)
            self._undo.callback(self._profiler.close)

    @property
    def servers(self) -> list[Process]:
        """Return every server once: flows of one address slot share theirs."""
        return list({flow_run.server.pid: flow_run.server for flow_run in self.flow_runs}.values())

    def processes(self) -> list[Process]:
        """Return all processes that run now."""
        programs = self._programs()
        return [
            *programs["server"],
            *programs["proxy"],
            *self.path.processes,
            *programs["client"],
            *programs["tracer"],
        ]

    def await_ready(self) -> Stopped | None:
        """Wait until clients may begin and return None, else the reason why not.

        Raise MachineError if the router cannot run, InputError if it refuses the network.
        """
        clients_ready = all(flow_run.client.ready() for flow_run in self.flow_runs)
        within_s = READY_WITHIN_S if clients_ready else SESSION_READY_WITHIN_S
        looks_s = LISTENS_EVERY_S if any(not server.says_ready for server in self.servers) else math.inf
        watch(self.processes(), self._settled, within_s, lambda: min(looks_s, self.watcher.every_s()))
        if self.lost_server() is not None:
            return Stopped.SERVER_ENDED
        if self.proxy.lost:
            return Stopped.PROXY_ENDED
        self.path.raise_if_not_ready()
        if not all(flow_run.server_ready() for flow_run in self.flow_runs):
            return Stopped.SERVER_STARTED_LATE
        if not self.proxy.ready:
            return Stopped.PROXY_STARTED_LATE
        if any(flow_run.done() for flow_run in self.flow_runs):
            return Stopped.CLIENT_ENDED
        return None if all(flow_run.client.ready() for flow_run in self.flow_runs) else Stopped.CLIENT_STARTED_LATE

    def begin(self, flow_run: FlowRun) -> None:
        """Start the work of a flow's client."""
        self._throttled_before = {**self._processor_drops(), **self.client_side.slowness()}
        flow_run.begin(self._job)
        if flow_run.client.process is not None:
            flow_run.client.process.before_reap = self.watcher.count_tasks

    def lost_server(self) -> Process | None:
        """Return a server that has ended without being stopped, None if all run."""
        return next((server for server in self.servers if server.exit is not None), None)

    def _start_proxy(self) -> None:
        middle = self.path.middle
        if middle is None or self._job.trial.proxy is None:
            return
        launches = [self._launch(side, self._folder, "") for side in (middle, self.client_side)]
        for process in self.proxy.start(self._job, *launches):
            self._undo.callback(process.close)
            process.before_reap = self.watcher.count_tasks

    def tear_down(self, *, trusted: bool) -> Teardown:
        """Stop clients, servers, and the router once it is empty, in this order; `trusted` if clients did their job."""
        packets = {role: count - self._packets_before[role] for role, count in self._packets().items()}
        clients = tuple(flow_run.client_observations() for flow_run in self.flow_runs)
        slowness = self.client_side.slowness()  # before a session client that failed is dropped, and its side with it
        servers = [observations_of(flow_run.server) for flow_run in self.flow_runs]
        for flow_run in self.flow_runs:
            flow_run.end(by_itself=False)
        if self._job.trial.competes:
            write_json(self._folder / FLOWS_FILE, [flow_run.record() for flow_run in self.flow_runs])
        client_cpu_s = sum(flow_run.client.finish(trusted=trusted) for flow_run in self.flow_runs)
        proxy = self.proxy.seen()
        for program in (*self.proxy.processes, *self.servers):
            stop(program, self.path.processes)
        self.path.finish(drain=trusted)
        if self._virtual:  # what programs left in other sessions: nothing may write while their files are taken out
            plain = (flow_run.client.process for flow_run in self.flow_runs if not flow_run.client.session)
            end_all_of({each.user for each in (*self.servers, *self.proxy.processes, *plain) if each is not None})
        collectors = {**(self._recorder.finish() if self._recorder is not None else {}), **self._profile()}
        broke = {**trial_files.take_stock(self._folder, self._outlets), **self._traces.take_out()}
        held = {
            name: value - self._throttled_before.get(name, 0.0)
            for name, value in {**self._processor_drops(), **slowness}.items()
        } | multipath.counts(self._job.trial, self.path.server.namespace, clients)
        return Teardown(
            clients=tuple(
                replace(client, broke=client.broke or broke.get("client"), files=flow_run.client.files)
                for client, flow_run in zip(clients, self.flow_runs, strict=True)
            ),
            servers=tuple(
                replace(server, lines=tuple(flow_run.server.lines), broke=flow_run.server.broke or broke.get("server"))
                for server, flow_run in zip(servers, self.flow_runs, strict=True)
            ),
            link=self.path.observations(),
            proxy=self.proxy.observations(proxy),
            summary=dict(self.path.summary()),
            counters=self.path.counters(),
            cpu_s={
                "driver" if any(flow_run.client.remote for flow_run in self.flow_runs) else "client": client_cpu_s,
                "server": sum(_cpu_s(server) for server in self.servers),
                **self.proxy.cpu_s(),
                **self.path.cpu_s(),
                **{name: _cpu_s(process) for name, process in self._collecting().items()},
                **({"client_receive": held["client_receive_cpu_s"]} if "client_receive_cpu_s" in held else {}),
            },
            modelled_s={side.end.role: processor.busy_s(side.namespace) for side in self._with_processors()},
            collectors=collectors,
            throttling=held,
            kernel_counts=self._kernel_counts(packets),
        )

    def _profile(self) -> Mapping[str, str]:
        """Write where the ends of all flows spent CPU time; return what could not be, as in Run."""
        if self._profiler is None:
            return {}
        clients = [
            flow_run.client.process
            for flow_run in self.flow_runs
            if flow_run.client.process is not None and not flow_run.client.remote
        ]
        roots = {"client": clients, "server": self.servers}
        return self._profiler.finish({role: [process.pid for process in of] for role, of in roots.items() if of})

    def _packets(self) -> dict[str, int]:
        """Return how many packets each end's kernel has taken from its device, those merged by an offload as one."""
        if self._virtual:
            return {}
        # The kernel of a client on another machine is not this one.
        sides = (self.path.server,) if isinstance(self.client_side, WayIn) else (self.client_side, self.path.server)
        return {side.end.role: side.namespace.received(side.end.device) for side in sides}

    def _kernel_counts(self, packets: Mapping[str, int]) -> dict[str, dict[str, int]]:
        calls = {} if self._profiler is None else self._profiler.calls
        return {
            role: {"packets": count, **({"calls": calls[role]} if role in calls else {})}
            for role, count in packets.items()
        }

    def _with_processors(self) -> list[EndpointNamespace]:
        sides = (self.client_side, self.path.server)
        return [side for side in sides if side.end.role in self._job.trial.processors]

    def _programs(self) -> dict[str, list[Process]]:
        """Return the processes of programs that were started so far, by role."""
        clients = [flow_run.client.process for flow_run in self.flow_runs if flow_run.client.process is not None]
        tracers = list(self._collecting().values())
        return {"server": self.servers, "proxy": self.proxy.processes, "client": clients, "tracer": tracers}

    def _collecting(self) -> dict[str, Process]:
        """Return the processes of collectors, by the name that their CPU time goes under."""
        found = {} if self._recorder is None else {"tracer": self._recorder.process}
        if self._profiler is not None and self._profiler.process is not None:
            found["profiler"] = self._profiler.process
        return found

    def _processor_drops(self) -> dict[str, float]:
        """Return how many packets endpoints dropped so far because the processors that they were given were busy."""
        return {
            f"{side.end.role}_processor_dropped": float(processor.dropped(side.namespace))
            for side in self._with_processors()
        }

    def _settled(self) -> bool:
        self.watcher.look_if_due()
        if self.lost_server() is not None or self.proxy.lost or self.path.ended:
            return True
        if any(flow_run.done() for flow_run in self.flow_runs):
            return True
        recorded = all(each is None or each.settled() for each in (self._recorder, self._profiler))
        up = all(flow_run.server_ready() and flow_run.client.ready() for flow_run in self.flow_runs)
        return self.path.ready and self.proxy.ready and up and recorded and self.client_side.settled()

    def _make_client_side(self) -> SessionClient | None:
        """Make the client's side of the network; return the session client that it belongs to, or None."""
        job, trial = self._job, self._job.trial
        if not trial.competes and stack_of(trial.client).session_command is not None:
            session = self._sessions.get(
                stack_of(trial.client),
                job.programs["client"],
                job.identity,
                capture=trial.capture,
                slow=self._slow(),
                addresses=plan_of(trial),
            )
            self.client_side = session.side
            client = SessionClient(session, self._sessions, self._folder)
            self._undo.callback(lambda: client.finish(trusted=False))
            return client
        network = self._undo.enter_context(Namespace())
        slow, end = self._slow(), client_of(plan_of(trial))
        self.client_side = self._undo.enter_context(
            EndpointNamespace(end, network, self._datapath)
            if slow is None
            else SlowSide(end, network, self._datapath, slow, self._environment, f"trial-{self._serial}")
        )
        return None

    def _slow(self) -> Slow | None:
        """Return how slow the client is to be made; None if it has all the CPU time it likes."""
        share = self._job.trial.client_cpu_share
        return None if share is None else Slow(share, self._job.programs["link"].path)

    def _add_addresses(self) -> None:
        """Give both sides the addresses of all flows, each with the TCP of its flow."""
        trial = self._job.trial
        if not trial.competes:
            self.path.add_second_addresses()
            return
        first_of_slots: dict[int, Flow] = {}
        for flow in trial.each_flow():
            first_of_slots.setdefault(flow.address_slot, flow)
        for slot, flow in first_of_slots.items():
            where, settings = plan_of(trial).of_slot(slot), tcp_of(trial, flow)
            self.client_side.add_address(where.client, where.server, flow.congestion_control, settings)
            self.path.server.add_address(where.server, where.client, flow.congestion_control, settings)

    def _plain_client(self, trial: Trial, program: Program, server: str, folder: Path, name: str) -> Client:
        job = replace(self._job, trial=trial)
        launch = self._launch(self.client_side, folder, name)
        client = plain_client(job, program, launch, client_job(trial, job.content, job.identity, server, job.site))
        self._undo.callback(lambda: client.finish(trusted=False))
        return client

    def _add_flow_run(self, flow: Flow, servers: dict[int, Process], session_client: SessionClient | None) -> None:
        """Add the run of a flow; `servers` has the servers that run already, by address slot."""
        job, where = self._job, plan_of(self._job.trial).of_slot(flow.address_slot)
        trial, folder = job.trial.with_only(flow), flow_folder(self._folder, flow)
        if flow.competes:
            folder.mkdir(parents=True)
        if flow.address_slot not in servers:
            program = job.programs[program_role(flow, "server")]
            servers[flow.address_slot] = self._start_server(trial, program, where, folder, flow.name)
        to = where if flow.competes else replace(where, server=connected_to(trial))
        client = session_client or self._plain_client(
            trial, job.programs[program_role(flow, "client")], to.server, folder, flow.name
        )
        phases = phases_of(flow) if flow.competes else job.content.phases
        self.flow_runs.append(FlowRun(trial, client, servers[flow.address_slot], to, folder, phases, flow))

    def _lead_out(self) -> None:
        """Lead from the server's side to the site that stands there in place of a server, if there is one."""
        if (site := self._job.site) is not None:
            outside = self._undo.enter_context(namespace_outside(self._outside))
            self._undo.enter_context(WayOut(self.path.server, outside, site.address, self._serial))

    def _launch(self, side: EndpointNamespace, folder: Path, name: str) -> Launch:
        return Launch(side, self._environment, self._sandbox, folder, self._outlets, self._traces, name)

    def _start_server(self, trial: Trial, program: Program, where: Addresses, folder: Path, name: str) -> Process:
        job = replace(self._job, trial=trial)
        server = start_server(job, program, where.server, self._launch(self.path.server, folder, name))
        self._undo.callback(server.close)
        server.before_reap = self.watcher.count_tasks
        return server


def _cpu_s(process: Process) -> float:
    return process.exit.cpu_s if process.exit else 0.0
