"""One flow of a trial as it runs: its client, its server, its addresses, its times; and the schedule of all flows."""

import os
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from longlook.core import Content, Flow, Job, Scalar, Trial, watched_s
from longlook.lab.addresses import SERVER_PORT, Addresses
from longlook.lab.client_jobs import client_job
from longlook.lab.clients import Client
from longlook.lab.judge import succeeded
from longlook.lab.observations import FlowKind, Observations, Span
from longlook.lab.process import Process

_TAIL_BYTES = 1 << 16
_LINES = 3
_LONGEST_CHARACTERS = 300
_BEGINNINGS = ("panic: ", "fatal error: ", "thread '")
"""Go and Rust print the cause first and a trace of the stack after it; other programs print the cause last."""


@dataclass
class FlowRun:
    """A client and the server that it talks to. `trial` is the trial as this flow sees it, `folder` the flow's own."""

    trial: Trial
    client: Client
    server: Process
    addresses: Addresses
    folder: Path
    phases: tuple[tuple[str, ...], ...]
    flow: Flow
    began_unix_ns: int | None = None
    ended_unix_ns: int | None = None
    ended_by_itself: bool = False

    @property
    def kind(self) -> FlowKind:
        """Return what the flow has to do for its trial to be ok."""
        if (
            not self.flow.competes
            or watched_s(self.trial.workload) is not None
            or (self.flow.object_bytes is not None and not self.flow.cross)
        ):
            return FlowKind.FINITE
        return FlowKind.CROSS if self.flow.cross else FlowKind.BULK

    @property
    def name(self) -> str:
        """Return the flow's name, "" if it does not compete."""
        return self.flow.name

    def server_ready(self) -> bool:
        """Return whether its server has printed its ready line, or listens if it prints none."""
        self.server.note_listening(SERVER_PORT)
        return bool(self.server.events("ready"))

    def begin(self, job: Job) -> None:
        """Start the client's work and note the time."""
        self.began_unix_ns = time.time_ns()
        self.client.begin(client_job(self.trial, self.content(job), job.identity, self.addresses.server, job.site))

    def done(self) -> bool:
        """Return whether its client has ended by itself; the first call that finds it so notes the time."""
        if self.began_unix_ns is None and self.flow.competes:
            return False
        done = self.client.done()
        if done and self.ended_unix_ns is None:
            self.end(by_itself=True)
        return done

    def end(self, *, by_itself: bool) -> None:
        """Note the time of the flow's end; only the first call counts, and only for a flow that has begun."""
        if self.began_unix_ns is not None and self.ended_unix_ns is None:
            self.ended_unix_ns, self.ended_by_itself = time.time_ns(), by_itself

    def record(self) -> dict[str, Any]:
        """Return the flow's entry in `flows.json`; its times are None if it never began."""
        return {
            "name": self.name,
            "group": self.flow.group,
            "cross": self.flow.cross,
            "client_address": self.addresses.client,
            "server_address": self.addresses.server,
            "began_unix_ns": self.began_unix_ns,
            "ended_unix_ns": self.ended_unix_ns,
            "ended_by_itself": self.ended_by_itself,
        }

    @property
    def lasted_s(self) -> float:
        """Return the time from its start to its end; 0 if one of them is missing."""
        if self.began_unix_ns is None or self.ended_unix_ns is None:
            return 0.0
        return (self.ended_unix_ns - self.began_unix_ns) / 1e9

    @property
    def span(self) -> Span | None:
        """Return the time from its start to its end; None if one of them is missing."""
        if self.began_unix_ns is None or self.ended_unix_ns is None:
            return None
        return Span(self.began_unix_ns, self.ended_unix_ns)

    def client_observations(self) -> Observations:
        """Return what is known of its client by now."""
        return observations_of(self.client.process)

    def in_order(self) -> bool:
        """Return whether it ended as planned: its client succeeded, or still runs and is meant to."""
        running = self.kind is not FlowKind.FINITE and not self.client.done()
        return running or succeeded(self.client_observations(), session=self.client.session)

    def content(self, job: Job) -> Content:
        """Return the part of the job's content that its client has to fetch."""
        if not self.flow.competes or job.content.video:
            return job.content
        wanted = {path: job.content.expected[path] for phase in self.phases for path in phase}
        return replace(job.content, phases=self.phases, expected=wanted)


class FlowSchedule:
    """Starts the flows on time and decides when the trial is over.

    A trial with one flow starts it at once and ends when its client is done. `duration_s` stops all flows together;
    None waits for flows that have a fixed amount to fetch.
    """

    def __init__(self, flow_runs: list[FlowRun], duration_s: float | None, begin: Callable[[FlowRun], None]) -> None:
        self._flow_runs, self._duration_s, self._begin = flow_runs, duration_s, begin
        self._waiting = sorted((flow_run for flow_run in flow_runs), key=_start_s)
        self._began = 0.0
        self.stopped = False

    def begin(self) -> None:
        """Start the clock, and the flows that are due at once."""
        self._began = time.monotonic()
        self._start_due()

    def over(self) -> bool:
        """Start the flows that are due; return whether there is nothing left to wait for."""
        self._start_due()
        if self._duration_s is not None:
            self.stopped = time.monotonic() - self._began >= self._duration_s
            return self.stopped or any(
                flow_run.done() for flow_run in self._flow_runs if flow_run.kind is FlowKind.BULK
            )
        competing = [flow_run for flow_run in self._flow_runs if flow_run.kind is not FlowKind.CROSS]
        return all([flow_run.done() for flow_run in competing])  # noqa: C419 each has to note its own end

    def next_s(self) -> float:
        """Return the seconds until something is due that no program announces."""
        due = [_start_s(flow_run) for flow_run in self._waiting[:1]]
        due += [] if self._duration_s is None else [self._duration_s]
        return max(0.0, min(due, default=float("inf")) - (time.monotonic() - self._began))

    def _start_due(self) -> None:
        elapsed_s = time.monotonic() - self._began
        while self._waiting and _start_s(self._waiting[0]) <= elapsed_s:
            self._begin(self._waiting.pop(0))


def _start_s(flow_run: FlowRun) -> float:
    return flow_run.flow.start_s


def observations_of(process: Process | None) -> Observations:
    """Return what is known of a program by now; of one that ended with an error also an excerpt of its stderr."""
    if process is None:
        return Observations()
    code = process.exit.code if process.exit else None
    stderr = read_excerpt(process.stderr) if code else ""
    output = excerpt("\n".join(process.tail)) if code and not process.says_ready else ""
    return Observations(tuple(process.lines), tuple(process.junk), code, stderr, process.broke, output)


def tcp_of(trial: Trial, flow: Flow) -> dict[str, Scalar]:
    """Return the settings of TCP of one of a trial's flows, which has its own initial window if it competes.

    A flow that competes and has no window of its own has the kernel's.
    """
    if not flow.competes:
        return dict(trial.tcp)
    shared = {name: value for name, value in trial.tcp.items() if name != "initial_window_packets"}
    own = flow.initial_window_packets
    return shared if own is None else {**shared, "initial_window_packets": own}


def tcp_of_sides(trial: Trial) -> dict[str, Scalar]:
    """Return the trial's settings of TCP with the largest initial window of its flows, for which buffers need room."""
    windows = [flow.initial_window_packets for flow in trial.each_flow() if flow.initial_window_packets is not None]
    return {**trial.tcp, "initial_window_packets": max(windows)} if windows else dict(trial.tcp)


def read_excerpt(path: Path) -> str:
    """Return an excerpt of a file of standard error; "" if the file is missing or empty."""
    try:
        with path.open("rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - _TAIL_BYTES))
            return excerpt(file.read().decode(errors="replace"))
    except OSError:
        return ""


def excerpt(text: str) -> str:
    """Return at most three lines, joined by " | ", that are most likely to name the cause of a program's end.

    These are the lines from the last panic of Go or Rust on, else the last lines. Blank lines do not count, and the
    result has at most 300 characters.
    """
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    panics = [number for number, line in enumerate(lines) if line.startswith(_BEGINNINGS)]
    chosen = lines[panics[-1] : panics[-1] + _LINES] if panics else lines[-_LINES:]
    joined = " | ".join(chosen)
    if len(joined) <= _LONGEST_CHARACTERS:
        return joined
    return f"{joined[:_LONGEST_CHARACTERS]} …" if panics else f"… {joined[-_LONGEST_CHARACTERS:]}"
