"""Finished trials run again and are compared, where that is asked for."""

import threading
from dataclasses import replace

from longlook.core.model import Plan
from longlook.core.run_folder import RunFolder
from longlook.pipeline.by_engine import trials_by_engine
from longlook.pipeline.evidence import refuse_altered
from longlook.pipeline.options import Observer, RunOptions
from longlook.run.execute import Provisions
from longlook.run.verification import Checked, Verification
from longlook.run.verify import Verifier, forget, save


def verify(plan: Plan, folder: RunFolder, provisions: Provisions, options: RunOptions, observer: Observer) -> None:
    """Run every finished trial `options.verify` times more, without the cache, and write `verification.json`.

    LonglookError where one is not as it was sealed.
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
        with each:
            verifier = Verifier(folder, each, provisions, folder.study.metrics, repeats, options.jobs)
            checked |= {trial.trial_id: trial for trial in verifier.verify(trials, count)}
    save(folder, Verification(repeats, tuple(checked[trial.id] for trial in plan.trials)))
