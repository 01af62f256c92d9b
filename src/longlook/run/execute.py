"""Run the planned trials that are not finished, save after each, and repeat trials that a guard rejected."""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from queue import Empty, SimpleQueue
from typing import TypeVar

from longlook.core import (
    UNKNOWN_ANSWER,
    Content,
    Endpoint,
    Engine,
    Identity,
    InputError,
    Job,
    Made,
    Outcome,
    Plan,
    Program,
    Run,
    RunFolder,
    Study,
    Trial,
    content_parameters,
    endpoints_of,
    program_role,
    registry,
    runs_tcp,
    server_configs_of,
)
from longlook.outside import Sites, site_url_of
from longlook.provision import server_configs
from longlook.run.tally import Tally
from longlook.run.trial_cache import TrialCache

T = TypeVar("T")

_LOOK_EVERY_S = 0.5  # for a signal


@dataclass(frozen=True)
class Provisions:
    """Everything that trials share: programs by endpoint, contents by workload, the TLS identity.

    `padded` are identities with a longer certificate, by its padding in bytes. `for_runners` are identities of clients
    with the interop runner's contract, likewise, also without padding (0). `made` says what the programs are made of.
    `tools` are digests of what has a part in trials and is neither an endpoint nor ours: what made contents, and
    what plays them in a browser.
    """

    programs: dict[tuple[str, str], Program]
    contents: dict[str, Content]
    identity: Identity
    link: Program
    trace: Program | None = None  # records the kernel's TCP where that is wanted
    padded: Mapping[int, Identity] = field(default_factory=dict)
    for_runners: Mapping[int, Identity] = field(default_factory=dict)
    made: tuple[Made, ...] = ()
    tools: Mapping[str, str] = field(default_factory=dict)  # by NAME@VERSION


def endpoints(plan: Plan) -> list[Endpoint]:
    """Return every distinct stack and version of a plan, servers and clients."""
    found = {(end.stack, end.version): end for trial in plan.trials for end in endpoints_of(trial)}
    return [found[key] for key in sorted(found)]


def prepare_contents(plan: Plan) -> dict[str, Content]:
    """Make the files of every distinct workload of a plan; return them by `content_key`."""
    contents: dict[str, Content] = {}
    for trial in plan.trials:
        key = content_key(trial)
        if key not in contents:
            kind = registry.workload(trial.workload.kind)
            contents[key] = kind.prepare(content_parameters(trial))
    return contents


def content_key(trial: Trial) -> str:
    """Return a key that trials share when they serve the same files."""
    return f"{trial.workload.kind} {sorted(content_parameters(trial).items())}"


class Executor:
    """Runs the trials of a study that one engine is for, `jobs` calls at once, and keeps what is finished."""

    def __init__(
        self,
        study: Study,
        folder: RunFolder,
        engine: Engine,
        provisions: Provisions,
        tally: Tally,
        *,
        jobs: int = 1,
        cache: TrialCache | None = None,
        sites: Sites | None = None,
    ) -> None:
        self._study, self._folder, self._engine = study, folder, engine
        self._provisions, self._tally, self._cache = provisions, tally, cache
        self._jobs, self._sites = min(jobs, engine.parallel), sites

    def execute(self, trials: Iterable[Trial]) -> None:
        """Run every trial that has no result yet; MachineError if the machine cannot go on. Finished trials stay."""
        missing: list[Trial] = []
        finished: list[Trial] = []
        for trial in trials:
            (missing if self._folder.result(trial.id) is None else finished).append(trial)
        self._tally.begin(missing, finished, self._jobs)
        work = batches(missing, in_batches=self._engine.batches)
        in_parallel(work, self._run_batch, self._jobs, self._engine.interrupt)

    def _run_batch(self, batch: Sequence[Trial]) -> None:
        """Run every trial of a batch to its end; attempts that a guard rejects are repeated together."""
        left = [(trial, 1 + sum(1 for _ in self._folder.attempts(trial.id))) for trial in batch]
        while left:
            jobs = [self._job(trial, attempt) for trial, attempt in left]
            left, began_s = [], time.monotonic()
            results = self._results(jobs)
            took_s = (time.monotonic() - began_s) / max(1, sum(not cached for _, _, cached in results))
            for job, run, cached in results:
                again = run.outcome is Outcome.INVALID and job.attempt <= self._study.retries_when_invalid
                if self._sites is not None:
                    self._sites.learn(job, run)
                self._folder.finish(self._folder.partial(job.trial, job.attempt), run, superseded=again)
                self._tally.add(job.trial, run, retried=again, cached=cached, took_s=took_s)
                if again:
                    left.append((job.trial, job.attempt + 1))
            if self._sites is not None:
                self._sites.raise_if_refused()

    def _results(self, jobs: Sequence[Job]) -> list[tuple[Job, Run, bool]]:
        found = {job.trial.id: run for job in jobs if self._cache and (run := self._cache.fetch(job))}
        missing = [job for job in jobs if job.trial.id not in found]
        if missing:
            for job, run in zip(missing, self._engine.run_together(missing), strict=True):
                if run.trial_id != job.trial.id:
                    raise InputError(
                        f"engine {self._engine.name} answered for {run.trial_id}, asked for {job.trial.id}"
                    )
                if self._cache:
                    self._cache.keep(job, run)
                found[job.trial.id] = run
        ran = {job.trial.id for job in missing}
        return [(job, found[job.trial.id], job.trial.id not in ran) for job in jobs]

    def _job(self, trial: Trial, attempt: int) -> Job:
        partial = self._folder.begin(trial, attempt)
        # Absolute, because an agent has its own working directory.
        job = make_job(trial, attempt, str(partial.resolve()), self._provisions, self._folder.trace_files())
        return job if self._sites is None or site_url_of(trial) is None else _at_site(job, self._sites)


def in_parallel(work: Iterable[T], run: Callable[[T], None], jobs: int, interrupt: Callable[[], None]) -> None:
    """Run every piece of work, `jobs` at once; the first exception interrupts what is under way and is raised."""
    if jobs <= 1:
        for piece in work:
            run(piece)
        return
    ended: SimpleQueue[Future[None]] = SimpleQueue()
    with ThreadPoolExecutor(jobs, thread_name_prefix="guest") as pool:
        try:  # the pieces that were begun have to end also where an interrupt comes while others are submitted
            begun = 0
            for piece in work:
                pool.submit(run, piece).add_done_callback(ended.put)
                begun += 1
            for _ in range(begun):
                _next_of(ended).result()
        except BaseException:
            interrupt()
            pool.shutdown(wait=True, cancel_futures=True)
            raise


def _next_of(ended: SimpleQueue[Future[None]]) -> Future[None]:
    """Wait for the next piece of work that has ended.

    A signal that arrives just before this thread begins to sleep wakes nobody, and its handler runs when the sleep
    ends. So no sleep lasts as long as a trial, which may have no end.
    """
    while True:
        try:
            return ended.get(timeout=_LOOK_EVERY_S)
        except Empty:
            continue


def records_tcp(trial: Trial) -> bool:
    """Whether the kernel's TCP carries one of its flows and is to be recorded."""
    return trial.capture.tcp and runs_tcp(trial)


def make_job(
    trial: Trial, attempt: int, folder: str, provisions: Provisions, traces: Mapping[str, str] | None = None
) -> Job:
    """Return the job of one attempt at a trial; `traces` maps digests to files, at least for the
    digests in its link.
    """
    roles = {
        program_role(flow, role): end
        for flow in trial.each_flow()
        for role, end in (("server", flow.server), ("client", flow.client))
    }
    if trial.proxy is not None:
        roles["proxy"] = trial.proxy
    return Job(
        trial=trial,
        attempt=attempt,
        folder=folder,
        programs={
            **{role: provisions.programs[end.stack, end.version] for role, end in roles.items()},
            "link": provisions.link,
            **({"trace": provisions.trace} if provisions.trace and records_tcp(trial) else {}),
        },
        content=provisions.contents[content_key(trial)],
        identity=_identity(trial, provisions),
        traces={digest: (traces or {})[digest] for digest in sorted(set(trial.traces()))},
        configs={config.digest: server_configs.load(config) for config in server_configs_of(trial)},
    )


def _at_site(job: Job, sites: Sites) -> Job:
    """Return a job whose server is a site, as its round finds it; nobody knows yet what it answers."""
    site, identity = sites.pin(job.trial)
    expected = {site.url.path: UNKNOWN_ANSWER}
    content = replace(job.content, phases=((site.url.path,),), expected=expected)
    return replace(job, content=content, identity=identity, site=site)


def asks_by_runner(trial: Trial) -> bool:
    """Return whether a trial's client asks the interop runner's server, by its names."""
    return registry.stack(trial.client.stack).requests_command is not None


def _identity(trial: Trial, provisions: Provisions) -> Identity:
    padding = trial.certificate_padding_bytes
    if asks_by_runner(trial):
        return provisions.for_runners[padding]
    return provisions.padded[padding] if padding else provisions.identity


def batches(trials: Iterable[Trial], *, in_batches: bool) -> list[tuple[Trial, ...]]:
    """Return the calls in the order of the plan, a trial each.

    `in_batches`: the trials of a round that share a session client come in one call.
    """
    gathered: dict[object, list[Trial]] = {}
    for trial in trials:
        client = registry.stack(trial.client.stack)
        shares = in_batches and client.session_command is not None
        key = (trial.round, trial.client.stack, trial.client.version, trial.capture) if shares else trial.id
        gathered.setdefault(key, []).append(trial)
    return [tuple(batch) for batch in gathered.values()]
