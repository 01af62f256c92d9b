"""Files that a study names, traces and recorded pages: paths count from the file that names them.

The digests of traces are noted with the study, and digests of recordings stand in their place. So the same study can be
planned again after its files are gone: `known` is the note of an earlier reading.
"""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from longlook.core import BESIDE_MAIN, Problems
from longlook.network import Role, TraceError, call, trace_store
from longlook.provision import HarError, is_sources, parse_program, store

_ROLES: Mapping[str, Role] = {
    "rate": "rate",
    "delay": "delay",
    "jitter": "jitter",
    "loss": "loss",
    "queue": "queue",
    "duplicate": "duplicate",
}
_KEY = f"workload.{store.PARAMETER}"


def anchor_traces(document: dict[str, Any], folder: Path) -> None:
    """Make the paths of a document absolute; `folder` is where its file is. Labels of levels stay as written."""
    _spell_out_levels(document)
    for table, key, path, _ in _traces(document):
        if not path.startswith("sha256:"):
            table[key] = f"trace({(folder / path).absolute()})"


def read_traces(document: dict[str, Any], known: Mapping[str, str]) -> dict[str, str]:
    """Put digests in place of paths; return the digests by role and path.

    A trace that cannot be read and is not `known` stays as it is: the check of the setting reports what is wrong.
    """
    _spell_out_levels(document)
    found: dict[str, str] = {}
    for table, key, path, role in _traces(document):
        if path.startswith("sha256:"):
            continue
        name = f"{role} {path}"
        digest = None
        if name not in known or Path(path).exists():
            with suppress(TraceError):
                digest = trace_store.digest_of(path, role)
        else:
            digest = known[name]
        if digest is not None:
            found[name] = digest
            table[key] = f"trace({digest})"
    return found


def _spell_out_levels(document: dict[str, Any]) -> None:
    """Turn plain levels that are traces into tables, whose label is the level as written."""
    for factor in _tables(document.get("factors")):
        sets, levels = factor.get("sets"), factor.get("levels")
        if isinstance(sets, str) and isinstance(levels, list):
            factor["levels"] = [{"label": level, sets: level} if _path(level) else level for level in levels]


def _traces(document: Mapping[str, Any]) -> Iterator[tuple[dict[str, Any], str, str, Role]]:
    """Yield table, key, path and role of every trace that a setting of the network names."""
    for link in ("network", *BESIDE_MAIN):
        if isinstance(document.get(link), dict):
            yield from _traces_in(document[link])
    for factor in _tables(document.get("factors")):
        for level in _tables(factor.get("levels")):
            yield from _traces_in(level)


def _traces_in(table: dict[str, Any]) -> Iterator[tuple[dict[str, Any], str, str, Role]]:
    for key, value in list(table.items()):
        role = _ROLES.get(str(key).split(".")[-1])
        if isinstance(value, dict):
            yield from _traces_in(value)
        elif role is not None and (path := _path(value)) is not None:
            yield table, key, path, role


def _path(value: object) -> str | None:
    called = call(value)
    return called[1].strip("\"'").strip() or None if called is not None and called[0] == "trace" else None


def _tables(value: object) -> list[dict[str, Any]]:
    return [entry for entry in value if isinstance(entry, dict)] if isinstance(value, list) else []


def copy_sources(document: dict[str, Any], folder: Path) -> None:
    """Copy the sources that a document names as versions of stacks, such as `quic-go@./tree`, and put the names of
    the copies in their place. Relative paths begin at `folder`. InputError if there are no such sources.
    """
    for key, value in document.items():
        document[key] = _with_copies(value, folder)


def _with_copies(value: Any, folder: Path) -> Any:
    if isinstance(value, dict):
        return {key: _with_copies(each, folder) for key, each in value.items()}
    if isinstance(value, list):
        return [_with_copies(each, folder) for each in value]
    if isinstance(value, str) and is_sources(value):
        stack, version = parse_program(value, folder)
        return f"{stack.name}@{version}"
    return value


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
