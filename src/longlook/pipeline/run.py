"""A study from its plan to its report: the list of the stages."""

import threading
from dataclasses import replace
from pathlib import Path

from longlook.core import Plan, RunFolder, Study
from longlook.pipeline.analyse import Result, analyse_run
from longlook.pipeline.check import check, trials_by_engine
from longlook.pipeline.evidence import distrusted_set_aside, refuse_altered
from longlook.pipeline.execute import execute
from longlook.pipeline.executors import connected
from longlook.pipeline.open_run import open_run
from longlook.pipeline.options import Observer, RunOptions
from longlook.pipeline.provide import provide_for
from longlook.pipeline.registration import register
from longlook.pipeline.server_configs import check_server_configs
from longlook.pipeline.shards import keep_whole, plans
from longlook.pipeline.sites import opened_sites, site_access
from longlook.run import Checked, Provisions, Verification, Verifier, forget, save
from longlook.store import sharing


def run_study(study: Study, out: Path, options: RunOptions, observer: Observer) -> Result:
    """Plan, run and report a study in the run folder `out`.

    Raises InputError if the study cannot run as asked, MachineError if this machine cannot go on; finished
    trials stay. The folder is made after everything is installed, so that a failed installation leaves none.
    """
    whole, plan = plans(study, options)
    if study.hypotheses and options.use_cache:
        observer.say("a study with hypotheses takes no trial from the cache: all run after they are registered")
        options = replace(options, use_cache=False)
    with sharing(observer.say):
        check(study, plan, out, options)
        site_access(plan, options)  # before anything is installed
        provisions = provide_for(plan, options.engine, observer.say)
        check_server_configs(plan, provisions, observer.say)
        with (
            opened_sites(plan, provisions, options, observer) as sites,
            open_run(study, plan, out, provisions, options) as folder,
        ):
            if options.shard is not None:
                keep_whole(folder, options.shard, whole)
            register(study, plan, folder, observer)
            folder.expect(study.expectations)  # of a run that is continued, the file may have others by now
            execute(plan, folder, provisions, options, observer, sites)
            verify(folder.plan, folder, provisions, options, observer)
            return analyse_run(folder, observer)


def verify(plan: Plan, folder: RunFolder, provisions: Provisions, options: RunOptions, observer: Observer) -> None:
    """Run every finished trial `options.verify` times more, without the cache, and write `verification.json`.

    LonglookError if a trial differs from its seal.
    """
    repeats = options.verify
    if not repeats:
        return
    # The cells of a study that stops when it is decided do not need all trials of the plan.
    plan = replace(plan, trials=tuple(trial for trial in plan.trials if folder.result(trial.id) is not None))
    refuse_altered(folder, plan.trials)
    forget(folder)
    checked: dict[str, Checked] = {}
    done, lock = 0, threading.Lock()

    def count() -> None:
        nonlocal done
        with lock:
            done += 1
            observer.verifying(done, repeats * len(plan.trials))

    for each, trials in trials_by_engine(plan, options.engine):
        with distrusted_set_aside(folder, observer), connected(each, folder, observer):
            verifier = Verifier(folder, each, provisions, folder.study.metrics, repeats, options.jobs)
            checked |= {trial.trial_id: trial for trial in verifier.verify(trials, count)}
    save(folder, Verification(repeats, tuple(checked[trial.id] for trial in plan.trials)))
