"""Finished trials by what determines them, so that none is ever run twice. Only trials in virtual time are functions.

An entry is a trial's folder with the digests of all its files; one that does not match them is thrown away.
"""

import inspect
import json
import os
import shutil
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from longlook import codec, paths, registry
from longlook.installing import file_digest
from longlook.job import Job
from longlook.model import SCHEMA_VERSION, Outcome, Run
from longlook.stacks import Stack

ENTRY = "entry.json"
_DERIVED = "timeline.parquet"  # made again from the rest
_ABANDONED_S = 3600.0  # an unfinished entry is left to who may be writing it for so long


@dataclass(frozen=True)
class Pruned:
    """What a prune removed and left."""

    removed: int
    removed_bytes: int
    kept: int
    kept_bytes: int


class TrialCache:
    """`setting` names what beside the job decides a result: kernel, agent, interpreter."""

    def __init__(self, setting: Mapping[str, str], root: Path | None = None) -> None:
        self._setting = dict(setting)
        self._root = root or cache_root()

    def key(self, job: Job) -> str:
        """SHA-256 of everything that determines what the job gives."""
        return codec.content_hash(
            {
                "schema": SCHEMA_VERSION,
                "setting": self._setting,
                "trial": codec.encode(job.trial),
                "attempt": job.attempt,
                "programs": {role: program.digest for role, program in job.programs.items()},
                "stacks": [_source(end.stack) for end in (job.trial.server, job.trial.client)],
                "content": codec.encode(job.content.expected),
                "identity": [file_digest(Path(path)) for path in (job.identity.certificate, job.identity.ca)],
            },
            64,
        )

    def fetch(self, job: Job) -> Run | None:
        """Fill the job's folder from the cache; None, and nothing done, where there is no sound entry."""
        folder = self._folder(self.key(job))
        try:
            entry = json.loads((folder / ENTRY).read_text())
            files: dict[str, str] = entry["files"]
            sound = "run.json" in files and all(file_digest(folder / name) == files[name] for name in files)
            run = codec.decode(Run, json.loads((folder / "run.json").read_text())) if sound else None
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            run = None
        if run is None:
            shutil.rmtree(folder, ignore_errors=True)
            return None
        try:
            for name in files:
                share(folder / name, Path(job.folder) / name)
            os.utime(folder / ENTRY)  # last used, for prune
        except FileNotFoundError:  # another process is pruning: there is none, then
            for name in files:
                (Path(job.folder) / name).unlink(missing_ok=True)
            return None
        return run

    def keep(self, job: Job, run: Run) -> None:
        """Store a finished trial whose end its programs decided; a measurement that cannot be trusted is not kept."""
        if run.outcome is Outcome.INVALID:
            return
        source, folder = Path(job.folder), self._folder(self.key(job))
        folder.parent.mkdir(parents=True, exist_ok=True)
        partial = Path(tempfile.mkdtemp(prefix=".partial-", dir=self._root))
        try:
            names = [str(path.relative_to(source)) for path in source.rglob("*") if path.is_file()]
            files = {name: file_digest(source / name) for name in sorted(names) if name != _DERIVED}
            for name in files:
                share(source / name, partial / name)
            (partial / ENTRY).write_text(json.dumps({"files": files}, indent=1) + "\n")
            partial.rename(folder)  # refused where another process was first: its entry is as good, and may be in use
        except OSError:
            shutil.rmtree(partial, ignore_errors=True)  # or there is no room: no harm
            if not folder.is_dir() and shutil.disk_usage(self._root).free > 1 << 20:
                raise

    def _folder(self, key: str) -> Path:
        return self._root / key[:2] / key


def cache_root() -> Path:
    """The folder of all entries (LONGLOOK_TRIALS moves it)."""
    return Path(os.environ.get("LONGLOOK_TRIALS") or paths.cache_dir() / "trials")


def prune(unused_for_s: float, root: Path | None = None, now_s: float | None = None) -> Pruned:
    """Remove entries that nothing used for that long, and what interrupted processes left."""
    root, now_s = root or cache_root(), time.time() if now_s is None else now_s
    removed = removed_bytes = kept = kept_bytes = 0
    for folder in [*root.glob("??/*"), *root.glob(".partial-*")]:
        whole = not folder.name.startswith(".")
        try:
            size_bytes = _size_bytes(folder)
            used_s = (folder / ENTRY if (folder / ENTRY).exists() else folder).stat().st_mtime
        except FileNotFoundError:  # somebody else removes or finishes it
            continue
        if now_s - used_s >= (unused_for_s if whole else max(unused_for_s, _ABANDONED_S)):
            shutil.rmtree(folder, ignore_errors=True)
            removed, removed_bytes = removed + 1, removed_bytes + size_bytes
        else:
            kept, kept_bytes = kept + 1, kept_bytes + size_bytes
    return Pruned(removed, removed_bytes, kept, kept_bytes)


def held(root: Path | None = None) -> tuple[int, int]:
    """Entries and their bytes."""
    sizes = [_size_bytes(folder) for folder in (root or cache_root()).glob("??/*")]
    return len(sizes), sum(sizes)


def _size_bytes(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def _source(name: str) -> str:
    """Digest of a stack's own file, which says how its program is called."""
    stack: Stack = registry.get("stacks", name)
    path = inspect.getsourcefile(stack.install)
    return "" if path is None else file_digest(Path(path))


def share(source: Path, target: Path) -> None:
    """One file under two names where the file system can; a change of either then shows in the digest."""
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        os.link(source, target)
    except OSError:
        shutil.copyfile(source, target)
