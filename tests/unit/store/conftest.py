"""A store in a folder, entries for it, and caches of their own."""

import hashlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from longlook.store.shared import SharedStore


@pytest.fixture(autouse=True)
def own_caches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LONGLOOK_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "place"


@pytest.fixture
def store(place: Path) -> SharedStore:
    return SharedStore.open(str(place))


@pytest.fixture
def entry(tmp_path: Path) -> Path:
    """A folder with two files, one of them below a folder."""
    folder = tmp_path / "entry"
    (folder / "deep").mkdir(parents=True)
    (folder / "run.json").write_text("{}")
    (folder / "deep" / "log").write_bytes(bytes(range(256)) * 64)
    return folder


@pytest.fixture
def memory() -> Iterator[str]:
    """A place that no other test has, in this process's memory."""
    from fsspec.implementations.memory import MemoryFileSystem

    yield "memory://of-a-test"
    MemoryFileSystem.store.clear()
    MemoryFileSystem.pseudo_dirs[:] = [""]


NAMES = ("run.json", "deep/log")


def key(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
