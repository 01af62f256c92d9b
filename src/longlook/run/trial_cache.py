"""Finished trials by what determines them, so that none is ever run twice. Only virtual time makes that possible."""

import threading
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from longlook.core import (
    SCHEMA_VERSION,
    TIMELINE,
    ContentStore,
    Job,
    Outcome,
    Run,
    cache_root,
    codec,
    endpoints_of,
    file_digest,
    files,
    registry,
    source_digest,
)
from longlook.lab import raise_if_full


class TrialCache:
    """A cache of finished trials; `setting` is what decides a result beside the job: kernel, agent, interpreter."""

    def __init__(self, setting: Mapping[str, str], root: Path | None = None) -> None:
        self._setting = dict(setting)
        self._store = ContentStore(root or cache_root())

    def key(self, job: Job) -> str:
        """Return the SHA-256 of everything that determines the result of the job."""
        return codec.content_hash(
            {
                "schema": SCHEMA_VERSION,
                "setting": self._setting,
                "trial": codec.encode(job.trial),
                "attempt": job.attempt,
                "programs": {role: program.digest for role, program in job.programs.items()},
                "stacks": [stack_digest(end.stack) for end in endpoints_of(job.trial)],
                "content": codec.encode(replace(job.content, root="")),
                "identity": [file_digest(Path(path)) for path in (job.identity.certificate, job.identity.ca)],
            },
            64,
        )

    def fetch(self, job: Job) -> Run | None:
        """Fill the job's folder from the cache; return None, and do nothing, if there is no sound entry.

        MachineError if there is no room for it.
        """
        key = self.key(job)
        run = self._store.read(key, _run_in)
        try:
            return run if run is not None and self._store.lay(key, None, Path(job.folder)) else None
        except OSError as error:
            raise_if_full(Path(job.folder), error)
            raise

    def holds(self, job: Job) -> bool:
        """Whether there is an entry for the job. Its files are not checked, so `fetch` may still refuse it."""
        return self._store.has(self.key(job))

    def forget(self, job: Job) -> None:
        """Remove the entry of a job that is not believed any more."""
        self._store.read(self.key(job), _refused)

    def keep(self, job: Job, run: Run) -> None:
        """Store a finished trial whose end its programs decided; a measurement that cannot be trusted is not kept."""
        if run.outcome is Outcome.INVALID:
            return
        source = Path(job.folder)
        self._store.keep(self.key(job), source, [name for name, _ in files.below(source) if name != TIMELINE])


def _refused(folder: Path) -> Run:
    raise ValueError(f"{folder} is not believed any more")


def _run_in(folder: Path) -> Run:
    return codec.decode(Run, files.read_json(folder / "run.json"))


_READING = threading.Lock()
"""Python 3.11 may fail if several threads parse sources at the same moment (`AST constructor recursion depth`)."""


def stack_digest(name: str) -> str:
    """Return the digest of the code that decides how a stack's program is called."""
    with _READING:
        return source_digest(registry.source("stacks", name))
