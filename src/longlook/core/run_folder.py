"""Run folders: which file is where, when a trial counts as finished, and how a stopped run continues.

A trial is written to a folder whose name begins with a dot and renamed when it is complete, so every folder named by a
trial's id is whole. Attempts that a validity guard rejected stay beside it as `ID.attempt1`, `ID.attempt2`, …
"""

import fcntl
import json
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import IO, Any

from longlook.core import codec
from longlook.core.errors import InputError, MachineError
from longlook.core.model import SCHEMA_VERSION, Plan, Run, Study, Trial

TIMELINE = "timeline.parquet"
EVENTS = "events.parquet"
"""Tables of a trial's folder: made from its other files, and made again when they are missing. Only trials with traces
have events."""

FLOWS, RATES, POINTS = "flows.parquet", "rates.parquet", "envelopes.parquet"
STATES = "states.parquet"
DEPENDENCES = "dependences.parquet"
"""Tables of a run folder about competing flows, about times in states, and about how effects depend on what rounds
drew; absent where there are no such rows."""

READ_VERSIONS = (1, SCHEMA_VERSION)
"""Schema versions of run folders that can be read; only folders of the current one can be continued."""
_RENAMED = {"seat": "address_slot"}
"""Fields of a flow in plans of schema version 1, and their present names."""

_DAMAGED = "a run folder is read whole: restore the file from a copy, or run the study again"

FREE_BYTES_NEEDED = 200 * 1024 * 1024
"""Below this much free space no trial is started."""


class RunFolder:
    """A run on disk. Create or reopen it with the class methods; use it as a context manager while writing."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock: IO[str] | None = None

    @classmethod
    def create(cls, path: Path, study: Study, plan: Plan, manifest: Mapping[str, Any]) -> "RunFolder":
        """Make a run folder with the study, the plan and the manifest; InputError where `path` is taken."""
        cls.refuse_taken(path)
        folder = cls(path)
        try:
            (path / "trials").mkdir(parents=True)
        except OSError as error:
            raise MachineError(f"cannot make {path / 'trials'}: {error.strerror}", "choose another --out") from error
        write_json(path / "study.json", codec.encode(study))
        write_json(path / "plan.json", codec.encode(plan))
        folder.write_manifest({"schema_version": SCHEMA_VERSION, **manifest})
        return folder

    @staticmethod
    def refuse_taken(path: Path) -> None:
        """Raise InputError unless `path` does not exist or is an empty folder."""
        if path.exists() and (not path.is_dir() or any(path.iterdir())):
            hint = f"continue it with --resume {path}" if (path / "manifest.json").exists() else "choose another --out"
            raise InputError(f"{path} exists and is not empty", hint)

    @classmethod
    def open(cls, path: Path) -> "RunFolder":
        """Return an existing run folder; InputError where it is none, or of a schema that is not read."""
        try:
            manifest = json.loads((path / "manifest.json").read_text())
        except FileNotFoundError as error:
            raise InputError(f"{path} is not a run folder (no manifest.json)", "name a folder below runs/") from error
        except ValueError as error:
            raise InputError(f"{path / 'manifest.json'}: {error}") from error
        if not isinstance(manifest, dict):
            raise InputError(f"{path / 'manifest.json'} is damaged: it holds no object", _DAMAGED)
        if manifest.get("schema_version") not in READ_VERSIONS:
            known = " and ".join(map(str, READ_VERSIONS))
            raise InputError(
                f"{path} has schema version {manifest.get('schema_version')}, this Longlook reads {known}",
                "use the Longlook version named in its manifest.json",
            )
        return cls(path)

    def __enter__(self) -> "RunFolder":
        """Take the folder for writing and clear what an interrupted trial left in it."""
        try:
            self._lock = (self.path / ".lock").open("w")
        except OSError as error:
            raise MachineError(f"cannot write to {self.path}: {error.strerror}", "copy the folder elsewhere") from error
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise InputError(f"{self.path} is in use by another longlook", "wait for it or choose another --out") from (
                error
            )
        for partial in self.trials.glob(".partial-*"):
            shutil.rmtree(partial)
        return self

    def __exit__(self, *_: object) -> None:
        """Release the folder."""
        if self._lock is not None:
            self._lock.close()
            self._lock = None
            (self.path / ".lock").unlink(missing_ok=True)

    @property
    def trials(self) -> Path:
        """Return the folder of trial folders."""
        return self.path / "trials"

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
        """Return the plan as it was made, also by a Longlook of schema version 1."""
        with self._damage_named("plan.json") as data:
            for trial in data["trials"]:
                flows = trial.get("flows", [])
                trial["flows"] = [{_RENAMED.get(key, key): value for key, value in flow.items()} for flow in flows]
            return codec.decode(Plan, data)

    @contextmanager
    def _damage_named(self, name: str) -> Iterator[Any]:
        """Yield the data of a file of the folder; raise InputError where it cannot be read or does not hold it."""
        try:
            yield json.loads((self.path / name).read_text())
        except OSError as error:
            raise InputError(f"{self.path / name} cannot be read: {error.strerror}", _DAMAGED) from error
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise InputError(f"{self.path / name} is damaged: {error}", _DAMAGED) from error

    @property
    def manifest(self) -> dict[str, Any]:
        """Return the manifest as it is on disk now."""
        manifest: dict[str, Any] = json.loads((self.path / "manifest.json").read_text())
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
        """Make a written attempt part of the run: the trial's result, or an attempt that was repeated."""
        name = f"{run.trial_id}.attempt{run.attempt}" if superseded else run.trial_id
        partial.rename(self.trials / name)

    def result(self, trial_id: str) -> Run | None:
        """Return the trial's final attempt; None while it has none."""
        return _read_run(self.trials / trial_id)

    def attempts(self, trial_id: str) -> Iterator[tuple[Path, Run]]:
        """Yield every attempt in order with its folder, the final one last."""
        attempt = 1
        while (run := _read_run(folder := self.trials / f"{trial_id}.attempt{attempt}")) is not None:
            yield folder, run
            attempt += 1
        if (run := _read_run(self.trials / trial_id)) is not None:
            yield self.trials / trial_id, run


def _read_run(folder: Path) -> Run | None:
    try:
        return codec.decode(Run, json.loads((folder / "run.json").read_text()))
    except FileNotFoundError:
        return None
    except ValueError as error:
        raise InputError(f"{folder / 'run.json'}: {error}", "remove that folder and use --resume") from error


def write_json(path: Path, data: Any) -> None:
    """Write JSON atomically and durably."""
    write_text(path, json.dumps(data, indent=1, allow_nan=False) + "\n")


def write_text(path: Path, text: str) -> None:
    """Write a file in UTF-8, atomically and durably: where that fails, the file is as it was before."""
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
