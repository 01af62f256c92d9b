"""The build backend of pyproject.toml: maturin's, with wheels that hold the sources of programs under test, too."""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import maturin
from archive import add_files
from maturin import (
    build_editable,
    build_sdist,
    get_requires_for_build_editable,
    get_requires_for_build_sdist,
    get_requires_for_build_wheel,
    prepare_metadata_for_build_editable,
    prepare_metadata_for_build_wheel,
)

__all__ = [
    "build_editable",
    "build_sdist",
    "build_wheel",
    "get_requires_for_build_editable",
    "get_requires_for_build_sdist",
    "get_requires_for_build_wheel",
    "prepare_metadata_for_build_editable",
    "prepare_metadata_for_build_wheel",
]

ROOT = Path(__file__).resolve().parents[1]
PINS = "LONGLOOK_PREBUILT_PINS"
"""The variable with a file of the digests of longlook-prebuilt's files, which the wheel then pins."""

_SHARE = "longlook/share"
_FOLDERS = ("adapters", "kernel")
_LEFT_OUT = frozenset(("__pycache__", "target", ".mypy_cache", ".ruff_cache", ".pytest_cache"))


def build_wheel(
    wheel_directory: str, config_settings: Mapping[str, Any] | None = None, metadata_directory: str | None = None
) -> str:
    """Build a wheel whose folder longlook/share has adapters/ and kernel/; return its name."""
    name: str = maturin.build_wheel(wheel_directory, config_settings, metadata_directory)
    add_files(Path(wheel_directory, name), dict(_shared()))
    return name


def _shared() -> Iterator[tuple[str, bytes]]:
    for folder in _FOLDERS:
        for path in sorted((ROOT / folder).rglob("*")):
            place = path.relative_to(ROOT)
            if path.is_file() and not _LEFT_OUT & {*place.parts}:
                yield f"{_SHARE}/{place.as_posix()}", path.read_bytes()
    if pins := os.environ.get(PINS):
        yield f"{_SHARE}/prebuilt.json", Path(pins).read_bytes()
