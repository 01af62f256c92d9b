"""What was measured of artefacts that are still the same bytes, by code that is still the same: not measured again."""

import json
import os
import shutil
import sys
import tempfile
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import longlook
from longlook import codec, registry
from longlook.installing import file_digest
from longlook.model import Run, Trial
from longlook.trialcache import ENTRY, cache_root, share

TIMELINE = "timeline.parquet"
_CODE = ("normalise", "metrics", "timeline.py", "measure.py", "measurecache.py")
_LIBRARIES = ("numpy", "pyarrow", "pandas")


class MeasureCache:
    """Results by trial, artefacts, metrics and the code that reads them: files, like the cache of trials."""

    def __init__(self, metrics: tuple[str, ...], root: Path | None = None) -> None:
        self._metrics = metrics
        self._root = root or measured_root()

    def key(self, path: Path, trial: Trial, run: Run) -> str | None:
        """What determines the results of a trial's folder; None where the folder is not as its `run.json` says."""
        try:
            if any(file_digest(path / name) != digest for name, digest in run.artefacts.items()):
                return None
        except OSError:
            return None
        made_of = [_code_digest(), self._metrics, codec.encode(trial), codec.encode(run)]
        return codec.content_hash(made_of, 64)

    def fetch(self, key: str, path: Path) -> Any | None:
        """The data kept under a key, with the timeline laid into the trial's folder; None where there is none."""
        folder = self._root / key[:2] / key
        try:
            entry = json.loads((folder / ENTRY).read_text())
            data, sound = entry["data"], file_digest(folder / TIMELINE) == entry["timeline"]
            if sound and not (path / TIMELINE).exists():
                share(folder / TIMELINE, path / TIMELINE)
            os.utime(folder / ENTRY)  # last used, for prune
        except (OSError, ValueError, KeyError, TypeError):
            return None
        return data if sound else None

    def keep(self, key: str, path: Path, data: Any) -> None:
        """Store plain data and the timeline of a trial's folder."""
        folder = self._root / key[:2] / key
        try:
            folder.parent.mkdir(parents=True, exist_ok=True)
            partial = Path(tempfile.mkdtemp(prefix=".partial-", dir=self._root))
        except OSError:  # no room, or not ours to write: it is measured again next time
            return
        try:
            share(path / TIMELINE, partial / TIMELINE)
            (partial / ENTRY).write_text(json.dumps({"timeline": file_digest(path / TIMELINE), "data": data}))
            shutil.rmtree(folder, ignore_errors=True)
            partial.rename(folder)
        except OSError:
            shutil.rmtree(partial, ignore_errors=True)


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
