"""The engines' stage: every trial that has no result yet runs, or comes from the cache."""

import resource
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace

from longlook.analysis import (
    estimate,
    integrate,
    looks,
    measure_trials,
    samples_table,
    undecided,
    with_comparisons,
)
from longlook.core import STATED, Engine, Plan, RunFolder, Trial, certificate_entry
from longlook.outside import Sites
from longlook.pipeline.budget import NOTE, Budget, Limits, note_spent
from longlook.pipeline.check import trials_by_engine
from longlook.pipeline.evidence import distrusted_set_aside, set_aside_altered
from longlook.pipeline.executors import connected
from longlook.pipeline.options import Observer, RunOptions
from longlook.pipeline.shards import deciding_study
from longlook.pipeline.strata import Run, RunAgain, arrived_in, read_strata, run_stated
from longlook.remote import RemoteEngine
from longlook.run import CostMeter, Costs, Executor, Progress, Provisions, Tally, TrialCache, Verifier

_WORTH_SAYING_S = 5.0


def execute(
    plan: Plan,
    folder: RunFolder,
    provisions: Provisions,
    options: RunOptions,
    observer: Observer,
    sites: Sites | None = None,
) -> None:
    """Run missing trials, engine by engine, and note in the manifest their effort and everything else that decides
    results.

    `sites` are the servers outside that the plan asks, None if none. If the study stops when it is decided, some
    trials of the plan never run. A trial that differs from its seal runs again.
    """
    set_aside_altered(folder, folder.plan.trials, observer)
    finished = sum(folder.result(trial.id) is not None for trial in plan.trials)
    observer.planned(plan, finished)
    if finished == len(plan.trials):
        return
    if NOTE in folder.manifest:
        folder.note(**{NOTE: None})  # this session has a budget of its own, or none
    _say_how_long(plan, folder, options, observer)
    effort = _Effort(folder, options.engine, options.jobs, observer.progress)
    tally = Tally(len(plan.trials), effort.progress)
    with effort, distrusted_set_aside(folder, observer), ExitStack() as stack:
        if sites is not None:
            stack.callback(sites.write, folder.path)
        executors: dict[str, Executor] = {}
        entered: dict[str, Engine] = {}

        def run(trials: Sequence[Trial]) -> None:
            part = replace(plan, trials=tuple(trials))
            for engine, own in trials_by_engine(part, options.engine):
                if engine.name not in executors:
                    entered[engine.name] = stack.enter_context(connected(engine, folder, observer))
                    effort.jobs = min(options.jobs, engine.parallel)
                    executors[engine.name] = _executor(
                        entered[engine.name], folder, provisions, options, observer, tally, sites
                    )
                executors[engine.name].execute(own)

        def run_again(trials: Sequence[Trial]) -> dict[str, str]:
            found: dict[str, str] = {}
            for engine, own in trials_by_engine(replace(plan, trials=tuple(trials)), options.engine):
                verifier = Verifier(
                    folder, entered[engine.name], provisions, folder.study.metrics, repeats=1, jobs=options.jobs
                )
                checked = verifier.verify(own, lambda: None)
                found |= {trial.trial_id: trial.first_difference or "" for trial in checked}
            return found

        limits = Limits(deciding_study(folder), Budget(options.budget_s))
        ended = in_stages(plan, folder, tally, run, run_again, options.engine.name, limits, observer)
    if ended:
        folder.note(finished_unix_s=int(time.time()), **({NOTE: None} if NOTE in folder.manifest else {}))


def _say_how_long(plan: Plan, folder: RunFolder, options: RunOptions, observer: Observer) -> None:
    """Say about how long the missing trials will take, unless that is a matter of seconds."""
    missing = [trial for trial in plan.trials if folder.result(trial.id) is None]
    forecast = Costs.read().forecast(missing, options.engine.name, options.jobs)
    if forecast.seconds is None or forecast.seconds >= _WORTH_SAYING_S:
        observer.say(f"time: {forecast.in_words('if every trial has to run')}")


def in_stages(
    plan: Plan,
    folder: RunFolder,
    tally: Tally,
    run: Run,
    run_again: RunAgain,
    engine: str,
    limits: Limits,
    observer: Observer,
) -> bool:
    """Call `run` with the trials of a plan in the order in which earlier ones decide about later ones.

    If losses are integrated, the stated points come first; if rounds go on until they decide, they come look by look.
    `engine` runs the trials that name none. Return whether all ran that were wanted: a budget may leave some out.
    """
    if folder.study.loss_strata:
        plan = run_stated(plan, folder, tally, run, run_again, engine, observer)
    if folder.study.stopping is not None:
        return run_until_decided(plan, folder, tally, run, limits, observer)
    trials = [trial for trial in plan.trials if trial.round != STATED or not folder.study.loss_strata]
    return _run_rounds(trials, folder, run, observer, limits.budget)


def _run_rounds(trials: Sequence[Trial], folder: RunFolder, run: Run, observer: Observer, budget: Budget) -> bool:
    """Call `run` with all trials, or with one round after the other as long as the budget lasts."""
    if not budget.is_limited:
        run(trials)
        return True
    rounds = sorted({trial.round for trial in trials})
    for done, number in enumerate(rounds):
        own = [trial for trial in trials if trial.round == number]
        missing = [trial for trial in own if folder.result(trial.id) is None]
        if missing and not budget.allows(len(missing)):
            left = sum(folder.result(trial.id) is None for trial in trials)
            _stop_for_budget(folder, observer, done, len(rounds), left)
            return False
        run(own)
    return True


def _stop_for_budget(folder: RunFolder, observer: Observer, rounds: int, of: int, left: int) -> None:
    note_spent(folder, rounds, of, left)
    observer.say(f"to go on: longlook run {folder.path} --resume {folder.path}")


class _Effort:
    """The effort of a session's trials, which the manifest notes when the session ends, next to earlier sessions.

    Trials from the cache are not counted. `cpu_s` are CPU seconds of this process and of all that it started and that
    ended; `job_s` is the time that passed, in s, times the jobs of which each could run a trial in that time. The cost
    of each kind of trial is remembered, for estimates of later runs.
    """

    def __init__(self, folder: RunFolder, engine: Engine, jobs: int, report: Callable[[Progress], None]) -> None:
        self._folder, self._engine, self._report = folder, engine, report
        self.jobs = jobs
        self._trials = 0
        self._costs = CostMeter()
        self._began: dict[str, float] = {}

    def progress(self, step: Progress) -> None:
        """Count a step of the run and report it. A tally calls this one step after another."""
        self._trials += not (step.cached or step.retried)
        if not step.cached and not isinstance(self._engine, RemoteEngine):  # other machines cost what they cost
            self._costs.add(step.trial, self._engine.name, step.took_s)
        self._report(step)

    def __enter__(self) -> "_Effort":
        self._began = self._now()
        return self

    def __exit__(self, *_: object) -> None:
        self._costs.keep()
        if self._trials:
            before = self._folder.manifest.get("effort", dict.fromkeys(self._began, 0))
            now = self._now()
            took = {name: now[name] - began for name, began in self._began.items()}
            took["job_s"] *= self.jobs
            took = {name: before[name] + value for name, value in took.items()}
            self._folder.note(effort={name: round(value, 3) for name, value in took.items()})

    def _now(self) -> dict[str, float]:
        used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
        cpu_s = sum(each.ru_utime + each.ru_stime for each in used)
        return {"trials": self._trials, "cpu_s": cpu_s, "job_s": time.monotonic()}


def _executor(
    engine: Engine,
    folder: RunFolder,
    provisions: Provisions,
    options: RunOptions,
    observer: Observer,
    tally: Tally,
    sites: Sites | None,
) -> Executor:
    setting = engine.setting()
    if setting is not None:
        _note_setting(folder, engine.name, setting, provisions.link.digest)
    for note in engine.notes():
        observer.say(note)
    cache = TrialCache(setting) if options.use_cache and setting is not None else None
    return Executor(folder.study, folder, engine, provisions, tally, jobs=options.jobs, cache=cache, sites=sites)


def _note_setting(folder: RunFolder, engine: str, setting: Mapping[str, str], link_digest: str) -> None:
    """Note an engine's setting, and the certificate of the link in its guest kernel.

    None as certificate means that `longlook calibrate` is due.
    """
    folder.note(settings={**folder.manifest["settings"], engine: dict(setting)})
    if "kernel" in setting:
        folder.note(calibration=certificate_entry(link_digest, setting["kernel"]))


def run_until_decided(
    plan: Plan, folder: RunFolder, tally: Tally, run: Run, limits: Limits, observer: Observer
) -> bool:
    """Call `run` with the trials of more and more rounds, of the cells in which they could still decide something.

    The rounds after which it looks depend on nothing but their number, so that a run that is continued, or has other
    jobs, stops after the same round. The manifest's `rounds` is the number of rounds of each cell. Return whether the
    budget was enough.
    """
    study, deciding, budget = folder.study, limits.deciding, limits.budget
    without_draws = replace(study, around={})  # on which draws an effect depends decides nothing, and is costly to find
    remaining = list(dict.fromkeys(trial.cell_id for trial in plan.trials))
    rounds: dict[str, int] = {}
    strata = read_strata(folder)
    stated = [trial for trial in plan.trials if trial.round == STATED]
    measured = measure_trials(folder, study, stated, lambda _done, _total: None)
    done = 0
    for until in looks(study.analysis.min_rounds, study.rounds):
        if not remaining:
            break
        trials = [trial for trial in plan.trials if done <= trial.round < until and trial.cell_id in remaining]
        missing = sum(folder.result(trial.id) is None for trial in trials)
        if missing and not budget.allows(missing):
            left = sum(
                trial.round >= done and trial.cell_id in remaining and folder.result(trial.id) is None
                for trial in plan.trials
            )
            _stop_for_budget(folder, observer, done, study.rounds, left)
            folder.note(rounds=rounds)
            return False
        run(trials)
        rounds |= dict.fromkeys(remaining, until)
        done = until
        measured += measure_trials(folder, study, trials, lambda _done, _total: None)
        samples = samples_table(without_draws, with_comparisons(measured, study))
        samples = integrate(samples, (entry.trial for entry in measured), strata, arrived_in(measured)).samples
        still = undecided(estimate(samples, deciding), deciding)
        if decided := [cell_id for cell_id in remaining if cell_id not in still]:
            observer.say(f"decided after {done} rounds: {', '.join(decided)}")
        remaining = [cell_id for cell_id in remaining if cell_id in still]
        tally.leave_out(sum(trial.round >= done and trial.cell_id in decided for trial in plan.trials))
    if remaining:
        observer.say(f"not decided after {done} rounds, the largest number: {', '.join(remaining)}")
    folder.note(rounds=rounds)
    return True
