"""A study from its plan to its report: the list of the stages."""

from pathlib import Path

from longlook.core.model import Study
from longlook.pipeline.analyse import Result, analyse
from longlook.pipeline.check import check
from longlook.pipeline.execute import execute
from longlook.pipeline.open_run import open_run
from longlook.pipeline.options import Observer, RunOptions
from longlook.pipeline.provide import provide
from longlook.pipeline.verify import verify
from longlook.study.plan import make_plan


def run_study(study: Study, out: Path, options: RunOptions, observer: Observer) -> Result:
    """Plan, run and report a study in the run folder `out`.

    Raises InputError where the study cannot run as asked, MachineError where this machine cannot go on; finished
    trials stay. The folder is made after everything is installed, so that a failed installation leaves none.
    """
    plan = make_plan(study, options.only, most=options.most_trials)
    check(study, plan, out, options)
    provisions = provide(plan, options.engine, observer.say)
    with open_run(study, plan, out, provisions, options) as folder:
        execute(plan, folder, provisions, options, observer)
        verify(plan, folder, provisions, options, observer)
        return analyse(folder, observer)
