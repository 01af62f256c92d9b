"""Runs one trial, from an empty network to a sealed folder. The order of the steps is here, each step elsewhere."""

import os
import time
from collections.abc import Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

from longlook.core import BEHIND, LOAD_FILE, Job, Outcome, Run, endpoints_of, link_file, stop_after_s, with_port
from longlook.lab import artefacts, guard, multipath
from longlook.lab.addresses import SERVER_PORT, plan_of
from longlook.lab.congestion_proof import CongestionProof
from longlook.lab.flow_run import FlowRun, FlowSchedule, tcp_of
from longlook.lab.guard import CounterReading
from longlook.lab.judge import judge_all
from longlook.lab.link_log import LinkLog, LinkLogError, read_link_log
from longlook.lab.linux import cpufreq
from longlook.lab.loads import load_lines, load_of
from longlook.lab.observations import FlowCase, FlowKind, Judgement, LoadSeen, Observations, Span, Stopped, Teardown
from longlook.lab.process import watch
from longlook.lab.programs import stack_of
from longlook.lab.testbed import Facilities, Testbed
from longlook.lab.timing import Timing, unix_minus_monotonic_ns
from longlook.lab.topology import EndpointNamespace

GRACE_S = 1.0
"""Time beyond the trial's limit, for a client that ends by itself and reports what had arrived."""

SERVER_EXIT_DELAY_S = 0.25
"""A client may see its connection break before the kernel reports the server's end, which is the better reason."""


_IDLE, _IOWAIT, _STEAL, _COLUMNS = (
    3,
    4,
    7,
    8,
)  # of /proc/stat; the columns behind them count guests, which user time already includes


@dataclass(frozen=True)
class _Measurement:
    stopped: Stopped
    duration_s: float
    before: guard.CounterReading
    after: guard.CounterReading
    congestion_controls: tuple[frozenset[str], ...]  # as seen in the kernel, in the order of the testbed's flow_runs


def run_trial(job: Job, facilities: Facilities, serial: int) -> Run:
    """Run one job and return its result; its folder is complete then, and only session clients still run.

    `serial` differs between the trials of a laboratory. Raise MachineError or InputError if nothing can be measured
    here; every other failure is an outcome.
    """
    timing = facilities.timing
    timing.align()
    folder = Path(job.folder)
    started_unix_ns, began = time.time_ns(), time.monotonic()
    clock_ns = unix_minus_monotonic_ns()
    killed = out_of_memory_kills()
    artefacts.write_json(folder / "trial.json", job.trial)
    with Testbed(job, facilities, serial) as testbed:
        late = testbed.await_ready()
        setup_s = time.monotonic() - began
        measured = _measure(testbed, job, late, timing)
        ended = time.monotonic()
        teardown = testbed.tear_down(trusted=measured.stopped is Stopped.CLIENT_ENDED)
    own_cpu_s = sum(teardown.cpu_s.values()) / (os.cpu_count() or 1)
    observed = guard.observe(measured.before, measured.after, teardown.summary, own_cpu_s) | teardown.throttling
    trial_span = Span(started_unix_ns, time.time_ns())
    judgement = _judge(testbed, job, measured, teardown, observed, trial_span, clock_ns, virtual=timing.virtual)
    if judgement.outcome is not Outcome.OK:
        if not timing.virtual:  # what a guest has no room for, its programs have written
            artefacts.raise_if_full(folder)
        if out_of_memory_kills() > killed and not teardown.broke:
            reason = f"{judgement.reason}; the kernel ran out of memory and killed a process"
            judgement = replace(judgement, reason=reason)
    run = Run(
        trial_id=job.trial.id,
        outcome=judgement.outcome,
        reason=judgement.reason,
        hint=judgement.hint,
        attempt=job.attempt,
        engine=timing.engine,
        exact=timing.exact and all(stack_of(end).repeats for end in endpoints_of(job.trial)),
        started_unix_ns=started_unix_ns,
        setup_s=setup_s,
        measure_s=measured.duration_s,
        teardown_s=time.monotonic() - ended,
        programs={role: program.digest for role, program in job.programs.items()},
        artefacts=artefacts.digests(folder),
        cpu_s=teardown.modelled_s if timing.virtual else teardown.cpu_s,  # all else is free in a guest
        collectors=teardown.collectors,
        link=teardown.counters,
        guard=observed,
        kernel_counts=teardown.kernel_counts,
    )
    artefacts.seal(folder, run)
    return run


def _measure(testbed: Testbed, job: Job, late: Stopped | None, timing: Timing) -> _Measurement:
    sides = testbed.path.sides
    before = take_reading(sides)
    if late is not None:
        testbed.watcher.look()
        return _Measurement(late, 0.0, before, take_reading(sides), (frozenset(),) * len(testbed.flow_runs))
    running = testbed.processes()

    def begin(flow_run: FlowRun) -> None:
        testbed.begin(flow_run)
        if flow_run.client.process is not None and flow_run.client.process not in running:
            running.append(flow_run.client.process)

    schedule = FlowSchedule(testbed.flow_runs, stop_after_s(job.trial.workload), begin)
    with closing(CongestionProof(testbed.flow_runs, sides)) as proof:

        def over() -> bool:
            testbed.watcher.look_if_due()
            proof.look()
            ended = testbed.lost_server() is not None or testbed.proxy.lost or testbed.path.ended
            return schedule.over() or ended

        timing.align(phase_ns=job.trial.start_phase_ns)
        began = time.monotonic()
        schedule.begin()
        in_time = watch(
            running,
            over,
            job.trial.timeout_s + GRACE_S,
            lambda: min(proof.every_s(), schedule.next_s(), testbed.watcher.every_s()),
        )
        duration_s = time.monotonic() - began
        testbed.watcher.look()
        seen = tuple(proof.seen_of(flow_run) for flow_run in testbed.flow_runs)
    if not all(flow_run.in_order() for flow_run in testbed.flow_runs):
        watch(running, lambda: testbed.lost_server() is not None or testbed.proxy.lost, SERVER_EXIT_DELAY_S)
    return _Measurement(_stop_reason(testbed, in_time=in_time), duration_s, before, take_reading(sides), seen)


def _stop_reason(testbed: Testbed, *, in_time: bool) -> Stopped:
    if testbed.path.ended:
        return Stopped.LINK_ENDED
    if testbed.lost_server() is not None:
        return Stopped.SERVER_ENDED
    if testbed.proxy.lost:
        return Stopped.PROXY_ENDED
    return Stopped.CLIENT_ENDED if in_time else Stopped.CLIENT_HUNG


def _judge(
    testbed: Testbed,
    job: Job,
    measured: _Measurement,
    teardown: Teardown,
    observed: Mapping[str, float],
    trial_span: Span,
    clock_ns: int,
    *,
    virtual: bool,
) -> Judgement:
    try:
        finite = [teardown.summary and flow_run.kind is FlowKind.FINITE for flow_run in testbed.flow_runs]
        logs = [_log_of(job, each) if asked else None for each, asked in zip(testbed.flow_runs, finite, strict=True)]
    except (LinkLogError, OSError) as error:
        return Judgement(Outcome.INVALID, f"the link's log cannot be read: {error}", "see link.stderr")
    loads = [_load_of(job, *seen) for seen in zip(testbed.flow_runs, teardown.clients, logs, strict=True)]
    cases = [
        FlowCase(
            trial=flow_run.trial,
            content=flow_run.content(job),
            stopped=measured.stopped,
            client=client,
            server=server,
            link=teardown.link,
            proxy=teardown.proxy,
            measure_s=flow_run.lasted_s if flow_run.flow.competes else measured.duration_s,
            session=flow_run.client.session,
            server_reports_state=stack_of(flow_run.trial.server).server_reports_state,
            seen_congestion_controls=seen,
            kind=flow_run.kind,
            flow=flow_run.name,
            started=not flow_run.flow.competes or flow_run.began_unix_ns is not None,
            remote=flow_run.client.remote,
            virtual=virtual,
            middle_address=plan_of(job.trial).middle,
            client_span=flow_run.span,
            server_span=trial_span,
            log=log,
            site=job.site,
            load=load,
            relayed=job.trial.proxy is not None and stack_of(job.trial.proxy).relay_command is not None,
            tcp=tcp_of(job.trial, flow_run.flow),
            clock_moved_ns=0 if virtual else unix_minus_monotonic_ns() - (flow_run.client.clock_ns or clock_ns),
        )
        for flow_run, client, server, seen, log, load in zip(
            testbed.flow_runs,
            teardown.clients,
            teardown.servers,
            measured.congestion_controls,
            logs,
            loads,
            strict=True,
        )
    ]
    judgement = judge_all(cases)
    if judgement.outcome is not Outcome.OK and not judgement.complete:
        return judgement
    if not teardown.summary:
        return Judgement(
            Outcome.INVALID, f"the link emulator left no summary{teardown.link.cause()}", "see link.stderr"
        )
    found = guard.findings(observed, guard.limits(limited_client=job.trial.client_cpu_share is not None))
    if not found and (other := multipath.judge(job.trial, observed) or _of_another_version(job)) is not None:
        return other
    if found:
        reasons = [judgement.reason] if judgement.reason is not None else []
        reasons += [item.reason for item in found]
        return Judgement(Outcome.INVALID, "; ".join(reasons), found[0].hint)
    return judgement


def _of_another_version(job: Job) -> Judgement | None:
    """Check that a trial over IPv6 had packets of IPv6 alone; over IPv4, its namespaces have no other version."""
    wanted = plan_of(job.trial).version
    if wanted == 4:
        return None
    for name in job.trial.links:
        file = link_file(name, ".bin")
        if (seen := read_link_log(Path(job.folder) / file).ip_versions()) - {wanted}:
            versions = " and ".join(f"IPv{version}" for version in sorted(seen))
            reason = f"packets on the link were {versions}, not IPv{wanted} alone"
            return Judgement(
                Outcome.INVALID, reason, f"see {file}: a program used addresses that the job does not have"
            )
    return None


def _log_of(job: Job, flow_run: FlowRun) -> LinkLog:
    """Return what the links that lead to a flow's client carried for it; everything if the flow does not compete."""
    names = [link_file(name, ".bin") for name in job.trial.links if name != BEHIND]
    address = flow_run.addresses.client if flow_run.flow.competes else ""
    return LinkLog(tuple(read_link_log(Path(job.folder) / name, address) for name in names))


def _load_of(job: Job, flow_run: FlowRun, client: Observations, log: LinkLog | None) -> LoadSeen | None:
    """Return the load of a client that prints no lines, and write the lines that say it; None of any other client."""
    until_ns = time.time_ns() if flow_run.span is None else flow_run.span.ends_ns
    load = load_of(flow_run.trial, flow_run.content(job), client, log, until_ns)
    if load is not None:
        where = flow_run.addresses
        lines = load_lines(load, where.client, with_port(where.server, SERVER_PORT), flow_run.trial.protocol)
        artefacts.write_lines(flow_run.folder / LOAD_FILE, list(lines))
    return load


def take_reading(sides: Iterable[EndpointNamespace]) -> CounterReading:
    """Read all counters now; `sides` are the endpoints' sides of the network."""
    first = Path("/proc/stat").read_text().partition("\n")[0]
    ticks = [int(word) for word in first.split()[1 : _COLUMNS + 1]]
    idle = ticks[_IDLE] + ticks[_IOWAIT]
    sides = tuple(sides)
    return CounterReading(
        monotonic_s=time.monotonic(),
        busy_ticks=sum(ticks) - idle - ticks[_STEAL],
        idle_ticks=idle,
        steal_ticks=ticks[_STEAL],
        dropped=sum(side.drops() for side in sides),
        udp_errors=sum(namespace.udp_errors() for namespace in {side.namespace for side in sides}),
        cpu_mhz=cpufreq.steady_mhz() if any(side.quota for side in sides) else 0.0,
    )


def out_of_memory_kills() -> int:
    """Return how many processes the kernel has killed because memory ran out, since it started."""
    lines = Path("/proc/vmstat").read_text().splitlines()
    return next((int(line.split()[1]) for line in lines if line.startswith("oom_kill ")), 0)
