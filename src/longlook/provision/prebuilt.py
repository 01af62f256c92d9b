"""Programs and the guest kernel of the package longlook-prebuilt: taken instead of built, if the inputs are the same.

Programs of other origin may be asked for behind it: `programs_also_from`. The package's folder has
`stacks/NAME/VERSION/` with `program` and `program.json`, and `kernel/` with `linux` and `kernel.json`: entries of a
cache. If Longlook itself was installed from a wheel, that wheel pins the digests of these files.
"""

import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from longlook.core import InputError, MachineError, file_digest, packed_file

FOLDER = "LONGLOOK_PREBUILT"
"""The variable with a folder instead of the one in the package; empty for none, so that everything is built."""

PINS = "prebuilt.json"
"""The file of the wheel with the SHA-256 of each file of the folder, by its path there."""

_PACKAGE = "longlook_prebuilt"


@dataclass(frozen=True)
class Prebuilt:
    """A verified file, and the record of what it was made of."""

    file: Path
    record: dict[str, Any]


Elsewhere = Callable[[str, str, str], Prebuilt | None]
"""Name, version and digest of the inputs → a program that somebody built of them, verified; None if there is none."""

_ELSEWHERE: ContextVar[Elsewhere | None] = ContextVar("_ELSEWHERE", default=None)


@contextmanager
def programs_also_from(elsewhere: Elsewhere) -> Iterator[None]:
    """Let programs that the package lacks be asked for elsewhere before they are built, by this thread in the block."""
    token = _ELSEWHERE.set(elsewhere)
    try:
        yield
    finally:
        _ELSEWHERE.reset(token)


def prebuilt_program(name: str, version: str, inputs: str) -> Prebuilt | None:
    """Return a version's program that was built elsewhere from the inputs of this digest; None if there is none.

    MachineError if the package's file is not what its record or the wheel's pins say.
    """
    place = Path("stacks", name, version)
    found = _verified(place, "program", "program.json", lambda record: record.get("inputs") == inputs)
    elsewhere = _ELSEWHERE.get()
    return found if found is not None or elsewhere is None else elsewhere(name, version, inputs)


def prebuilt_kernel(is_wanted: Callable[[Mapping[str, Any]], bool] = lambda _record: True) -> Prebuilt | None:
    """Return the guest kernel that was built elsewhere, None if there is none, or none with a record that is wanted.

    MachineError as `prebuilt_program`.
    """
    return _verified(Path("kernel"), "linux", "kernel.json", is_wanted)


def prebuilt_parts() -> dict[str, Prebuilt]:
    """Return all that the folder has, by the name that `longlook setup` takes; MachineError as `prebuilt_program`."""
    folder = _folder()
    found: dict[str, Prebuilt] = {}
    if folder is None:
        return found
    if (kernel := prebuilt_kernel()) is not None:
        found["kernel"] = kernel
    for record in sorted(folder.glob("stacks/*/*/program.json")):
        place = record.parent.relative_to(folder)
        if (program := _verified(place, "program", record.name)) is not None:
            found[f"{place.parent.name}@{place.name}"] = program
    return found


def _verified(
    place: Path, name: str, record_name: str, is_wanted: Callable[[Mapping[str, Any]], bool] = lambda _record: True
) -> Prebuilt | None:
    folder = _folder()
    if folder is None or not (folder / place / record_name).is_file():
        return None
    file, record_file = folder / place / name, folder / place / record_name
    _expect_pinned(folder, record_file, file_digest(record_file))
    try:
        record = json.loads(record_file.read_text())
        if not is_wanted(record):
            return None
        digest = file_digest(file)
        is_intact = record["sha256"] == digest
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        digest, is_intact = "", False
    _expect_pinned(folder, file, digest)
    if not is_intact:
        raise MachineError(f"{file} is not what {record_file.name} beside it says", _hint(folder))
    return Prebuilt(file, record)


def _expect_pinned(folder: Path, file: Path, digest: str) -> None:
    pins = read_pins()
    if pins is not None and pins.get(file.relative_to(folder).as_posix()) != digest:
        raise MachineError(f"{file} is not what Longlook's wheel was made with", _hint(folder))


def _hint(folder: Path) -> str:
    return f"install the wheel again, or build instead of {folder}: {FOLDER}= longlook …"


def _folder() -> Path | None:
    if (named := os.environ.get(FOLDER)) is not None:
        if named and not Path(named).is_dir():
            raise InputError(
                f"{FOLDER}={named}: there is no such folder", f"unset it, or {FOLDER}= to build everything"
            )
        return Path(named).absolute() if named else None
    spec = find_spec(_PACKAGE)
    return Path(spec.origin).parent if spec is not None and spec.origin is not None else None


@cache
def read_pins() -> dict[str, str] | None:
    """Return the SHA-256 of each file that the wheel of Longlook pins, by its path; None if it pins none."""
    file = packed_file(PINS)
    if not file.is_file():
        return None
    pins: dict[str, str] = json.loads(file.read_text())
    return pins
