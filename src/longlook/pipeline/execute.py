"""The engines' stage: every trial that has no result yet runs, or comes from the cache."""

import time
from collections.abc import Mapping

from longlook.calibration.virtual import certificate
from longlook.core.model import Plan
from longlook.core.run_folder import RunFolder
from longlook.pipeline.by_engine import trials_by_engine
from longlook.pipeline.options import Observer, RunOptions
from longlook.run.execute import Executor, Provisions, Tally
from longlook.run.trial_cache import TrialCache


def execute(plan: Plan, folder: RunFolder, provisions: Provisions, options: RunOptions, observer: Observer) -> None:
    """Run what is missing, engine by engine, and note in the manifest what decides results beside the trials."""
    finished = sum(folder.result(trial.id) is not None for trial in plan.trials)
    observer.planned(plan, finished)
    if finished == len(plan.trials):
        return
    tally = Tally(len(plan.trials), observer.progress, finished)
    for each, trials in trials_by_engine(plan, options.engine):
        with each:
            setting = each.setting()
            if setting is not None:
                _note_setting(folder, each.name, setting, provisions.link.digest)
            for note in each.notes():
                observer.say(note)
            cache = TrialCache(setting) if options.use_cache and setting is not None else None
            executor = Executor(folder.study, folder, each, provisions, tally, jobs=options.jobs, cache=cache)
            executor.execute(trials)
    folder.note(finished_unix_s=int(time.time()))


def _note_setting(folder: RunFolder, engine: str, setting: Mapping[str, str], link_digest: str) -> None:
    """Note an engine's setting, and the certificate of the link in its guest kernel.

    None as certificate means that `longlook calibrate` is due.
    """
    folder.note(settings={**folder.manifest["settings"], engine: dict(setting)})
    if "kernel" in setting:
        folder.note(calibration=certificate(link_digest, setting["kernel"]))
