"""Run folders below some places, with what each of them found: read quickly, and changed in nothing.

A folder that is no run is passed over. A run that cannot be read is listed with the reason, as nobody should miss it.
"""

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from longlook.core import SCHEMA_VERSION, InputError, Verdict, files
from longlook.instruments.runs.holder import holder_of
from longlook.instruments.runs.notes import Notes, read_notes

DEEPEST = 4
"""Levels of folders below a place in which runs are looked for."""

_LARGEST_BYTES = 64 << 20
_UNREADABLE = (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError)


class State(StrEnum):
    """The state of a run."""

    RUNNING = "running"  # a process of this machine writes to it
    COMPLETE = "complete"  # all trials are finished, and it has its report
    NO_REPORT = "no report"  # all trials are finished
    STOPPED = "stopped"  # trials are missing, and --resume goes on
    UNREADABLE = "unreadable"


@dataclass(frozen=True)
class ListedRun:
    """A run folder, as far as it could be read.

    `trials` is the size of the plan; a run that stops when it is decided needs fewer. `verdicts` has the number
    of cells by verdict for each contrast, on the contrast's own metric. `results` is the digest of all exact results,
    and `part` the shard, such as 3/8.
    """

    path: Path
    state: State
    study: str = ""
    started_unix_s: int | None = None
    trials: int | None = None
    finished: int = 0
    verdicts: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    results: str = ""
    engine: str = ""
    part: str = ""
    notes: Notes = field(default_factory=Notes)
    reason: str = ""  # why it cannot be read
    size_bytes: int | None = None  # on disk; None: not asked for


def list_runs(places: Iterable[Path], *, with_size: bool = False) -> list[ListedRun]:
    """Return the runs that are, or are below, some places, the latest first.

    InputError if a place does not exist or cannot be read.
    """
    found: dict[Path, ListedRun] = {}
    for place in places:
        try:
            with os.scandir(place):
                pass
        except OSError as error:
            hint = "name a run folder, or a folder of run folders"
            raise InputError(f"{place} cannot be read: {error.strerror}", hint) from error
        for path in _folders(place, DEEPEST):
            run = read_run(path, with_size=with_size)
            if run is not None:
                found.setdefault(path.resolve(), run)
    return sorted(found.values(), key=lambda run: (-(run.started_unix_s or 0), str(run.path)))


def _folders(folder: Path, deepest: int) -> Iterator[Path]:
    """Yield the folders with a manifest, and folders that cannot be looked into; links are not followed."""
    if os.path.lexists(folder / "manifest.json"):
        yield folder
        return
    if not deepest:
        return
    try:
        with os.scandir(folder) as entries:
            below = sorted(
                entry.name
                for entry in entries
                if not entry.name.startswith(".") and entry.is_dir(follow_symlinks=False)
            )
    except OSError:
        yield folder
        return
    for name in below:
        yield from _folders(folder / name, deepest - 1)


def read_run(path: Path, *, with_size: bool = False) -> ListedRun | None:
    """Return what a run folder says about itself; None if the folder is something else."""
    size_bytes = _size_of(path) if with_size else None
    try:
        manifest = files.read_json(path / "manifest.json", _LARGEST_BYTES)
    except _UNREADABLE as error:
        is_run = isinstance(error, PermissionError) or os.path.lexists(path / "plan.json")
        reason = f"manifest.json: {_said(error)}"
        return ListedRun(path, State.UNREADABLE, reason=reason, size_bytes=size_bytes) if is_run else None
    if not isinstance(manifest, dict) or "plan_hash" not in manifest:
        return None
    return _read_whole(path, manifest, _of_manifest(path, manifest, size_bytes))


def _read_whole(path: Path, manifest: Mapping[str, Any], known: Mapping[str, Any]) -> ListedRun:
    if (version := manifest.get("schema_version")) != SCHEMA_VERSION:
        reason = f"schema version {version!r}, this Longlook reads {SCHEMA_VERSION}"
        return ListedRun(**known, state=State.UNREADABLE, reason=reason)
    try:
        finished = _finished(path)
        verdicts = _verdicts(path)
    except _UNREADABLE as error:
        return ListedRun(**known, state=State.UNREADABLE, reason=_said(error))
    return ListedRun(**known, state=_state(path, manifest, finished), finished=finished, verdicts=verdicts)


def _of_manifest(path: Path, manifest: Mapping[str, Any], size_bytes: int | None) -> dict[str, Any]:
    """Return what a manifest says, which may be anybody's: a value of another type than Longlook writes is left out."""
    results, shard = manifest.get("results"), manifest.get("shard")
    started, trials = manifest.get("started_unix_s"), manifest.get("trials")
    digest = results.get("digest") if isinstance(results, dict) else ""
    part = f"{shard.get('number')}/{shard.get('of')}" if isinstance(shard, dict) else ""
    return {
        "path": path,
        "study": str(manifest.get("study", "")),
        "started_unix_s": started if isinstance(started, int) and 0 < started < 1 << 40 else None,
        "trials": trials if isinstance(trials, int) else None,
        "results": digest if isinstance(digest, str) else "",
        "engine": str(manifest.get("engine", "")),
        "part": part,
        "notes": read_notes(path),
        "size_bytes": size_bytes,
    }


def _state(path: Path, manifest: Mapping[str, Any], finished: int) -> State:
    if holder_of(path) is not None:
        return State.RUNNING
    planned = manifest.get("trials")
    if "finished_unix_s" not in manifest and not (isinstance(planned, int) and finished >= planned > 0):
        return State.STOPPED
    return State.COMPLETE if files.is_regular(path / "report" / "index.html") else State.NO_REPORT


def _finished(path: Path) -> int:
    """Return how many trials have their final attempt."""
    with os.scandir(path / "trials") as entries:
        return sum("." not in entry.name for entry in entries)


def _verdicts(path: Path) -> dict[str, dict[str, int]]:
    """Return the number of cells by verdict for each contrast, on its own metric; nothing before there are any."""
    if not os.path.lexists(path / "estimates.parquet"):
        return {}
    import pyarrow as pa  # here, as a run that goes on has no estimates, and is looked at every second
    import pyarrow.parquet as pq

    data = pa.BufferReader(files.read_bytes(path / "estimates.parquet", _LARGEST_BYTES))
    try:  # in this thread alone: one that still starts when the command ends would abort it
        table = pq.ParquetFile(data, pre_buffer=False).read(["contrast", "metric", "verdict"], use_threads=False)
    except pa.ArrowException as error:
        raise ValueError(str(error)) from error
    study = files.read_json(path / "study.json", _LARGEST_BYTES)
    counts = {(each["name"], each["metric"]): Counter[str]() for each in study["contrasts"]}
    for contrast, metric, verdict in zip(*table.to_pydict().values(), strict=True):
        if (contrast, metric) in counts:
            counts[contrast, metric][verdict] += 1
    return {
        name: {str(verdict): found[verdict] for verdict in Verdict if found[verdict]}
        for (name, _), found in counts.items()
        if found
    }


def _size_of(folder: Path) -> int:
    """Return the space that a folder takes on disk, in bytes; what cannot be looked into counts nothing."""
    total, waiting = 0, [str(folder)]
    while waiting:
        try:
            with os.scandir(waiting.pop()) as entries:
                for entry in entries:
                    total += entry.stat(follow_symlinks=False).st_blocks * 512
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
        except OSError:
            continue
    return total


def _said(error: BaseException) -> str:
    if isinstance(error, OSError) and error.strerror:
        place = Path(error.filename).name if error.filename else ""
        return f"{place}: {error.strerror}" if place else str(error.strerror)
    return f"{type(error).__name__}: {error}".splitlines()[0][:200]
