"""Paths of this machine, and how they are cut out of what leaves it.

A study and the command of a run name files by their paths on the machine. The run folder has the contents that trials
need, by digest, so a bundle keeps the last names of the files alone.
"""

import html
import json
import re
import shlex
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from longlook.core import Study


def paths_named(run: Path, study: Study, manifest: Mapping[str, Any]) -> dict[str, str]:
    """Return the paths of this machine that a run names, each with what a bundle has in its place; longest first."""
    found: dict[str, str] = {}
    for text in _commands(manifest):
        for word in _words(text):
            path = word.rpartition("=")[2]
            if path.startswith("/") and len(path) > 1:
                found[path] = Path(path).name
    for named in study.traces:
        path = named.partition(" ")[2]
        if path.startswith("/"):
            found[path] = Path(path).name
    found[str(run.resolve())] = run.resolve().name
    for folder in (Path.cwd(), Path.home()):
        if len(folder.parts) > 1:
            found.setdefault(f"{folder}/", "")
    return dict(sorted(found.items(), key=lambda item: (-len(item[0]), item)))


def _commands(manifest: Mapping[str, Any]) -> Iterable[str]:
    yield str(manifest.get("command", ""))
    for shard in manifest.get("merged", {}).get("shards", ()):
        yield str(shard.get("command", ""))


def _words(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError:
        return text.split()


def without_paths(data: bytes, paths: Mapping[str, str]) -> bytes:
    """Return a text without these paths, also as JSON, HTML and a shell write them."""
    for path, name in paths.items():
        for spell in dict.fromkeys(spelled(path) for spelled in _SPELLINGS):
            end = b"" if path.endswith("/") else _NO_NAME_BEHIND
            whole = re.compile(_NO_NAME_BEFORE + re.escape(spell.encode()) + end)
            data = whole.sub(name.encode().replace(b"\\", rb"\\"), data)
    return data


def _in_json(text: str) -> str:
    return json.dumps(text)[1:-1]


_SPELLINGS = (str, _in_json, html.escape, shlex.quote)
_NO_NAME_BEFORE = rb"(?<![\w.<+-])(?<![\w.]/)"
_NO_NAME_BEHIND = rb"(?![\w.+-])"
"""A path is cut out if it stands alone: `/p` is in `/p/runs`, and neither in `</p>` nor in `a/p` or `/pictures`."""
