"""The content of caches and stores, their damage and what is pruned."""

import os
import time
from pathlib import Path

import pytest

from longlook.store.inspect import HERE, Held, held_by, held_here, prune_store, verify_here, verify_store
from longlook.store.session import cache_of
from longlook.store.shared import MARKER, SharedStore, object_name
from tests.unit.store.conftest import NAMES, key

DAY_S = 86400.0


def nothing(_done: int, _total: int) -> None:
    """Report to nobody."""


@pytest.fixture
def filled(store: SharedStore, place: Path, entry: Path) -> SharedStore:
    """Five trials, one written each day, the youngest today, and a program of today."""
    for number in range(5):
        store.put("trials", key(str(number)), entry, NAMES)
        written_s = time.time() - number * DAY_S
        os.utime(place / object_name("trials", key(str(number))), (written_s, written_s))
    store.put("programs", key("program"), entry, NAMES)
    return store


def test_entries_and_bytes_by_kind(filled: SharedStore, place: Path, entry: Path) -> None:
    size = sum((place / object_name("trials", key(str(number)))).stat().st_size for number in range(5))
    programs, trials = held_by(filled)
    assert trials == Held("trials", 5, size)
    assert (programs.kind, programs.entries) == ("programs", 1)
    assert held_here() == []
    cache_of("measured").keep(key("0"), entry, NAMES)
    assert [(held.kind, held.entries) for held in held_here()] == [("measured", 1)]


def test_a_damaged_object_is_found_and_named(filled: SharedStore, place: Path) -> None:
    assert verify_store(filled, remove=False, report=nothing) == (6, [])
    path = place / object_name("trials", key("3"))
    path.write_bytes(path.read_bytes()[:-1])
    count, (damaged,) = verify_store(filled, remove=False, report=nothing)
    assert (count, damaged.kind, damaged.key, damaged.place) == (6, "trials", key("3"), filled.url)
    assert path.exists()
    assert verify_store(filled, remove=True, report=nothing)[1][0].removed
    assert not path.exists()
    assert verify_store(filled, remove=True, report=nothing) == (5, [])


@pytest.mark.parametrize("deed", ["change", "remove", "add", "forget"])
def test_a_damaged_entry_here_is_found_and_named(own_caches: Path, entry: Path, deed: str) -> None:
    cache = cache_of("trials")
    for number in range(3):
        cache.keep(key(str(number)), entry, NAMES)
    assert verify_here(remove=False, report=nothing) == (3, [])
    folder = own_caches / "trials" / key("1")[:2] / key("1")
    if deed == "change":
        (folder / "run.json").write_text("[]")
    elif deed == "remove":
        (folder / "run.json").unlink()
    elif deed == "add":
        (folder / "more").write_text("")
    else:
        (folder / "entry.json").write_text("{")
    _, (damaged,) = verify_here(remove=False, report=nothing)
    assert (damaged.place, damaged.kind, damaged.key, damaged.removed) == (HERE, "trials", key("1"), False)
    reasons = {
        "change": "run.json was changed", "remove": "run.json is missing", "add": "more was added",
        "forget": "it cannot be read",
    }  # fmt: skip
    assert damaged.reason.startswith(reasons[deed])
    assert verify_here(remove=True, report=nothing)[1][0].removed
    assert verify_here(remove=False, report=nothing) == (2, [])


def test_a_store_is_pruned_by_age(filled: SharedStore, place: Path) -> None:
    pruned = prune_store(filled, older_than_s=2.5 * DAY_S, most_bytes=None)
    assert (pruned.removed, pruned.kept) == (2, 4)
    assert not filled.has("trials", key("4"))
    assert filled.has("trials", key("2"))
    assert (place / MARKER).exists()


def test_a_store_is_pruned_by_size_oldest_first(filled: SharedStore) -> None:
    sizes = sum(held.bytes for held in held_by(filled))
    pruned = prune_store(filled, older_than_s=None, most_bytes=sizes // 2)
    assert pruned.kept_bytes <= sizes // 2
    assert pruned.removed_bytes + pruned.kept_bytes == sizes
    assert [filled.has("trials", key(str(number))) for number in range(5)] == [True] * (5 - pruned.removed) + [
        False
    ] * pruned.removed
    assert 0 < pruned.removed < 5
    assert prune_store(filled, older_than_s=None, most_bytes=10 * sizes).removed == 0


def test_abandoned_uploads_go_and_those_under_way_stay(filled: SharedStore, place: Path) -> None:
    folder = (place / object_name("trials", key("0"))).parent
    old, young = folder / ".partial-old", folder / ".partial-young"
    for path in (old, young):
        path.write_text("half")
    os.utime(old, (time.time() - DAY_S,) * 2)
    prune_store(filled, older_than_s=1000 * DAY_S, most_bytes=None)
    assert (old.exists(), young.exists()) == (False, True)
