"""Writes the job of one trial of a run folder into a file, and runs it alone with `--engine` (docs/guide/debugging.md).

    python -m longlook.pipeline.job_file RUN TRIAL FOLDER                      write FOLDER/job.json
    python -m longlook.pipeline.job_file RUN TRIAL FOLDER --engine virtual     and run it once by an engine
    … --program client=./wrapper                                               with another program in a role

TRIAL is the trial's id, which is the name of its folder in RUN/trials. FOLDER is a new folder for the trial's files.
Programs that are missing are installed first. The cache of trials is not used.
"""

import argparse
import json
import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from longlook.core import InputError, Job, LonglookError, Plan, Program, codec, file_digest, nearest
from longlook.engines import ENGINES, make_engine
from longlook.pipeline.open_run import open_adopted
from longlook.pipeline.provide import provide_for
from longlook.run import make_job
from longlook.study import VIRTUAL


def job_of(run: Path, trial_id: str, folder: Path, engine: str = VIRTUAL) -> Job:
    """Return the job of a trial of the run folder `run`, for its first attempt; it will write to `folder`. Things that
    only a trial of `engine` needs, such as the guest kernel, are made too.

    Raise InputError for an unknown trial.
    """
    found = open_adopted(run)
    trials = {trial.id: trial for trial in found.plan.trials}
    if trial_id not in trials:
        known = f"ls {run / 'trials'} lists them{nearest(trial_id, trials)}"
        raise InputError(f"{run} has no trial {trial_id!r}", known)
    trial = trials[trial_id]
    provisions = provide_for(Plan(trial.study, "", (trial,)), make_engine(engine), _log)
    traces = {
        digest: str((found.traces / f"{digest.removeprefix('sha256:')}.json").resolve()) for digest in trial.traces()
    }
    return make_job(trial, 1, str(folder.resolve()), provisions, traces)


def main(arguments: list[str] | None = None) -> int:
    """Write the job file and print its path, then run the job if an engine is named; return the exit code."""
    parser = argparse.ArgumentParser(prog="longlook.pipeline.job_file")
    for name in ("run", "trial", "folder"):
        parser.add_argument(name)
    parser.add_argument("--engine", choices=sorted(ENGINES))
    parser.add_argument("--program", metavar="ROLE=FILE", action="append", default=[])
    options = parser.parse_args(arguments)
    try:
        job = with_programs(
            job_of(Path(options.run), options.trial, Path(options.folder), options.engine or VIRTUAL), options.program
        )
        file = write(job)
        sys.stdout.write(f"{file}\n")
        if options.engine is not None:
            sys.stdout.write(f"{_run(job, options.engine)}\n")
    except LonglookError as error:
        sys.stderr.write(f"error: {error.message}" + (f" ({error.hint})\n" if error.hint else "\n"))
        return error.exit_code
    return 0


def _log(text: str) -> None:
    sys.stderr.write(f"{text}\n")


def with_programs(job: Job, changes: Sequence[str]) -> Job:
    """Return the job with other programs, each given as ROLE=FILE; raise InputError for a bad one."""
    programs = dict(job.programs)
    for change in changes:
        role, _, name = change.partition("=")
        path = Path(name).absolute()
        if role not in programs:
            raise InputError(f"--program {change}: this trial has no {role!r}", f"known: {', '.join(programs)}")
        if not os.access(path, os.X_OK) or not path.is_file():
            raise InputError(f"--program {change}: {path} is not an executable file", f"chmod +x {path}")
        programs[role] = Program(str(path), file_digest(path))
    return replace(job, programs=programs)


def write(job: Job) -> Path:
    """Write a job as `job.json` into its folder, which must not exist yet, and return the file."""
    folder = Path(job.folder)
    try:
        folder.mkdir(parents=True)
    except FileExistsError as error:
        raise InputError(f"{folder} exists", "name a new folder: the trial's files go into it") from error
    file = folder / "job.json"
    file.write_text(json.dumps(codec.encode(job), indent=1) + "\n")
    return file


def _run(job: Job, engine: str) -> str:
    with make_engine(engine) as entered:
        run = entered.run(job)
    return "\n".join(filter(None, (str(run.outcome), run.reason, run.hint)))


if __name__ == "__main__":
    sys.exit(main())
