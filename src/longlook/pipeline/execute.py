"""The engines' stage: every trial that has no result yet runs, or comes from the cache."""

import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace

from longlook.calibration.virtual import certificate
from longlook.core.model import Plan, Trial
from longlook.core.run_folder import RunFolder
from longlook.engines import Engine
from longlook.pipeline.by_engine import trials_by_engine
from longlook.pipeline.options import Observer, RunOptions
from longlook.pipeline.rounds import run_until_decided
from longlook.run.execute import Executor, Provisions, Tally
from longlook.run.trial_cache import TrialCache


def execute(plan: Plan, folder: RunFolder, provisions: Provisions, options: RunOptions, observer: Observer) -> None:
    """Run what is missing, engine by engine, and note in the manifest what decides results beside the trials.

    Where the study stops when it is decided, some trials of the plan never run.
    """
    finished = sum(folder.result(trial.id) is not None for trial in plan.trials)
    observer.planned(plan, finished)
    if finished == len(plan.trials):
        return
    tally = Tally(len(plan.trials), observer.progress, finished)
    with ExitStack() as stack:
        executors: dict[str, Executor] = {}

        def run(trials: Sequence[Trial]) -> None:
            part = replace(plan, trials=tuple(trials))
            for engine, own in trials_by_engine(part, options.engine):
                if engine.name not in executors:
                    entered = stack.enter_context(engine)
                    executors[engine.name] = _executor(entered, folder, provisions, options, observer, tally)
                executors[engine.name].execute(own)

        if folder.study.stopping is None:
            run(plan.trials)
        else:
            run_until_decided(plan, folder, tally, run, observer)
    folder.note(finished_unix_s=int(time.time()))


def _executor(
    engine: Engine, folder: RunFolder, provisions: Provisions, options: RunOptions, observer: Observer, tally: Tally
) -> Executor:
    setting = engine.setting()
    if setting is not None:
        _note_setting(folder, engine.name, setting, provisions.link.digest)
    for note in engine.notes():
        observer.say(note)
    cache = TrialCache(setting) if options.use_cache and setting is not None else None
    return Executor(folder.study, folder, engine, provisions, tally, jobs=options.jobs, cache=cache)


def _note_setting(folder: RunFolder, engine: str, setting: Mapping[str, str], link_digest: str) -> None:
    """Note an engine's setting, and the certificate of the link in its guest kernel.

    None as certificate means that `longlook calibrate` is due.
    """
    folder.note(settings={**folder.manifest["settings"], engine: dict(setting)})
    if "kernel" in setting:
        folder.note(calibration=certificate(link_digest, setting["kernel"]))
