"""The paths that the programs of trials need: of the host in a guest, and of everything private in real time."""

import sys
from collections.abc import Iterator
from pathlib import Path

import longlook
from longlook.core import Job, paths


def python_paths() -> Iterator[str]:
    """Yield where Python, its modules, Longlook and its cache are."""
    yield from (sys.executable, sys.prefix, sys.base_prefix, str(Path(longlook.__file__).parents[1]))
    # Without the folder that Python was started from: what programs see must not depend on it.
    started = {str(Path.cwd()), str(Path(sys.argv[0]).parent)}
    yield from (entry for entry in sys.path if entry and entry not in started)
    yield from (str(paths.cache_dir()), str(paths.adapters_dir()))


def job_paths(job: Job) -> Iterator[str]:
    """Yield where a job's programs, files to serve and certificate are."""
    yield from (program.path for program in job.programs.values())
    yield from filter(None, (job.content.root, job.identity.ca, job.identity.certificate, job.identity.key))
