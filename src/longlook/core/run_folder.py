"""Run folders: which file is where, when a trial counts as finished, and how a stopped run continues.

A trial is written to a folder whose name begins with a dot and renamed when it is complete, so every folder named by a
trial's id is whole. Attempts that a validity guard rejected stay next to that folder as `ID.attempt1`, `ID.attempt2`
and so on. All files are sealed (`core/seals.py`): an attempt that differs from its seal reads as invalid, and an
attempt that the run never sealed is not counted. A run folder may be a stranger's: it holds files and folders alone, no
links or devices.
"""

import hashlib
import json
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import cached_property
from itertools import count, takewhile
from pathlib import Path
from typing import Any

from longlook.core import codec, files, path_hints
from longlook.core.errors import InputError, MachineError
from longlook.core.expectations import Expectation
from longlook.core.lock import Lock
from longlook.core.model import SCHEMA_VERSION, Outcome, Plan, Run, Study, Trial
from longlook.core.paths import ignore_in_git, outermost_new
from longlook.core.seals import RUN_RECORD, Seals, altered_file, altered_files
from longlook.core.source_tree import remember

TIMELINE = "timeline.parquet"
EVENTS = "events.parquet"
LEDGER = "ledger.parquet"
"""Tables of a trial's folder: made from its other files, and made again when they are missing. Only trials with traces
have events, and only explained trials have a ledger.
"""
_DERIVED = (TIMELINE, EVENTS, LEDGER)

FLOWS, RATES, POINTS = "flows.parquet", "rates.parquet", "envelopes.parquet"
STATES = "states.parquet"
DEPENDENCES = "dependences.parquet"
"""Tables of a run folder about competing flows, about times in states, and about how effects depend on drawn settings;
absent if there are no such rows.
"""

SAMPLES = "samples.parquet"
"""The table of a run folder with every attempt and metric, failed attempts included."""

ALTERED = "altered"
"""The folder of attempts that were not as they were sealed, and that ran again."""

TRIALS = "trials"
_SHALLOW = (TRIALS, ALTERED)
"""Folders of a run folder in which there are folders of trials."""

_LARGEST_PLAN_BYTES = 4 << 30  # 1.7 KB for each of a million trials
_DAMAGED = "a run folder is read whole: restore the file from a copy, or run the study again"

_LONGEST_SHOWN = 200
FREE_BYTES_NEEDED = 200 * 1024 * 1024
"""Below this much free space no trial is started."""


def read_attempt(folder: Path, sealed: str | None, derived: Iterable[str], again: str) -> tuple[Run, str]:
    """Return an attempt, and its first difference from its seal: an empty text if there is no difference.

    `sealed` is the digest of its `run.json`, if that is known, and `derived` are names of files that are made from the
    others. An attempt that differs from its seal is invalid for that reason; `again` is the option that runs it again.
    """
    run = _unknown_run(folder.name)
    try:
        data = files.read_bytes(folder / RUN_RECORD)
        if sealed is not None and hashlib.sha256(data).hexdigest() != sealed:
            wrong = f"{RUN_RECORD} was changed"
        else:
            run = codec.decode(Run, json.loads(data))
            wrong = "; ".join(altered_files(folder, run.artefacts, derived))
    except FileNotFoundError:
        wrong = f"{RUN_RECORD} is missing"
    except OSError as error:
        place = Path(error.filename).name if error.filename else RUN_RECORD
        wrong = f"{place} cannot be read ({error.strerror})"
    except (ValueError, RecursionError) as error:
        wrong = f"{RUN_RECORD} is damaged ({error})"
    if not wrong:
        return run, ""
    reason = f"not as it was sealed: {wrong}"
    hint = f"{again} runs the trial again"
    return replace(run, outcome=Outcome.INVALID, reason=reason, hint=hint, exact=False), wrong


def _unknown_run(name: str) -> Run:
    """Return an attempt of which nothing is known but the name of its folder."""
    trial_id, _, attempt = name.partition(".attempt")
    return Run(
        trial_id=trial_id,
        outcome=Outcome.INVALID,
        reason=None,
        hint=None,
        attempt=int(attempt or 1),
        engine="",
        started_unix_ns=0,
        setup_s=0.0,
        measure_s=0.0,
        teardown_s=0.0,
        programs={},
        artefacts={},
        cpu_s={},
        link={},
        guard={},
    )


def shortened(path: Path) -> str:
    """Return a path as messages call it, without the middle if it is very long."""
    text = str(path)
    return text if len(text) <= _LONGEST_SHOWN else f"{text[: _LONGEST_SHOWN // 2]}…{text[-_LONGEST_SHOWN // 2 :]}"


class RunFolder:
    """A run on disk. Create or reopen it with the class methods; use it as a context manager while writing."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = Lock(path)
        self._seals = Seals(path)
        self._attempts: dict[str, tuple[Run, str]] = {}

    @classmethod
    def create(cls, path: Path, study: Study, plan: Plan, manifest: Mapping[str, Any]) -> "RunFolder":
        """Make a run folder with the study, the plan and the manifest.

        InputError if `path` is taken, also by another process at this moment; MachineError if it cannot be
        written: nothing of it then stays.
        """
        cls.refuse_taken(path)
        folder, made = cls(path), outermost_new(path)
        try:
            path.mkdir(parents=True, exist_ok=True)
            folder.trials.mkdir()  # one process alone makes it, and owns the folder then
        except FileExistsError as error:
            raise InputError(f"{path} was just made by another longlook", "choose another --out") from error
        except OSError as error:
            with suppress(OSError):
                path.rmdir()  # which leaves a folder alone that another process writes to
            raise _cannot_make(path, error) from error
        try:
            ignore_in_git(made)
            write_json(path / "study.json", codec.encode(study))
            write_json(path / "plan.json", codec.encode(plan))
            folder.write_manifest({"schema_version": SCHEMA_VERSION, **manifest})
            folder.seal(["study.json", "plan.json"])
        except OSError as error:
            shutil.rmtree(path, ignore_errors=True)  # it was not there, or empty
            raise _cannot_make(path, error) from error
        return folder

    @staticmethod
    def refuse_taken(path: Path) -> None:
        """Raise InputError unless `path` can be made, or is an empty folder."""
        try:
            path.stat()
        except FileNotFoundError:
            return
        except (OSError, ValueError) as error:  # too long, below a file, or not to be looked into
            reason = error.strerror if isinstance(error, OSError) else str(error)
            raise InputError(f"--out {shortened(path)} cannot be a run folder: {reason}", "choose another") from error
        if not path.is_dir() or any(path.iterdir()):
            hint = f"continue it with --resume {path}" if (path / "manifest.json").exists() else "choose another --out"
            raise InputError(f"{path} exists and is not empty", hint)

    @classmethod
    def open(cls, path: Path) -> "RunFolder":
        """Return an existing run folder; InputError if it is none, has a schema that is not read, or holds anything but
        files and folders.
        """
        try:
            manifest = files.read_json(path / "manifest.json")
        except (FileNotFoundError, NotADirectoryError) as error:
            hint = path_hints.reader_of(path) if path_hints.is_one(path) else "name a folder below runs/"
            raise InputError(f"{path} is not a run folder (no manifest.json)", hint) from error
        except (ValueError, RecursionError) as error:
            raise InputError(f"{path / 'manifest.json'} is damaged: {error}", _DAMAGED) from error
        if not isinstance(manifest, dict):
            raise InputError(f"{path / 'manifest.json'} is damaged: it holds no object", _DAMAGED)
        if (version := manifest.get("schema_version")) != SCHEMA_VERSION:
            raise InputError(
                f"{path} has schema version {version}, this Longlook reads {SCHEMA_VERSION}",
                "run its study again, or use the Longlook version named in its manifest.json",
            )
        _refuse_links(path)
        try:
            remember(manifest.get("sources", []))
        except (ValueError, TypeError, KeyError) as error:
            raise InputError(f"{path / 'manifest.json'} is damaged: sources: {error}", _DAMAGED) from error
        return cls(path)

    def __enter__(self) -> "RunFolder":
        """Take the folder for writing and clear what an interrupted trial left in it."""
        self._lock.take()
        try:
            self._seals.drop_half_line()
            for partial in self.trials.glob(".partial-*"):
                if (name := self._sealed_as(partial)) is not None:  # killed between its seal and its renaming
                    partial.rename(self.trials / name)
                else:
                    files.remove_tree(partial)
        except BaseException:
            self._lock.release()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        """Release the folder."""
        self._lock.release()

    @property
    def trials(self) -> Path:
        """Return the folder of trial folders."""
        return self.path / TRIALS

    @property
    def traces(self) -> Path:
        """Return the folder of traces that the trials' links name by their digests."""
        return self.path / "traces"

    def trace_files(self) -> dict[str, str]:
        """Return the absolute path of each trace in the folder, by digest."""
        return {f"sha256:{path.stem}": str(path.resolve()) for path in self.traces.glob("[!.]*.json")}

    @cached_property
    def study(self) -> Study:
        """Return the study as it was planned."""
        with self._damage_named("study.json") as data:
            return codec.decode(Study, data)

    @cached_property
    def plan(self) -> Plan:
        """Return the plan as it was made."""
        with self._damage_named("plan.json") as data:
            return codec.decode(Plan, data)

    def replan(self, plan: Plan) -> None:
        """Replace the plan: trials that ran decided how it goes on. The manifest keeps the hash of the first."""
        write_json(self.path / "plan.json", codec.encode(plan))
        self.seal(["plan.json"])
        self.__dict__.pop("plan", None)

    def expect(self, expectations: tuple[Expectation, ...]) -> None:
        """Replace the study's expectations, which are no part of its trials: an analysis judges them anew."""
        if self.study.expectations != expectations:
            write_json(self.path / "study.json", codec.encode(replace(self.study, expectations=expectations)))
            self.seal(["study.json"])
            self.__dict__.pop("study", None)

    @contextmanager
    def _damage_named(self, name: str) -> Iterator[Any]:
        """Yield the data of a file of the folder; raise InputError if it is not what was written there."""
        if (what := self.broken(name)) is not None:
            raise InputError(f"{self.path}: {what} since the run was planned", _DAMAGED)
        try:
            largest = _LARGEST_PLAN_BYTES if name == "plan.json" else files.LARGEST_BYTES
            yield files.read_json(self.path / name, largest)
        except OSError as error:
            raise InputError(f"{self.path / name} cannot be read: {error.strerror}", _DAMAGED) from error
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise InputError(f"{self.path / name} is damaged: {error}", _DAMAGED) from error

    @property
    def manifest(self) -> dict[str, Any]:
        """Return the manifest as it is on disk now."""
        manifest: dict[str, Any] = files.read_json(self.path / "manifest.json")
        return manifest

    def write_manifest(self, manifest: Mapping[str, Any]) -> None:
        """Replace the manifest."""
        write_json(self.path / "manifest.json", manifest)

    def note(self, **facts: Any) -> None:
        """Add facts to the manifest, or replace them."""
        self.write_manifest({**self.manifest, **facts})

    def begin(self, trial: Trial, attempt: int) -> Path:
        """Make an empty folder for an attempt, not yet part of the run."""
        return self.scratch(f"{trial.id}-{attempt}")

    def scratch(self, name: str) -> Path:
        """Make an empty folder beside the trials that never counts as one; the next session removes what is left."""
        free_bytes = shutil.disk_usage(self.trials).free
        if free_bytes < FREE_BYTES_NEEDED:
            raise MachineError(f"only {free_bytes // 1024**2} MiB are free below {self.path}", "make room")
        folder = self.trials / f".partial-{name}"
        folder.mkdir()
        return folder

    def partial(self, trial: Trial, attempt: int) -> Path:
        """Return the folder of an attempt that is not finished."""
        return self.trials / f".partial-{trial.id}-{attempt}"

    def finish(self, partial: Path, run: Run, *, superseded: bool) -> None:
        """Make a written attempt part of the run: the trial's result, or an attempt that was repeated.

        Its seal comes first, so that no kill leaves an attempt without one.
        """
        name = f"{run.trial_id}.attempt{run.attempt}" if superseded else run.trial_id
        self._seals.put(_record(name), files.digest(partial / RUN_RECORD))
        partial.rename(self.trials / name)

    def seal(self, names: Iterable[str]) -> None:
        """Remember files of the run as they are now, by relative path."""
        self._seals.add(names)

    def broken(self, name: str) -> str | None:
        """Return in a phrase what happened to a file since it was sealed; None if nothing did, or it has no seal."""
        sealed = self._seals.of(name)
        return None if sealed is None else altered_file(self.path, name, sealed)

    def result(self, trial_id: str) -> Run | None:
        """Return the trial's final attempt; None while it has none."""
        return self._read(trial_id)[0] if self._has(trial_id) else None

    def attempts(self, trial_id: str) -> Iterator[tuple[Path, Run]]:
        """Yield every attempt in order with its folder, the final one last.

        One that is not as it was sealed is invalid, for that reason.
        """
        for name in self._names(trial_id):
            yield self.trials / name, self._read(name)[0]

    def altered(self, trial_ids: Iterable[str]) -> dict[str, str]:
        """Return the trials with an attempt that is not as it was sealed, each with what is not."""
        found = {}
        for trial_id in trial_ids:
            wrong = [what for name in self._names(trial_id) if (what := self._read(name)[1])]
            if wrong:
                found[trial_id] = "; ".join(wrong)
        return found

    def added(self) -> dict[str, str]:
        """Return what is among the trials' folders and has no seal, by name, each with what is wrong with it.

        In a run from before there were seals, nothing shows it.
        """
        if not self._sealing:
            return {}
        names = sorted(path.name for path in self.trials.glob("[!.]*"))
        return {name: "it was added, for it has no seal" for name in names if self._seals.of(_record(name)) is None}

    def set_aside(self, trial_id: str) -> list[Path]:
        """Move every attempt at a trial to `altered/`, so that it can run again; return their new paths."""
        names = list(self._names(trial_id))
        moved = [self.move_aside(name) for name in names if (self.trials / name).exists()]
        self._seals.withdraw(map(_record, names))
        for name in names:
            self._attempts.pop(name, None)
        return moved

    def move_aside(self, name: str) -> Path:
        """Move a folder from the trials to `altered/`; return its new path."""
        place = self.path / ALTERED
        place.mkdir(exist_ok=True)
        free = (place / (name if number == 1 else f"{name}-{number}") for number in count(1))
        target = next(target for target in free if not target.exists())
        return (self.trials / name).rename(target)

    def _names(self, trial_id: str) -> Iterator[str]:
        superseded = (f"{trial_id}.attempt{attempt}" for attempt in count(1))
        yield from takewhile(self._has, superseded)
        if self._has(trial_id):
            yield trial_id

    @property
    def _sealing(self) -> bool:
        """Whether the run sealed every attempt: it began with a Longlook that does."""
        return self._seals.of("plan.json") is not None

    def _has(self, name: str) -> bool:
        there = (self.trials / name).exists()
        if self._seals.of(_record(name)) is None:
            return there and not self._sealing
        partials = () if there else self.trials.glob(f".partial-{name.partition('.')[0]}-*")
        return all(self._sealed_as(partial) != name for partial in partials)

    def _sealed_as(self, partial: Path) -> str | None:
        """Return the name that an unfinished folder was to get if it was sealed for that name; otherwise None."""
        trial_id, _, attempt = partial.name.removeprefix(".partial-").rpartition("-")
        names = [name for name in (trial_id, f"{trial_id}.attempt{attempt}") if not (self.trials / name).exists()]
        sealed = {self._seals.of(_record(name)): name for name in names}
        try:
            return sealed.get(files.digest(partial / RUN_RECORD)) if sealed else None
        except OSError:
            return None

    def _read(self, name: str) -> tuple[Run, str]:
        """Return an attempt, and its first difference from its seal: an empty text if there is no difference."""
        if name not in self._attempts:
            sealed = self._seals.of(_record(name))
            self._attempts[name] = read_attempt(self.trials / name, sealed, _DERIVED, f"--resume {self.path}")
        return self._attempts[name]


def _record(name: str) -> str:
    return f"trials/{name}/{RUN_RECORD}"


def _cannot_make(path: Path, error: OSError) -> MachineError:
    hint = "free some space, or choose another --out"
    return MachineError(f"cannot make the run folder {path}: {error.strerror}", hint)


def _refuse_links(path: Path) -> None:
    """Raise InputError for anything in a run folder but files and folders; what is in a trial's is for its digests."""
    hint = "restore it from a copy, or remove it"
    try:
        if files.is_regular(path / TRIALS):
            raise InputError(f"{path / TRIALS} is a file, and a run folder has a folder there", hint)
        found = next(((name, what) for name, what in files.below(path, _SHALLOW) if what is not None), None)
    except OSError as error:
        raise InputError(f"{error.filename or path} cannot be read: {error.strerror}", hint) from error
    if found is not None:
        name, what = found
        raise InputError(f"{path / name} is not read: it is {what}", f"a run folder has only files and folders: {hint}")


def write_json(path: Path, data: Any) -> None:
    """Write JSON atomically and durably."""
    write_text(path, json.dumps(data, indent=1, allow_nan=False) + "\n")


def write_text(path: Path, text: str) -> None:
    """Write a file in UTF-8, atomically and durably: if that fails, the file is as it was before."""
    temporary = path.with_name(f".{path.name}.new")
    try:
        with temporary.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise
