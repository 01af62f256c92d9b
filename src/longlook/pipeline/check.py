"""The engine that runs each trial of a plan, and a check before anything is written that the plan can run here."""

from collections.abc import Iterator
from pathlib import Path

from longlook.core import Engine, InputError, Plan, RunFolder, Study, Trial, cache_dir
from longlook.engines import make_engine
from longlook.pipeline.evidence import refuse_altered
from longlook.pipeline.options import RunOptions
from longlook.provision import take_kernel
from longlook.run import refuse_unrepeatable
from longlook.study import VIRTUAL, check_live, check_paints, check_remote, check_sites, check_virtual


def trials_by_engine(plan: Plan, engine: Engine) -> Iterator[tuple[Engine, list[Trial]]]:
    """Yield each engine with its trials in the plan's order; live ones last, when nothing else runs here.

    `engine` runs the trials that name none. The engines have not been entered.
    """
    names = sorted({trial.engine or engine.name for trial in plan.trials}, key=lambda name: (name == "live", name))
    for name in names:
        trials = [trial for trial in plan.trials if (trial.engine or engine.name) == name]
        yield (engine if name == engine.name else make_engine(name)), trials


def runs_in_guests(plan: Plan, engine: Engine) -> bool:
    """Whether any trial needs the guest kernel."""
    return any((trial.engine or engine.name) == VIRTUAL for trial in plan.trials)


def check(study: Study, plan: Plan, out: Path, options: RunOptions) -> None:
    """Raise InputError if trials cannot repeat, cannot run by their engine, or cannot go to the folder `out`.

    LonglookError if trials that differ from their seals are to be verified, MachineError if there is no room for the
    cache.
    """
    cache_dir()  # before a program of others, such as Go's, makes the home folder that is missing
    if options.verify:
        take_kernel(lambda _text: None)  # before the engine builds one
        for engine, trials in trials_by_engine(plan, options.engine):
            with engine:
                refuse_unrepeatable(engine, trials)
    check_paints(study, plan)
    check_remote(study, plan, options.engine.name)
    check_virtual(study, plan, options.engine.name)
    check_live(study, plan, options.engine.name)
    check_sites(study, plan, options.engine.name)
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
