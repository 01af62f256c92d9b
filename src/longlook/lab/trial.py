"""One trial from an empty network to a sealed folder. The order of things is all here; each thing is elsewhere."""

import math
import os
import time
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

from longlook import registry
from longlook.job import Job
from longlook.lab import artefacts, guard
from longlook.lab.counters import Reading, out_of_memory_kills, take_reading
from longlook.lab.judge import Case, Judgement, Stopped, judge
from longlook.lab.process import watch
from longlook.lab.rig import Remains, Rig
from longlook.lab.session import Sessions
from longlook.lab.sockets import SocketProbe
from longlook.lab.surroundings import Surroundings
from longlook.lab.timing import Timing
from longlook.model import Endpoint, Outcome, Run
from longlook.stacks import Stack

GRACE_S = 1.0
"""Beyond the time limit, for a client that ends itself to say what had arrived."""

PROOF_EVERY_S = 0.01
"""How often the kernel is asked for the congestion control of a connection that no program announces."""

DYING_S = 0.25
"""A client may see its connection break before the kernel reports the server's death, which is the better reason."""


@dataclass(frozen=True)
class _Measurement:
    stopped: Stopped
    duration_s: float
    before: Reading
    after: Reading
    congestion_controls: frozenset[str]


def run_trial(job: Job, sessions: Sessions, surroundings: Surroundings, path: str, serial: int, timing: Timing) -> Run:
    """Run one job; its folder is complete afterwards and nothing of it runs any more, but for a warm client.

    MachineError or InputError where nothing can be measured here; every other failure is an outcome.
    """
    timing.align()
    folder = Path(job.folder)
    started_unix_ns, began = time.time_ns(), time.monotonic()
    killed = out_of_memory_kills()
    artefacts.write_json(folder / "trial.json", job.trial)
    with Rig(job, sessions, surroundings, path, serial, timing) as rig:
        late = rig.await_ready()
        setup_s = time.monotonic() - began
        measured = _measure(rig, job, late, timing)
        ended = time.monotonic()
        remains = rig.take_down(trusted=measured.stopped is Stopped.CLIENT_ENDED)
        session = rig.client.session
    own_cpu_s = sum(remains.cpu_s.values()) / (os.cpu_count() or 1)
    observed = guard.observe(measured.before, measured.after, remains.summary, own_cpu_s) | remains.throttling
    judgement = _judge(job, measured, remains, observed, session=session)
    if judgement.outcome is not Outcome.OK:
        artefacts.raise_if_full(folder)
        if out_of_memory_kills() > killed:
            short = f"{judgement.reason}; the kernel ran out of memory and killed a process"
            judgement = replace(judgement, reason=short)
    run = Run(
        trial_id=job.trial.id,
        outcome=judgement.outcome,
        reason=judgement.reason,
        hint=judgement.hint,
        attempt=job.attempt,
        engine=timing.engine,
        exact=timing.exact and all(_repeats(end) for end in (job.trial.server, job.trial.client)),
        started_unix_ns=started_unix_ns,
        setup_s=setup_s,
        measure_s=measured.duration_s,
        teardown_s=time.monotonic() - ended,
        programs={role: program.digest for role, program in job.programs.items()},
        artefacts=artefacts.digests(folder),
        cpu_s={} if timing.virtual else remains.cpu_s,  # a guest's CPUs cost no time, so it cannot count it
        collectors=remains.collectors,
        link={name: remains.summary[name] for name in ("up", "down") if name in remains.summary},
        guard=observed,
    )
    artefacts.seal(folder, run)
    return run


def _measure(rig: Rig, job: Job, late: Stopped | None, timing: Timing) -> _Measurement:
    sides = (rig.client_side, rig.server_side)
    before = take_reading(sides)
    if late is not None:
        return _Measurement(late, 0.0, before, take_reading(sides), frozenset())
    seen: set[str] = set()
    wanted = job.trial.congestion_control is not None
    announced = _stack(job.trial.server).server_tells_state
    with closing(SocketProbe(sides[0].namespace)) as client_probe, closing(SocketProbe(sides[1].namespace)) as probe:
        accepted = 0

        def over() -> bool:
            nonlocal accepted
            connections = len(rig.server.events("connection"))
            if wanted and (connections > accepted or not (announced or seen)):
                seen.update(client_probe.congestion_controls(), probe.congestion_controls())
            accepted = connections
            ended = rig.server.exit is not None or rig.router.process.exit is not None
            return ended or rig.client.done()

        timing.align()
        rig.begin()
        began = time.monotonic()
        in_time = watch(
            rig.processes(),
            over,
            job.trial.timeout_s + GRACE_S,
            lambda: PROOF_EVERY_S if wanted and not (announced or seen) else math.inf,
        )
        duration_s = time.monotonic() - began
    if not rig.client_succeeded():
        watch(rig.processes(), lambda: rig.server.exit is not None, DYING_S)
    return _Measurement(_why(rig, in_time=in_time), duration_s, before, take_reading(sides), frozenset(seen))


def _why(rig: Rig, *, in_time: bool) -> Stopped:
    if rig.router.process.exit is not None:
        return Stopped.LINK_ENDED
    if rig.server.exit is not None:
        return Stopped.SERVER_ENDED
    return Stopped.CLIENT_ENDED if in_time else Stopped.CLIENT_HUNG


def _judge(
    job: Job, measured: _Measurement, remains: Remains, observed: Mapping[str, float], *, session: bool
) -> Judgement:
    case = Case(
        trial=job.trial,
        content=job.content,
        stopped=measured.stopped,
        client=remains.client,
        server=remains.server,
        link=remains.link,
        measure_s=measured.duration_s,
        session=session,
        server_tells_state=_stack(job.trial.server).server_tells_state,
        seen_congestion_controls=measured.congestion_controls,
    )
    judgement = judge(case)
    if judgement.outcome is not Outcome.OK:
        return judgement
    if not remains.summary:
        return Judgement(
            Outcome.INVALID, f"the link emulator left no summary: {remains.link.errors()}", "see link.stderr"
        )
    found = guard.findings(observed, guard.limits(limited_client=job.trial.client_cpu_share is not None))
    if found:
        return Judgement(Outcome.INVALID, "; ".join(item.reason for item in found), found[0].hint)
    return judgement


def _repeats(end: Endpoint) -> bool:
    return _stack(end).repeats


def _stack(end: Endpoint) -> Stack:
    stack: Stack = registry.get("stacks", end.stack)
    return stack
