"""A study from its plan to its samples, without estimates and without a report: for what analyses many cells itself."""

from pathlib import Path

import pandas as pd

from longlook.core.model import Study
from longlook.pipeline.analyse import measure, write_digest, write_samples
from longlook.pipeline.check import check
from longlook.pipeline.execute import execute
from longlook.pipeline.open_run import open_run
from longlook.pipeline.options import Observer, RunOptions
from longlook.pipeline.provide import provide
from longlook.study.plan import make_plan


def sample_study(study: Study, out: Path, options: RunOptions, observer: Observer) -> pd.DataFrame:
    """Plan, run and measure a study in the run folder `out`; return what `samples.parquet` has.

    Raises what `run.run_study` raises, which writes everything else of the run too.
    """
    plan = make_plan(study, options.only)
    check(study, plan, out, options)
    provisions = provide(plan, options.engine, observer.say)
    with open_run(study, plan, out, provisions, options) as folder:
        execute(plan, folder, provisions, options, observer)
        measured = measure(folder, observer)
        write_digest(folder, measured)
        return write_samples(folder, measured)
