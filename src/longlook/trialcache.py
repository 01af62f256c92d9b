"""Finished trials by what determines them, so that none is ever run twice. Only virtual time makes that possible."""

import inspect
import json
import os
from collections.abc import Mapping
from pathlib import Path

from longlook import codec, paths, registry
from longlook.entries import Entries
from longlook.flows import endpoints_of
from longlook.installing import file_digest
from longlook.job import Job
from longlook.model import SCHEMA_VERSION, Outcome, Run
from longlook.stacks import Stack
from longlook.store import TIMELINE


class TrialCache:
    """`setting` names what beside the job decides a result: kernel, agent, interpreter."""

    def __init__(self, setting: Mapping[str, str], root: Path | None = None) -> None:
        self._setting = dict(setting)
        self._entries = Entries(root or cache_root())

    def key(self, job: Job) -> str:
        """SHA-256 of everything that determines what the job gives."""
        return codec.content_hash(
            {
                "schema": SCHEMA_VERSION,
                "setting": self._setting,
                "trial": codec.encode(job.trial),
                "attempt": job.attempt,
                "programs": {role: program.digest for role, program in job.programs.items()},
                "stacks": [_source(end.stack) for end in endpoints_of(job.trial)],
                "content": codec.encode(job.content.expected),
                "identity": [file_digest(Path(path)) for path in (job.identity.certificate, job.identity.ca)],
            },
            64,
        )

    def fetch(self, job: Job) -> Run | None:
        """Fill the job's folder from the cache; None, and nothing done, where there is no sound entry."""
        key = self.key(job)
        run = self._entries.read(key, _run_in)
        return run if run is not None and self._entries.lay(key, None, Path(job.folder)) else None

    def keep(self, job: Job, run: Run) -> None:
        """Store a finished trial whose end its programs decided; a measurement that cannot be trusted is not kept."""
        if run.outcome is Outcome.INVALID:
            return
        source = Path(job.folder)
        names = [str(path.relative_to(source)) for path in source.rglob("*") if path.is_file()]
        self._entries.keep(self.key(job), source, [name for name in names if name != TIMELINE])


def _run_in(folder: Path) -> Run:
    return codec.decode(Run, json.loads((folder / "run.json").read_text()))


def cache_root() -> Path:
    """The folder of all entries (LONGLOOK_TRIALS moves it)."""
    return Path(os.environ.get("LONGLOOK_TRIALS") or paths.cache_dir() / "trials")


def _source(name: str) -> str:
    """Digest of a stack's own file, which says how its program is called."""
    stack: Stack = registry.get("stacks", name)
    path = inspect.getsourcefile(stack.install)
    return "" if path is None else file_digest(Path(path))
