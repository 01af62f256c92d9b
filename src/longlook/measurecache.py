"""What was measured of artefacts that are still the same bytes, by code that is still the same: not measured again."""

import json
import sys
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import longlook
from longlook import codec, registry
from longlook.entries import Entries
from longlook.installing import file_digest
from longlook.model import Run, Trial
from longlook.normalise.tracefiles import raw_traces
from longlook.store import TIMELINE
from longlook.traceprogram import trace_program
from longlook.trialcache import cache_root

_DATA = "measured.json"
_CODE = (
    *("normalise", "metrics", "timeline.py", "measure.py", "measurecache.py"),
    *("contest.py", "envelope.py", "flowtables.py"),
    *("events.py", "states.py", "statetimes.py", "tracedecoding.py", "trialevents.py"),
)
_LIBRARIES = ("numpy", "pyarrow", "pandas")


class MeasureCache:
    """Results by trial, artefacts, metrics and the code that reads them: files, like the cache of trials."""

    def __init__(self, metrics: tuple[str, ...], root: Path | None = None) -> None:
        self._metrics = metrics
        self._entries = Entries(root or measured_root())

    def key(self, path: Path, trial: Trial, run: Run) -> str | None:
        """What determines the results of a trial's folder; None where the folder is not as its `run.json` says."""
        try:
            if any(file_digest(path / name) != digest for name, digest in run.artefacts.items()):
                return None
        except OSError:
            return None
        decoder = trace_program().digest if raw_traces(path) else None
        made_of = [_code_digest(), decoder, self._metrics, codec.encode(trial), codec.encode(run)]
        return codec.content_hash(made_of, 64)

    def fetch(self, key: str, path: Path) -> Any | None:
        """The data kept under a key, with the tables laid into the trial's folder; None where there is none."""
        found = self._entries.read(key, lambda folder: json.loads((folder / _DATA).read_text()))
        if found is None:
            return None
        missing = [name for name in found["made"] if not (path / name).exists()]
        return found["data"] if self._entries.lay(key, missing, path) else None

    def keep(self, key: str, path: Path, data: Any, made: Sequence[str] = (TIMELINE,)) -> None:
        """Store plain data and the tables of a trial's folder; where that cannot be, it is measured again."""
        with suppress(OSError):
            self._entries.keep(key, path, made, {_DATA: json.dumps({"data": data, "made": list(made)})})


def measured_root() -> Path:
    """The folder of all entries."""
    return cache_root() / "measured"


@cache
def _code_digest() -> str:
    package = Path(longlook.__file__).parent
    files = [
        path for name in _CODE for path in (package / name, *sorted((package / name).rglob("*.py"))) if path.is_file()
    ]
    plugged = sorted(
        str(sys.modules[metric.measure.__module__].__file__) for metric in registry.load("metrics").values()
    )
    digests = [file_digest(path) for path in (*files, *map(Path, plugged))]
    return codec.content_hash([digests, [version(name) for name in _LIBRARIES], sys.version], 64)
