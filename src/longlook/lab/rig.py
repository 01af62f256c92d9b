"""Everything one trial needs up and running: network, router, server, client. Closing it ends all of it."""

import os
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from longlook import registry
from longlook.errors import InputError
from longlook.job import Job
from longlook.lab.clients import Client, PlainClient, SessionClient
from longlook.lab.cpuquota import CpuQuota
from longlook.lab.judge import Evidence, Stopped, succeeded
from longlook.lab.namespace import Namespace
from longlook.lab.network import CLIENT, SERVER, SERVER_ADDRESS, Side
from longlook.lab.process import Process, start, stop, watch
from longlook.lab.router import Router
from longlook.lab.session import Sessions
from longlook.lab.surroundings import Surroundings
from longlook.lab.tcptrace import TcpRecorder
from longlook.lab.timing import Timing
from longlook.stacks import ClientJob, ServerJob, Stack

SERVER_PORT = 443
READY_WITHIN_S = 10.0
SESSION_READY_WITHIN_S = 30.0

LINK_OPTIONS_IN_GUEST = ("--ring-frames", "256", "--no-memory-lock")
"""Nobody stops the router there while packets wait, so large rings locked in memory would only cost time to make."""

_SPIN_US = 100
_CPUS_TO_SPARE = 4
_SPIN_PERCENT, _SPIN_PERCENT_ON_FEW = 80, 50


def link_options_on_host() -> tuple[str, ...]:
    """Spinning before a packet is due; on few CPUs for less of the time, for client and server need them too."""
    spare = len(os.sched_getaffinity(0)) >= _CPUS_TO_SPARE
    percent = _SPIN_PERCENT if spare else _SPIN_PERCENT_ON_FEW
    return ("--spin-us", str(_SPIN_US), "--spin-percent", str(percent))


@dataclass(frozen=True)
class Remains:
    """What is left of a rig that has been taken down."""

    client: Evidence
    server: Evidence
    link: Evidence
    summary: dict[str, Any]  # the router's
    cpu_s: dict[str, float]
    throttling: dict[str, float]  # of a client with a share of a CPU
    collectors: Mapping[str, str]  # as in Run


class Rig:
    """The running parts of one trial. `serial` differs between the trials of a laboratory."""

    def __init__(
        self, job: Job, sessions: Sessions, surroundings: Surroundings, path: str, serial: int, timing: Timing
    ) -> None:
        self._job, self._folder = job, Path(job.folder)
        self._sessions, self._surroundings, self._path = sessions, surroundings, path
        # A warm client's router may still hold the last trial's device while the kernel takes its namespace down.
        self._server_end = replace(SERVER, router_device=f"rs{serial}")
        self._link_options = LINK_OPTIONS_IN_GUEST if timing.virtual else link_options_on_host()
        self._serial = serial
        self._quota: CpuQuota | None = None
        self._throttled_before: dict[str, float] = {}
        self._recorder: TcpRecorder | None = None
        self._undo = ExitStack()

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
        self.client, self.client_side, network = self._make_client()
        self._undo.callback(lambda: self.client.finish(trusted=False))
        self.server_side = self._undo.enter_context(Side(self._server_end, network, self._path))
        for side in (self.client_side, self.server_side):
            side.set_tcp(trial.congestion_control, trial.tcp)
        self.router = Router(
            self._job, network, self.client_side, self.server_side, self._surroundings, self._link_options
        )
        self._undo.callback(self.router.process.close)
        self.server = self._start_server()
        self._undo.callback(self.server.close)
        if (program := self._job.programs.get("trace")) is not None:
            self._recorder = TcpRecorder(
                program, SERVER_PORT, self.client_side, self.server_side, self._surroundings, self._folder
            )
            self._undo.callback(self._recorder.process.close)

    def processes(self) -> list[Process]:
        """All that run now."""
        client = [] if self.client.process is None else [self.client.process]
        recorder = [] if self._recorder is None else [self._recorder.process]
        return [self.server, self.router.process, *client, *recorder]

    def await_ready(self) -> Stopped | None:
        """Wait until the client may begin; else say what did not come up. MachineError where the router cannot run."""
        wait_s = SESSION_READY_WITHIN_S if not self.client.ready() else READY_WITHIN_S
        watch(self.processes(), self._settled, wait_s)
        if self.server.exit is not None:
            return Stopped.SERVER_ENDED
        self.router.raise_if_not_ready()
        if not self._server_ready():
            return Stopped.SERVER_STARTED_LATE
        if self.client.done():
            return Stopped.CLIENT_ENDED
        return None if self.client.ready() else Stopped.CLIENT_STARTED_LATE

    def begin(self) -> None:
        """Let the client go."""
        trial, content = self._job.trial, self._job.content
        self._throttled_before = self._throttled()
        self.client.begin(
            ClientJob(
                protocol=trial.protocol,
                connection=trial.connection,
                address=SERVER_ADDRESS,
                port=SERVER_PORT,
                phases=content.phases,
                identity=self._job.identity,
                knobs=trial.client.knobs,
                timeout_s=trial.timeout_s,
                connections=content.connections,
            )
        )

    def client_succeeded(self) -> bool:
        """Whether the client has ended its job by itself and well."""
        return succeeded(evidence_of(self.client.process), session=self.client.session)

    def take_down(self, *, trusted: bool) -> Remains:
        """Stop client, server, and the router once it is empty, in this order; `trusted` if the client did its job."""
        client_evidence = evidence_of(self.client.process)
        server_evidence = evidence_of(self.server)
        client_cpu_s = self.client.finish(trusted=trusted)
        stop(self.server, [self.router.process])
        summary = self.router.finish(drain=trusted)
        collectors = self._recorder.finish() if self._recorder is not None else {}
        return Remains(
            client=client_evidence,
            server=replace(server_evidence, lines=tuple(self.server.lines)),
            link=evidence_of(self.router.process),
            summary=dict(summary),
            cpu_s={
                "client": client_cpu_s,
                "server": _cpu_s(self.server),
                "link": _cpu_s(self.router.process),
                **({"tracer": _cpu_s(self._recorder.process)} if self._recorder is not None else {}),
            },
            collectors=collectors,
            throttling={
                name: value - self._throttled_before.get(name, 0.0) for name, value in self._throttled().items()
            },
        )

    def _throttled(self) -> dict[str, float]:
        return {} if self._quota is None else self._quota.throttled()

    def _settled(self) -> bool:
        ended = self.server.exit is not None or self.router.process.exit is not None or self.client.done()
        recorded = self._recorder is None or self._recorder.settled()
        return ended or (self.router.ready and self._server_ready() and self.client.ready() and recorded)

    def _server_ready(self) -> bool:
        return bool(self.server.events("ready"))

    def _make_client(self) -> tuple[Client, Side, Namespace]:
        trial = self._job.trial
        stack: Stack = registry.get("stacks", trial.client.stack)
        program = self._job.programs["client"]
        if stack.session_command is not None:
            session = self._sessions.get(
                stack,
                program,
                self._job.identity,
                capture=trial.capture,
                cpu_share=trial.client_cpu_share,
            )
            self._quota = session.quota
            return SessionClient(session, self._sessions, self._folder), session.side, session.router
        if stack.client_command is None:
            raise InputError(f"stack {stack.name} has no client", "see: longlook stacks list")
        if trial.client_cpu_share is not None:
            self._quota = CpuQuota(self._surroundings.marker, f"trial-{self._serial}", trial.client_cpu_share)
            self._undo.callback(self._quota.close)
        network = self._undo.enter_context(Namespace())
        side = self._undo.enter_context(Side(CLIENT, network, self._path))
        job_file = self._folder / "client.json"
        command = stack.client_command(program, str(job_file))
        env = self._surroundings.environment(self._captures("client"), command.env)
        return PlainClient(command, env, side, self._folder, job_file, self._quota), side, network

    def _start_server(self) -> Process:
        trial = self._job.trial
        stack: Stack = registry.get("stacks", trial.server.stack)
        if stack.server_command is None:
            raise InputError(f"stack {stack.name} has no server", "see: longlook stacks list")
        order = ServerJob(
            protocol=trial.protocol,
            address=SERVER_ADDRESS,
            port=SERVER_PORT,
            www=self._job.content.root,
            identity=self._job.identity,
            knobs=trial.server.knobs,
        )
        command = stack.server_command(self._job.programs["server"], order)
        return start(
            "server",
            command.argv,
            self.server_side.namespace,
            self._surroundings.environment(self._captures("server"), command.env),
            stdout_log=self._folder / "server.jsonl",
            stderr_log=self._folder / "server.stderr",
        )

    def _captures(self, role: str) -> dict[str, str]:
        capture, own = self._job.trial.capture, {}
        if capture.qlog:
            qlog = self._folder / "qlog" / role
            qlog.mkdir(parents=True, exist_ok=True)
            own["QLOGDIR"] = str(qlog)
        if capture.keylog and role == "client":
            own["SSLKEYLOGFILE"] = str(self._folder / "keys.log")
        return own


def evidence_of(process: Process | None) -> Evidence:
    """What a program has said and done by now."""
    if process is None:
        return Evidence()
    return Evidence(tuple(process.lines), tuple(process.junk), process.exit.code if process.exit else None)


def _cpu_s(process: Process) -> float:
    return process.exit.cpu_s if process.exit else 0.0
