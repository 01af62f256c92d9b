"""A study or a plan to its samples, without estimates and without a report: for what analyses trials itself."""

from dataclasses import replace
from pathlib import Path

import pandas as pd

from longlook.analysis import MeasuredAttempt
from longlook.core import SAMPLES, Plan, RunFolder, Study
from longlook.pipeline.analyse import measure, write_digest, write_samples
from longlook.pipeline.check import check
from longlook.pipeline.execute import execute
from longlook.pipeline.open_run import open_run
from longlook.pipeline.options import Observer, RunOptions
from longlook.pipeline.provide import provide_for
from longlook.store import sharing
from longlook.study import make_plan


def sample_study(study: Study, out: Path, options: RunOptions, observer: Observer) -> pd.DataFrame:
    """Plan, run and measure a study in the run folder `out`; return what `samples.parquet` has.

    Raises what `run.run_study` raises, which writes everything else of the run too.
    """
    return _sampled(study, make_plan(study, options.only, most=options.most_trials), out, options, observer)[2]


def measure_plan(
    study: Study, plan: Plan, out: Path, options: RunOptions, observer: Observer
) -> tuple[RunFolder, list[MeasuredAttempt]]:
    """Run and measure a plan in the run folder `out`, or what is missing of it if the folder has this plan already.

    Raises what `run.run_study` raises. Trials that did not go well are among the measured.
    """
    resumed = replace(options, resume=(out / "manifest.json").exists())
    folder, measured, _ = _sampled(study, plan, out, resumed, observer)
    return folder, measured


def _sampled(
    study: Study, plan: Plan, out: Path, options: RunOptions, observer: Observer
) -> tuple[RunFolder, list[MeasuredAttempt], pd.DataFrame]:
    with sharing(observer.say):
        check(study, plan, out, options)
        provisions = provide_for(plan, options.engine, observer.say)
        with open_run(study, plan, out, provisions, options) as folder:
            execute(plan, folder, provisions, options, observer)
            measured = measure(folder, observer)
            write_digest(folder, measured)
            samples = write_samples(folder, measured).samples
            folder.seal([SAMPLES])
            return folder, measured, samples
