"""One trial from an empty network to a sealed folder. The order of things is all here; each thing is elsewhere."""

import os
import time
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

from longlook.core.flows import endpoints_of, stop_after_s
from longlook.core.job import Job
from longlook.core.model import Outcome, Run
from longlook.lab import artefacts, guard
from longlook.lab.congestion_proof import ControlProof
from longlook.lab.counters import Reading, out_of_memory_kills, take_reading
from longlook.lab.judge import Case, Judgement, Stopped, judge_all
from longlook.lab.pair import Conduct, Pair
from longlook.lab.process import watch
from longlook.lab.programs import stack_of
from longlook.lab.rig import Remains, Rig
from longlook.lab.session import Sessions
from longlook.lab.surroundings import Surroundings
from longlook.lab.timing import Timing

GRACE_S = 1.0
"""Beyond the time limit, for a client that ends itself to say what had arrived."""

DYING_S = 0.25
"""A client may see its connection break before the kernel reports the server's death, which is the better reason."""


@dataclass(frozen=True)
class _Measurement:
    stopped: Stopped
    duration_s: float
    before: Reading
    after: Reading
    congestion_controls: tuple[frozenset[str], ...]  # as the kernel said, of the rig's pairs in their order


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
    own_cpu_s = sum(remains.cpu_s.values()) / (os.cpu_count() or 1)
    observed = guard.observe(measured.before, measured.after, remains.summary, own_cpu_s) | remains.throttling
    judgement = _judge(rig, job, measured, remains, observed)
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
        exact=timing.exact and all(stack_of(end).repeats for end in endpoints_of(job.trial)),
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
        return _Measurement(late, 0.0, before, take_reading(sides), (frozenset(),) * len(rig.pairs))
    running = rig.processes()

    def begin(pair: Pair) -> None:
        rig.begin(pair)
        if pair.client.process is not None and pair.client.process not in running:
            running.append(pair.client.process)

    conduct = Conduct(rig.pairs, stop_after_s(job.trial.workload), begin)
    with closing(ControlProof(rig.pairs, sides)) as proof:

        def over() -> bool:
            proof.look()
            ended = rig.lost_server() is not None or rig.router.process.exit is not None
            return conduct.over() or ended

        timing.align()
        began = time.monotonic()
        conduct.begin()
        in_time = watch(running, over, job.trial.timeout_s + GRACE_S, lambda: min(proof.every_s(), conduct.next_s()))
        duration_s = time.monotonic() - began
        seen = tuple(proof.seen_of(pair) for pair in rig.pairs)
    if not all(pair.in_order() for pair in rig.pairs):
        watch(running, lambda: rig.lost_server() is not None, DYING_S)
    return _Measurement(_why(rig, in_time=in_time), duration_s, before, take_reading(sides), seen)


def _why(rig: Rig, *, in_time: bool) -> Stopped:
    if rig.router.process.exit is not None:
        return Stopped.LINK_ENDED
    if rig.lost_server() is not None:
        return Stopped.SERVER_ENDED
    return Stopped.CLIENT_ENDED if in_time else Stopped.CLIENT_HUNG


def _judge(rig: Rig, job: Job, measured: _Measurement, remains: Remains, observed: Mapping[str, float]) -> Judgement:
    cases = [
        Case(
            trial=pair.trial,
            content=pair.content(job),
            stopped=measured.stopped,
            client=client,
            server=server,
            link=remains.link,
            measure_s=measured.duration_s if pair.flow is None else pair.lasted_s,
            session=pair.client.session,
            server_tells_state=stack_of(pair.trial.server).server_tells_state,
            seen_congestion_controls=seen,
            demand=pair.demand,
            flow=pair.name,
            started=pair.flow is None or pair.began_unix_ns is not None,
        )
        for pair, client, server, seen in zip(
            rig.pairs, remains.clients, remains.servers, measured.congestion_controls, strict=True
        )
    ]
    judgement = judge_all(cases)
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
