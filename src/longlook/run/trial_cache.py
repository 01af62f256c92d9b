"""Finished trials by what determines them, so that none is ever run twice. Only virtual time makes that possible."""

import hashlib
import threading
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TypeVar

from longlook.core import (
    SCHEMA_VERSION,
    TIMELINE,
    Content,
    ContentStore,
    Job,
    Outcome,
    Run,
    codec,
    endpoints_of,
    file_digest,
    files,
    registry,
    source_digest,
)
from longlook.lab import raise_if_full
from longlook.store import TRIALS, cache_with_store

T = TypeVar("T")


class TrialCache:
    """A cache of finished trials, with the store of several machines behind it if there is one.

    `setting` is what decides a result beside the job: kernel, agent, interpreter.
    """

    def __init__(self, setting: Mapping[str, str], root: Path | None = None) -> None:
        self._schema, self._setting = codec.canonical(SCHEMA_VERSION), codec.canonical(dict(setting))
        self._store = ContentStore(root) if root else cache_with_store(TRIALS)
        # Trials of a plan share nearly all of these, and a large plan asks for the keys of 100,000 trials.
        self._stacks = cache(lambda names: codec.canonical([stack_digest(name) for name in names]))
        self._programs = cache(lambda digests: codec.canonical(dict(digests)))
        self._digest = cache(lambda path, _state: file_digest(Path(path)))
        self._contents: dict[int, tuple[Content, str]] = {}

    def key(self, job: Job) -> str:
        """Return the SHA-256 of everything that determines the result of the job."""
        parts = {
            "schema": self._schema,
            "setting": self._setting,
            "trial": codec.canonical(job.trial),
            "attempt": codec.canonical(job.attempt),
            "programs": self._programs(tuple((role, program.digest) for role, program in job.programs.items())),
            "stacks": self._stacks(tuple(end.stack for end in endpoints_of(job.trial))),
            "content": self._content(job.content),
            "identity": codec.canonical([self._file(path) for path in (job.identity.certificate, job.identity.ca)]),
        }
        text = ",".join(f'"{name}":{parts[name]}' for name in sorted(parts))  # as `codec.canonical` of all at once
        return hashlib.sha256(f"{{{text}}}".encode()).hexdigest()

    def _file(self, path: str) -> str:
        """Return the digest of a file, which is read again if it was written since."""
        state = Path(path).stat()
        return self._digest(path, (state.st_ino, state.st_size, state.st_mtime_ns))

    def _content(self, content: Content) -> str:
        """Return the canonical text of a content; it may be large, and trials of a cell share the object."""
        known = self._contents.get(id(content))
        if known is None or known[0] is not content:
            known = self._contents[id(content)] = (content, codec.canonical(replace(content, root="")))
        return known[1]

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

    def look(self, job: Job, read: Callable[[Path, Run], T]) -> T | None:
        """Return what `read` makes of the folder and the result of a job's entry; None if there is no sound one."""
        return self._store.read(self.key(job), lambda folder: read(folder, _run_in(folder)))

    def forget(self, job: Job) -> None:
        """Remove the entry of a job that is not believed any more, also from a store into which this process put it."""
        self._store.withdraw(self.key(job))

    def keep(self, job: Job, run: Run) -> None:
        """Store a finished trial whose end its programs decided; a measurement that cannot be trusted is not kept."""
        if run.outcome is Outcome.INVALID:
            return
        source = Path(job.folder)
        self._store.keep(self.key(job), source, [name for name, _ in files.below(source) if name != TIMELINE])


def _run_in(folder: Path) -> Run:
    return codec.decode(Run, files.read_json(folder / "run.json"))


_READING = threading.Lock()
"""Python 3.11 may fail if several threads parse sources at the same moment (`AST constructor recursion depth`)."""


def stack_digest(name: str) -> str:
    """Return the digest of the code that decides how a stack's program is called."""
    with _READING:
        return source_digest(registry.source("stacks", name))
