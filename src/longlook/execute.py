"""The engine's stage: run what is planned and not finished, save after every trial, try again what a guard rejected."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from longlook import registry
from longlook.engines import Engine
from longlook.errors import InputError
from longlook.job import Content, Identity, Job, Program
from longlook.model import Endpoint, Outcome, Plan, Run, Study, Trial, Workload
from longlook.store import RunFolder
from longlook.workloads import WorkloadKind


@dataclass(frozen=True)
class Provisions:
    """Everything trials need that is made once: programs by endpoint, contents by workload, the TLS identity."""

    programs: dict[tuple[str, str], Program]
    contents: dict[str, Content]
    identity: Identity
    link: Program


@dataclass(frozen=True)
class Progress:
    """One step of a run, for whoever shows it."""

    trial: Trial
    run: Run
    done: int
    total: int
    retried: bool  # rejected by a guard and about to be tried again


def endpoints(plan: Plan) -> list[Endpoint]:
    """Every distinct stack and version of a plan, servers and clients."""
    found = {(end.stack, end.version): end for trial in plan.trials for end in (trial.server, trial.client)}
    return [found[key] for key in sorted(found)]


def prepare_contents(plan: Plan) -> dict[str, Content]:
    """The files of every distinct workload of a plan."""
    contents: dict[str, Content] = {}
    for trial in plan.trials:
        key = workload_key(trial.workload)
        if key not in contents:
            kind: WorkloadKind = registry.get("workloads", trial.workload.kind)
            contents[key] = kind.prepare(trial.workload.parameters)
    return contents


def workload_key(workload: Workload) -> str:
    """What tells one workload from another."""
    return f"{workload.kind} {sorted(workload.parameters.items())}"


def execute(
    study: Study,
    trials: Iterable[Trial],
    folder: RunFolder,
    engine: Engine,
    provisions: Provisions,
    report: Callable[[Progress], None],
) -> None:
    """Run every trial that has no result yet. MachineError where the machine cannot go on; finished trials stay."""
    trials = list(trials)
    done = 0
    for trial in trials:
        if folder.result(trial.id) is not None:
            done += 1
            continue
        for attempt in range(1 + sum(1 for _ in folder.attempts(trial.id)), study.retries_when_invalid + 2):
            partial = folder.begin(trial, attempt)
            run = engine.run(_job(trial, attempt, str(partial.resolve()), provisions))  # an agent has its own cwd
            if run.trial_id != trial.id:
                raise InputError(f"engine {engine.name} answered for trial {run.trial_id}, asked for {trial.id}")
            again = run.outcome is Outcome.INVALID and attempt <= study.retries_when_invalid
            folder.finish(partial, run, superseded=again)
            done += 0 if again else 1
            report(Progress(trial, run, done, len(trials), again))
            if not again:
                break


def _job(trial: Trial, attempt: int, folder: str, provisions: Provisions) -> Job:
    return Job(
        trial=trial,
        attempt=attempt,
        folder=folder,
        programs={
            "server": provisions.programs[trial.server.stack, trial.server.version],
            "client": provisions.programs[trial.client.stack, trial.client.version],
            "link": provisions.link,
        },
        content=provisions.contents[workload_key(trial.workload)],
        identity=provisions.identity,
    )
