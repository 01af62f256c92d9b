"""Traces by their content: read once, kept in the cache in one form, named by its digest.

A trace that a setting names is read for that setting's column and kept as the JSON of the link's parameter. Studies,
plans and trials hold the digest alone; a run folder keeps copies, so that it needs neither the file nor the cache.
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import TypeVar

from longlook.core import InputError, Json, codec, compressed_files, files, kept_files, paths
from longlook.network import traces
from longlook.network.traces import Role, TraceError

__all__ = ["Role", "adopt", "digest_of", "folder", "lay", "load", "load_text", "read_trace"]

T = TypeVar("T")

_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_KEPT = "a trace", "move the cache: LONGLOOK_CACHE"


def folder() -> Path:
    """Return the folder in which they are kept."""
    return paths.cache_dir() / "traces"


def digest_of(text: str, role: Role) -> str:
    """The digest of what is written in `trace(…)`: a path, read and kept here, or a digest. TraceError otherwise."""
    written = text.strip().strip("\"'").strip()
    if _DIGEST.fullmatch(written):
        return written
    if not written:
        raise TraceError("trace(…) names no file: write for example trace(cell.trace)")
    return _keep(read_trace(Path(written), role))


def read_trace(path: Path, role: Role) -> Json:
    """Return the content of a file for a role; TraceError names file and line."""
    try:
        data = compressed_files.read_unpacked(path, traces.LARGEST_BYTES)
    except (InputError, OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error).removeprefix(f"{path} ")
        raise TraceError(f"{path}: cannot be read: {reason}") from error
    return traces.parse_trace(data, role, path.name)


def load(digest: str, within: Mapping[str, str] | None = None) -> Json:
    """Return the parameter of a digest, from the file that `within` names for it, else from the cache."""
    return _read(_load, digest, within)


def load_text(digest: str, within: Mapping[str, str] | None = None) -> str:
    """Return the parameter of a digest as the text of its JSON."""
    return _read(_load_text, digest, within)


def _read(how: Callable[[Path, str], T], digest: str, within: Mapping[str, str] | None) -> T:
    path = Path((within or {}).get(digest) or kept_files.file_of(folder(), digest))
    try:
        return how(path, digest)
    except OSError as error:
        raise InputError(
            f"the trace {digest} is not there: {path}", "name its file again in the study: trace(FILE)"
        ) from error
    except ValueError as error:
        raise InputError(f"the trace {path} is damaged: {error}", "remove it, and name its file again") from error


def lay(digests: Iterable[str], into: Path) -> dict[str, str]:
    """Copy traces into a folder of a run and return their files by digest; copies that exist need no cache."""
    laid: dict[str, str] = {}
    for digest in sorted(set(digests)):
        target = kept_files.file_of(into, digest)
        if not target.exists():
            into.mkdir(parents=True, exist_ok=True)
            load(digest)  # raises if it is not there
            kept_files.write(target, files.read_bytes(kept_files.file_of(folder(), digest)), *_KEPT)
        laid[digest] = str(target.resolve())
    return laid


def adopt(run_traces: Path) -> None:
    """Put a run's copies into the cache if it lacks them, so that the run's study can be planned again."""
    kept_files.adopt(run_traces, folder(), *_KEPT)


def _keep(value: Json) -> str:
    return kept_files.keep(folder(), codec.canonical(value).encode(), *_KEPT)


@cache
def _load(path: Path, digest: str) -> Json:
    return json.loads(_load_text(path, digest))


def _load_text(path: Path, digest: str) -> str:
    data = files.read_bytes(path)
    if kept_files.digest_of(data) != digest:
        raise ValueError("its content does not match its name")
    return data.decode()
