"""A process and its shared store: what is missing here is fetched from it, and what is new here is put into it.

Neither can fail or hold up what the process is about. Entries are put by threads; whatever is left at the end is said
once, with the command that does it later.
"""

import os
import queue
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from longlook.core import ENTRY, STORES_BEHIND, ContentStore, DerivedCache, InputError, cache_dir, cache_root, files
from longlook.store.place import StoreError, Trouble
from longlook.store.shared import (
    KERNELS,
    KINDS,
    MEASURED,
    MODE,
    MODES,
    PROGRAMS,
    TRIALS,
    URL,
    DamagedEntryError,
    SharedStore,
)

LATER = "longlook cache push"

_WRITERS = 4
_MOST_WAITING = 100_000
_RESTS_S = 60.0  # for so long a store that did not answer is not asked again
_SAYS_EVERY_S = 5.0

Say = Callable[[str], None]
Item = tuple[str, str]


def cache_of(kind: str) -> ContentStore:
    """Return this machine's cache of a kind of entries, without the store behind it."""
    return ContentStore(_root_of(kind))


def cache_with_store(kind: str) -> ContentStore:
    """Return this machine's cache of a kind of entries, with the store behind it while `sharing` is entered."""
    return ContentStore(_root_of(kind), STORES_BEHIND.get(kind))


def _root_of(kind: str) -> Path:
    roots = {TRIALS: cache_root(), MEASURED: DerivedCache.MEASURED.root()}
    return roots.get(kind) or cache_dir() / "shared" / kind


class Sharing:
    """The store behind the caches of a process; safe for threads."""

    def __init__(self, store: SharedStore, say: Say) -> None:
        """Start the threads that put entries into the store, if it may be written; `say` gets each warning once."""
        self.store, self._say = store, say
        self._lock = threading.Lock()
        self._waiting: queue.Queue[Item | None] = queue.Queue()  # None ends a writer
        self._left: dict[Item, str] = {}  # what was not put → why
        self._rests: dict[Trouble, tuple[float, str]] = {}  # until when, and why
        self._said: set[str] = set()
        self._offered: set[Item] = set()
        self._withdrawn: set[Item] = set()
        self.taken: Counter[str] = Counter()
        """Entries that were fetched, by kind."""
        self.put: Counter[str] = Counter()
        """Entries that were put, by kind; entries that the store had are not counted."""
        self.had: Counter[str] = Counter()
        """Entries that were offered and that the store had, by kind."""
        self._writers = [
            threading.Thread(target=self._write, name="store-writer", daemon=True) for _ in range(_WRITERS)
        ]
        for writer in self._writers if store.writes else ():
            writer.start()

    def behind(self, kind: str) -> "_Behind":
        """Return the store as it looks from the cache of a kind."""
        return _Behind(self, kind)

    def fetch(self, kind: str, key: str, into: Path) -> bool:
        """Fill an empty folder with an entry; False if the store has no sound one or does not answer."""
        if self._resting(Trouble.GONE):
            return False
        try:
            found = self.store.get(kind, key, into)
        except DamagedEntryError as error:
            self._set_aside(error)
            return False
        except StoreError as error:
            self._trouble(error)
            return False
        if found:
            with self._lock:
                self.taken[kind] += 1
        return found

    def has(self, kind: str, key: str) -> bool:
        """Whether the store has an entry, as far as it answers."""
        if self._resting(Trouble.GONE):
            return False
        try:
            return self.store.has(kind, key)
        except StoreError as error:
            self._trouble(error)
            return False

    def offer(self, kind: str, key: str) -> None:
        """Put an entry of this machine's cache into the store, soon."""
        if not self.store.writes:
            return
        with self._lock:
            if (kind, key) in self._offered:
                return
            self._offered.add((kind, key))
        if self._waiting.qsize() < _MOST_WAITING:
            self._waiting.put((kind, key))
        else:
            self._leave((kind, key), "more were waiting than it can take")

    def withdraw(self, kind: str, key: str) -> None:
        """Remove an entry that this process offered from the store, also one that is being put at this moment."""
        with self._lock:
            if (kind, key) not in self._offered:
                return
            self._withdrawn.add((kind, key))
        self._delete(kind, key)

    def _delete(self, kind: str, key: str) -> None:
        try:
            self.store.delete(kind, key)
        except StoreError as error:
            self._warn(f"{kind}/{key} is not believed any more and could not be removed: {error.message}")

    @property
    def left(self) -> Counter[str]:
        """Entries that were offered and could not be put, by kind."""
        return Counter(kind for kind, _ in self._left)

    def wait(self) -> None:
        """Wait until everything offered is in the store or has failed twice."""
        self._drain()
        self._try_again()

    def finish(self, *, waits: bool = True, tells: bool = True) -> None:
        """Wait until everything offered is in the store or has failed, and say what became of it.

        Entries that failed are tried once more. Without `waits` whatever is still waiting is left out, without `tells`
        only that is said which is left.
        """
        try:
            if waits:
                self.wait()
        finally:
            while True:
                try:
                    item = self._waiting.get_nowait()
                except queue.Empty:
                    break
                if item is not None:
                    self._leave(item, "the run was stopped")
            for _ in self._writers:
                self._waiting.put(None)
            self._conclude(tells=tells)

    def _try_again(self) -> None:
        again = list(self._left)
        if not again:
            return
        try:
            self.store.has(TRIALS, "0" * 64)
        except StoreError:
            return
        self._rests.clear()
        self._left.clear()
        self._offered.difference_update(again)
        for kind, key in again:
            self.offer(kind, key)
        self._drain()

    def _drain(self) -> None:
        said_s = time.monotonic()
        while left := self._waiting.unfinished_tasks:
            if time.monotonic() - said_s > _SAYS_EVERY_S:
                self._say(f"putting entries into the store: {left} left")
                said_s = time.monotonic()
            time.sleep(0.02)

    def _conclude(self, *, tells: bool) -> None:
        for done, what in ((self.taken, "taken from"), (self.put, "put into")):
            if done and tells:
                said = ", ".join(f"{done[kind]} {named(kind, done[kind])}" for kind in KINDS if done[kind])
                self._say(f"{said} {what} the store")
        if not self._left:
            return
        left, reasons = self.left, Counter(self._left.values())
        said = ", ".join(
            f"{left[kind]} of {left[kind] + self.put[kind] + self.had[kind]} {named(kind, 2)}"
            for kind in KINDS
            if left[kind]
        )
        self._say(
            f"WARNING: {said} were not put into the store: {reasons.most_common(1)[0][0]}; `{LATER}` does it later"
        )

    def _write(self) -> None:
        while True:
            item = self._waiting.get()
            try:
                if item is None:
                    return
                self._put(*item)
            finally:
                self._waiting.task_done()

    def _put(self, kind: str, key: str) -> None:
        if (kind, key) in self._withdrawn:
            return
        if why := next(filter(None, map(self._resting, Trouble)), None):
            self._leave((kind, key), why)
            return
        problems: list[str] = []

        def put(folder: Path) -> bool:  # an error that left this would count as damage of the entry here
            try:
                count = self.put if self.store.put(kind, key, folder, _names(folder)) else self.had
                with self._lock:
                    count[kind] += 1
            except StoreError as error:
                self._trouble(error)
                problems.append(error.message)
            except OSError as error:
                problems.append(str(error))
            return True

        if cache_of(kind).read(key, put) is None:
            problems.append("this machine's cache lost them")
        if (kind, key) in self._withdrawn:
            self._delete(kind, key)
        elif problems:
            self._leave((kind, key), problems[0])

    def _leave(self, item: Item, reason: str) -> None:
        with self._lock:
            self._left[item] = reason

    def _resting(self, trouble: Trouble) -> str | None:
        """Return why the store is not asked now, None if it is."""
        until_s, why = self._rests.get(trouble, (0.0, ""))
        return why if time.monotonic() < until_s else None

    def _trouble(self, error: StoreError) -> None:
        self._rests[error.trouble] = (time.monotonic() + _RESTS_S, error.message)
        self._warn(f"{error.message}; the run goes on without it", once=error.trouble)

    def _set_aside(self, error: DamagedEntryError) -> None:
        removed = ""
        if self.store.writes:
            try:
                self.store.delete(error.kind, error.key)
                removed = "; it was removed"
            except StoreError as refused:
                removed = f", and cannot be removed: {refused.message}"
        self._warn(f"{self.store.url}: {error.message}{removed}")

    def _warn(self, text: str, once: str = "") -> None:
        with self._lock:
            is_new = (once or text) not in self._said
            self._said.add(once or text)
        if is_new:
            self._say(f"WARNING: {text}")


class _Behind:
    """The entries of one kind, for a `ContentStore`."""

    def __init__(self, sharing: Sharing, kind: str) -> None:
        self._sharing, self._kind = sharing, kind

    def fetch(self, key: str, into: Path) -> bool:
        return self._sharing.fetch(self._kind, key, into)

    def has(self, key: str) -> bool:
        return self._sharing.has(self._kind, key)

    def offer(self, key: str) -> None:
        self._sharing.offer(self._kind, key)

    def withdraw(self, key: str) -> None:
        self._sharing.withdraw(self._kind, key)


_active: list[Sharing] = []


@contextmanager
def sharing(say: Say) -> Iterator[Sharing | None]:
    """Let the store of LONGLOOK_STORE stand behind the caches of this process; yield None if there is none.

    A store that cannot be had is said, and everything goes on without it. Inside of another `sharing` this is that one.
    InputError if the variables are wrong or the place is another's, MachineError if its library is missing.
    """
    if _active:
        yield _active[-1]
        return
    try:
        store = SharedStore.named()
    except StoreError as error:
        say(f"WARNING: {error.message}; the run goes on without the store")
        store = None
    if store is None:
        yield None
        return
    with _standing_behind(store, say, tells=True) as entered:
        yield entered


@contextmanager
def required_sharing(say: Say, *, writes: bool = False) -> Iterator[Sharing]:
    """As `sharing`, but raise InputError if no store is named, StoreError if it cannot be had or, asked for, written.

    `say` gets what goes wrong; the caller tells what went well.
    """
    store = SharedStore.named()
    if store is None:
        raise InputError("no store is named", f"--store URL, or {URL}=URL: a folder, or such as s3://bucket/prefix")
    if writes:
        store.expect_writable()
    with _standing_behind(store, say, tells=False) as entered:
        yield entered


@contextmanager
def _standing_behind(store: SharedStore, say: Say, *, tells: bool) -> Iterator[Sharing]:
    entered = Sharing(store, say)
    _active.append(entered)
    STORES_BEHIND.update({kind: entered.behind(kind) for kind in KINDS})
    waits = True
    try:
        yield entered
    except KeyboardInterrupt:
        waits = False
        raise
    finally:
        STORES_BEHIND.clear()
        _active.remove(entered)
        entered.finish(waits=waits, tells=tells)


def use_store(url: str | None, *, read_only: bool) -> None:
    """Name the store for this process and for all that it starts, as LONGLOOK_STORE and LONGLOOK_STORE_MODE do."""
    if url is not None:
        os.environ[URL] = url
    if read_only:
        os.environ[MODE] = MODES[1]


def _names(folder: Path) -> list[str]:
    return [name for name, _ in files.below(folder) if name != ENTRY]


def named(kind: str, count: int) -> str:
    """Return the word for entries of a kind."""
    one, many = _WORDS[kind]
    return one if count == 1 else many


_WORDS = {
    TRIALS: ("trial", "trials"),
    MEASURED: ("measurement", "measurements"),
    PROGRAMS: ("program", "programs"),
    KERNELS: ("kernel", "kernels"),
}
