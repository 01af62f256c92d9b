"""Whether a plan can run here as it is asked to, before anything is installed or written."""

from pathlib import Path

from longlook.core import InputError, Plan, RunFolder, Study, cache_dir
from longlook.pipeline.by_engine import trials_by_engine
from longlook.pipeline.evidence import refuse_altered
from longlook.pipeline.options import RunOptions
from longlook.run import refuse_unrepeatable
from longlook.study import check_live, check_remote, check_virtual


def check(study: Study, plan: Plan, out: Path, options: RunOptions) -> None:
    """Raise InputError if trials cannot repeat, cannot run by their engine, or cannot go to the folder `out`.

    LonglookError if trials that differ from their seals are to be verified, MachineError if there is no room for the
    cache.
    """
    cache_dir()  # before a program of others, such as Go's, makes the home folder that is missing
    if options.verify:
        for engine, trials in trials_by_engine(plan, options.engine):
            with engine:
                refuse_unrepeatable(engine, trials)
    check_remote(study, plan, options.engine.name)
    check_virtual(study, plan, options.engine.name)
    check_live(study, plan, options.engine.name)
    if options.resume:
        folder = reopen(out, plan)
        if options.verify:
            refuse_altered(folder, plan.trials)
    else:
        RunFolder.refuse_taken(out)


def reopen(out: Path, plan: Plan) -> RunFolder:
    """Return the run folder of an earlier session; InputError if this plan cannot go on in it."""
    folder = RunFolder.open(out)
    planned = folder.manifest["plan_hash"]
    if planned != plan.hash:
        raise InputError(
            f"{out} was planned differently (plan {planned}, now {plan.hash}): the study or an option has changed",
            "use the options of its manifest.json, or start anew with another --out",
        )
    return folder
