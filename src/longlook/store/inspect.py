"""The caches of this machine and a shared store from outside: their content, their damage and what may go."""

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

from longlook.core import Pruned
from longlook.store.session import cache_of
from longlook.store.shared import KINDS, Entry, SharedStore

HERE = "here"
"""The place of an entry of this machine's caches; others are URLs."""

_AT_ONCE = 8
_ABANDONED_S = 3600.0  # an unfinished upload is left for so long to the process that may be writing it

T = TypeVar("T")
Report = Callable[[int, int], None]
"""Gets the number of entries that were read, and of all."""


@dataclass(frozen=True)
class Held:
    """The entries of one kind in one place, and their bytes."""

    kind: str
    entries: int
    bytes: int


@dataclass(frozen=True)
class Damaged:
    """An entry that is not as it was written; `removed` if it was taken away."""

    place: str
    kind: str
    key: str
    reason: str
    removed: bool


def held_here() -> list[Held]:
    """Return what the caches of this machine hold; kinds without an entry are left out."""
    found = [Held(kind, *cache_of(kind).held()) for kind in KINDS]
    return [held for held in found if held.entries]


def held_by(store: SharedStore) -> list[Held]:
    """Return what a store lists; StoreError as its methods."""
    sizes: dict[str, list[int]] = defaultdict(list)
    for entry in store.entries():
        sizes[entry.kind].append(entry.size_bytes)
    return [Held(kind, len(sizes[kind]), sum(sizes[kind])) for kind in sorted(sizes)]


def verify_here(*, remove: bool, report: Report) -> tuple[int, list[Damaged]]:
    """Read every entry of this machine's caches; return how many there are, and the damaged ones."""
    entries = [(kind, key) for kind in KINDS for key in cache_of(kind).held_keys()]

    def check(entry: tuple[str, str]) -> Damaged | None:
        kind, key = entry
        if (reason := cache_of(kind).damage(key)) is None:
            return None
        if remove:
            cache_of(kind).remove(key)
        return Damaged(HERE, kind, key, reason, remove)

    return len(entries), list(_each(entries, check, report))


def verify_store(store: SharedStore, *, remove: bool, report: Report) -> tuple[int, list[Damaged]]:
    """Read every entry that a store lists; return how many there are, and the damaged ones."""
    entries = list(store.entries())

    def check(entry: Entry) -> Damaged | None:
        if (reason := store.damage(entry.kind, entry.key)) is None:
            return None
        if remove:
            store.delete(entry.kind, entry.key)
        return Damaged(store.url, entry.kind, entry.key, reason, remove)

    return len(entries), list(_each(entries, check, report))


def prune_store(
    store: SharedStore, *, older_than_s: float | None, most_bytes: int | None, now_s: float | None = None
) -> Pruned:
    """Remove entries that were written longer ago than that, then the oldest until the rest has at most `most_bytes`.

    Unfinished uploads that nobody can be writing any more go too. An entry whose age is unknown counts as new. A store
    does not know when an entry was last read. StoreError as the store's methods.
    """
    now_s = time.time() if now_s is None else now_s
    entries = sorted(store.entries(), key=lambda entry: _changed_s(entry.changed_unix_s, now_s))
    held_bytes = sum(entry.size_bytes for entry in entries)
    removed = removed_bytes = 0
    for entry in entries:
        is_old = older_than_s is not None and now_s - _changed_s(entry.changed_unix_s, now_s) >= older_than_s
        if is_old or (most_bytes is not None and held_bytes - removed_bytes > most_bytes):
            store.delete(entry.kind, entry.key)
            removed, removed_bytes = removed + 1, removed_bytes + entry.size_bytes
    for left in store.unfinished():
        if now_s - _changed_s(left.changed_unix_s, now_s) >= _ABANDONED_S:
            store.clear(left)
    return Pruned(removed, removed_bytes, len(entries) - removed, held_bytes - removed_bytes)


def _changed_s(changed_unix_s: float | None, now_s: float) -> float:
    return now_s if changed_unix_s is None else changed_unix_s


def _each(entries: Sequence[T], check: Callable[[T], Damaged | None], report: Report) -> Iterator[Damaged]:
    with ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="verify") as pool:
        results: Iterable[Damaged | None] = pool.map(check, entries)
        for number, damaged in enumerate(results, 1):
            report(number, len(entries))
            if damaged is not None:
                yield damaged
