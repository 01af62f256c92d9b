"""Recorded pages that a study names: paths count from the file that names them, and digests stand in their place.

So the same study can be planned again after its HAR is gone: `known` is the note of an earlier reading.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from longlook.core import Problems
from longlook.provision import HarError, store

_KEY = f"workload.{store.PARAMETER}"


def anchor_recordings(document: dict[str, Any], folder: Path) -> None:
    """Make the paths of a document absolute; `folder` is where its file is. Labels of levels stay as written."""
    for table, key, name in _named(document):
        if name not in store.shipped() and (store.is_path(name) or (folder / name).exists()):
            table[key] = str((folder / name).absolute())


def read_recordings(document: dict[str, Any], known: Mapping[str, str], problems: Problems) -> dict[str, str]:
    """Put digests in place of names and paths; return the digests by `har NAME`. Errors are added to `problems`."""
    found: dict[str, str] = {}
    for table, key, name in _named(document):
        note = f"{store.PARAMETER} {name}"
        try:
            path = store.find(name, Path.cwd())
            digest = known[note] if note in known and not path.exists() else store.keep(path)[0]
        except HarError as error:
            problems.add_value(_KEY, name, str(error))
            continue
        found[note] = table[key] = digest
    return found


def _named(document: dict[str, Any]) -> Iterator[tuple[dict[str, Any], str, str]]:
    """Yield table, key and value of every setting that names a recording, after levels were spelt out as tables."""
    workload = document.get("workload")
    if not isinstance(workload, dict):
        return
    yield from _texts(workload, (store.PARAMETER,))
    factors = document.get("factors")
    for factor in factors if isinstance(factors, list) else []:
        levels = factor.get("levels") if isinstance(factor, dict) else None
        if not isinstance(levels, list):
            continue
        if factor.get("sets") == _KEY:
            levels = factor["levels"] = [
                {"label": level, _KEY: level} if isinstance(level, str) else level for level in levels
            ]
        for level in levels:
            if isinstance(level, dict):
                yield from _texts(level, (_KEY,))
                yield from _texts(level.get("workload"), (store.PARAMETER,))


def _texts(table: object, keys: tuple[str, ...]) -> Iterator[tuple[dict[str, Any], str, str]]:
    for key in keys:
        if isinstance(table, dict) and isinstance(value := table.get(key), str) and not value.startswith("sha256:"):
            yield table, key, value
