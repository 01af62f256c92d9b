"""A cache of measurements: artefacts of the same bytes, read by the same code, are not measured again."""

import json
import sys
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from longlook.core import (
    EVENTS,
    STORES_BEHIND,
    TIMELINE,
    ContentStore,
    DerivedCache,
    Run,
    Trial,
    code_digest,
    codec,
    endpoints_of,
    files,
    registry,
    source_digest,
    trace_program,
)
from longlook.timeline import raw_traces

_DATA = "measured.json"
_LIBRARIES = ("numpy", "pyarrow", "pandas")


class MeasureCache:
    """Measurements by the digest of trial, artefacts, metrics and code; files, as in the cache of trials.

    The store of several machines stands behind it, as there.
    """

    def __init__(self, metrics: tuple[str, ...], root: Path | None = None) -> None:
        self._metrics = metrics
        kind = DerivedCache.MEASURED
        self._store = ContentStore(root) if root else ContentStore(kind.root(), STORES_BEHIND.get(kind))

    def key(self, path: Path, trial: Trial, run: Run) -> str:
        """Return the digest of what determines the results of a trial's folder whose files are as they were sealed."""
        decoder = trace_program().digest if raw_traces(path) else None
        made_of = [
            code_of_measurements(),
            _stacks_digest(trial),
            decoder,
            self._metrics,
            codec.encode(trial),
            codec.encode(run),
        ]
        return codec.content_hash(made_of, 64)

    def fetch(self, key: str, path: Path) -> Any | None:
        """Return the data kept under a key, with its tables, and no others, laid into the trial's folder; None if there
        is no entry.
        """
        found = self._store.read(key, lambda folder: files.read_json(folder / _DATA))
        if found is None or not self._store.lay(key, found["made"], path):
            return None
        for name in {TIMELINE, EVENTS}.difference(found["made"]):
            (path / name).unlink(missing_ok=True)
        return found["data"]

    def keep(self, key: str, path: Path, data: Any, made: Sequence[str] = (TIMELINE,)) -> None:
        """Store plain data and the tables of a trial's folder; if that fails, the trial is measured again next time."""
        with suppress(OSError):
            self._store.keep(key, path, made, {_DATA: json.dumps({"data": data, "made": list(made)})})

    def offer(self, key: str) -> None:
        """Offer what another process kept to the store of several machines."""
        self._store.offer(key)


@cache
def code_of_measurements() -> str:
    """Return the digest of everything that reads artefacts: our code, all metrics, libraries and Python."""
    metrics = [source_digest(registry.source("metrics", name)) for name in registry.load("metrics")]
    code = [code_digest("longlook.analysis.measure"), metrics]
    return codec.content_hash([code, [version(name) for name in _LIBRARIES], sys.version], 64)


def _stacks_digest(trial: Trial) -> list[str]:
    """Return the digests of the stacks' declarations, which hold how a loss changes a congestion window."""
    return [source_digest(registry.source("stacks", end.stack)) for end in endpoints_of(trial)]
