"""A preview of a run: nothing is installed, no trial runs and no run folder is made."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from longlook.core import STATED, Engine, Job, Plan, RunFolder, Study, stop_after_s
from longlook.pipeline.check import check, runs_in_guests, trials_by_engine
from longlook.pipeline.options import RunOptions
from longlook.pipeline.provide import provide_for
from longlook.pipeline.shards import plans
from longlook.provision import KERNEL, is_part_installed
from longlook.run import Costs, Forecast, Provisions, TrialCache, endpoints, make_job
from longlook.store import sharing
from longlook.study import cell_id, cells_of, labels_of

LIVE = "live"


@dataclass(frozen=True)
class CellPreview:
    """One cell: its levels by factor, and how many trials it has."""

    cell_id: str
    cell: Mapping[str, str]
    trials: int


@dataclass(frozen=True)
class Preview:
    """The work that a run would do. Repeats by `--verify` come on top of `trials`.

    If losses are integrated, `trials` has one of each arm and round, and one of each arm at the stated point. Trials of
    single losses and of further patterns come on top: they follow from the first ones.
    """

    study: str
    plan_hash: str
    cells: tuple[CellPreview, ...]
    arms: int
    rounds: int
    trials: int
    engines: Mapping[str, int]  # engine → trials
    finished: int  # in the run folder that would be continued
    cached: int | None  # of those not finished; None: unknown until `install` is done
    install: tuple[str, ...]  # parts as `longlook setup` takes them
    repeats: int  # runs of each trial for --verify
    decides: bool  # rounds stop where they decide, so that all these numbers are the largest there can be
    integrated: int  # cells whose random losses are integrated, if they can be
    live_at_most_s: float | None  # real time of live trials, if each takes all it may; None: no trial is live
    forecast: Forecast  # of the trials that would run, by what trials of their kinds cost here before

    @property
    def left(self) -> int:
        """The number of trials that would run, if nothing unknown is cached."""
        return self.trials - self.finished - (self.cached or 0)


def preview_study(study: Study, out: Path, options: RunOptions) -> Preview:
    """Plan a study as `run_study` does, and find out what would be left to do.

    Raises InputError if `run_study` would refuse. Only the files that trials fetch are generated, into the cache, since
    the cache of trials is keyed by their content; nothing else is made.
    """
    with sharing(lambda _text: None):
        return _seen(study, out, options)


def _seen(study: Study, out: Path, options: RunOptions) -> Preview:
    _, plan = plans(study, options)
    check(study, plan, out, replace(options, verify=0))  # whether trials repeat is known when their engine is entered
    done = _finished(plan, out) if options.resume else set()
    left = replace(plan, trials=tuple(trial for trial in plan.trials if trial.id not in done))
    missing = _missing(left, options)
    cached = None if missing else _cached(left, options)
    to_run = [trial for trial in left.trials if trial.id not in (cached or ())]
    engines = {engine.name: len(trials) for engine, trials in trials_by_engine(plan, options.engine)}
    live = [trial for trial in left.trials if (trial.engine or options.engine.name) == LIVE]
    return Preview(
        study=study.id,
        plan_hash=plan.hash,
        cells=_cells(study, plan),
        arms=len(study.arms),
        rounds=study.rounds,
        trials=len(plan.trials),
        engines=engines,
        finished=len(done),
        cached=None if cached is None else len(cached),
        install=missing,
        repeats=options.verify,
        decides=study.stopping is not None,
        integrated=_integrated(study, plan),
        live_at_most_s=sum(stop_after_s(trial.workload) or trial.timeout_s for trial in live) if live else None,
        forecast=Costs.read().forecast(to_run, options.engine.name, options.jobs),
    )


def _cells(study: Study, plan: Plan) -> tuple[CellPreview, ...]:
    """Return the plan's cells in the order of the study's factors and levels."""
    counts = Counter(trial.cell_id for trial in plan.trials)
    labels = [labels_of(cell) for cell in cells_of(study)]
    named = [(cell_id(each), each) for each in labels]
    return tuple(CellPreview(name, each, counts[name]) for name, each in named if name in counts)


def _integrated(study: Study, plan: Plan) -> int:
    return len({trial.cell_id for trial in plan.trials if trial.round == STATED}) if study.loss_strata else 0


def _finished(plan: Plan, out: Path) -> set[str]:
    folder = RunFolder.open(out)
    return {trial.id for trial in plan.trials if folder.result(trial.id) is not None}


def _missing(plan: Plan, options: RunOptions) -> tuple[str, ...]:
    """Return what must be installed before the trials can run."""
    parts = [f"{end.stack}@{end.version}" for end in endpoints(plan)]
    if runs_in_guests(plan, options.engine):
        parts.insert(0, KERNEL)
    return tuple(part for part in parts if not is_part_installed(part))


def _cached(plan: Plan, options: RunOptions) -> set[str]:
    """Return the trials whose first attempt is in the cache. Everything that they need is installed."""
    if not options.use_cache or not plan.trials:
        return set()
    provisions = provide_for(plan, options.engine, lambda _text: None)
    return {job.trial.id for job, cache in jobs_with_cache(plan, options.engine, provisions) if cache.holds(job)}


def jobs_with_cache(plan: Plan, engine: Engine, provisions: Provisions) -> Iterator[tuple[Job, TrialCache]]:
    """Yield the first attempt at every trial that repeats, with the cache that has its key; no folder is made."""
    for each, trials in trials_by_engine(plan, engine):
        if each.name == LIVE:
            continue  # no trial in real time is ever cached, and entering this engine clears what others left behind
        with each:
            setting = each.setting()
        if setting is None:
            continue
        cache = TrialCache(setting)
        for trial in trials:
            traces = dict.fromkeys(trial.traces(), "")  # the key counts digests alone
            yield make_job(trial, 1, "", provisions, traces), cache
