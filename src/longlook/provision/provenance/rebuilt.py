"""Builds what longlook-prebuilt brought anew, from the sources that it was made of, and compares the bytes."""

import json
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from longlook.core import InputError
from longlook.provision.prebuilt import FOLDER, prebuilt_parts
from longlook.provision.setup import install

_CACHE = "LONGLOOK_CACHE"


@dataclass(frozen=True)
class Rebuilt:
    """A part, the SHA-256 of its file as it was brought and as it was built here, and the compilers of both."""

    part: str
    brought: str
    built: str
    brought_by: str
    built_by: str

    @property
    def is_same(self) -> bool:
        """Whether the bytes are the same."""
        return self.brought == self.built


def rebuild(say: Callable[[str], None]) -> Iterator[Rebuilt]:
    """Build each part in an empty cache, which takes minutes, and yield the comparison; `say` gets the steps.

    InputError if longlook-prebuilt is not installed, MachineError if a part cannot be built here.
    """
    parts = prebuilt_parts()
    if not parts:
        raise InputError("there is nothing to build anew: longlook-prebuilt is not installed", "docs/guide/install.md")
    with tempfile.TemporaryDirectory(prefix="longlook-rebuilt-") as cache, _environment({FOLDER: "", _CACHE: cache}):
        for part, brought in parts.items():
            program = install(part, say)
            record = brought.record
            built = _record_beside(Path(program.path))
            yield Rebuilt(part, record["sha256"], program.digest, _compiler(record), _compiler(built))


def _record_beside(program: Path) -> Mapping[str, Any]:
    (record,) = program.parent.glob("*.json")
    found: Mapping[str, Any] = json.loads(record.read_text())
    return found


def _compiler(record: Mapping[str, Any]) -> str:
    return str(record.get("gcc") or record.get("toolchain"))


@contextmanager
def _environment(changed: Mapping[str, str]) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in changed}
    os.environ.update(changed)
    try:
        yield
    finally:
        for name, text in before.items():
            if text is None:
                del os.environ[name]
            else:
                os.environ[name] = text
