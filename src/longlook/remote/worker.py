"""The worker's side: one function, which any executor can call in a process that has Longlook's wheel and nothing else.

`run` takes a request and returns an answer, both as bytes. It compares what decides a trial's bytes with the sender's,
takes the entries that it lacks from the request, runs the trials in guests of this machine, and returns their sealed
folders. It installs and builds nothing, and leaves nothing behind but entries of its cache. The temporary folders of
workers that were killed are removed by the next task of their machine.
"""

import os
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import Any

from longlook.core import Engine, InputError, LonglookError, MachineError, cache_dir, files
from longlook.engines import exchange_directory, make_engine
from longlook.provision import filled, guest_kernel
from longlook.remote.entries import Entry, digest_of, entry_of, tree_of, unpack_into
from longlook.remote.facts import differing, facts_of, facts_of_programs
from longlook.remote.messages import (
    Answer,
    Done,
    Missing,
    Refused,
    Request,
    Unable,
    Worker,
    Wrong,
    read_request,
    write_answer,
)
from longlook.remote.portable import Unpacker
from longlook.run import facts_of_host
from longlook.store import pack
from longlook.study import VIRTUAL

_KERNEL = "kernel/"
_NAMED_KERNEL = "LONGLOOK_KERNEL"

Fetch = Callable[[str], bytes | None]
"""Returns the blob of a digest from a place that sender and worker share; None if that place has none."""


def run(request: bytes) -> bytes:
    """Run the trials of a request on this machine; return the answer, which may be that the machine cannot."""
    worker = this_worker()
    _hide_scratch()
    try:
        asked, blobs = read_request(request)
    except InputError as error:  # of another version's sender
        return write_answer(Unable(worker, error.message, error.hint))
    try:
        with exchange_directory() as folder:
            answer = _answer(asked, worker, blobs.get, folder)
            if not isinstance(answer, Done):
                return write_answer(answer)
            packed = BytesIO()
            pack(folder, [name for name, _ in files.below(folder)], packed)
            return write_answer(answer, packed.getvalue())
    except InputError as error:
        return write_answer(Wrong(worker, error.message, error.hint))
    except LonglookError as error:
        return write_answer(Unable(worker, error.message, error.hint))
    except OSError as error:
        return write_answer(Unable(worker, str(error), "make room in its temporary folder (TMPDIR) and its cache"))


def this_worker() -> Worker:
    """Return what a run notes about the machine and the process that a worker is."""
    facts = _facts_of_host()
    return Worker(
        host=socket.gethostname(),
        pid=os.getpid(),
        cpu=str(facts["cpu"]),
        kernel=str(facts["kernel"]),
        longlook=str(facts["longlook"]),
        address=_dask_address(),
    )


def _answer(asked: Request, worker: Worker, fetch: Fetch, folder: Path) -> Answer:
    """Run a request with its folders below `folder`, unless something differs or is missing."""
    if differs := differing(asked.facts, facts_of(asked.jobs)):
        return Refused(worker, differs)
    if differs := _ENTRIES.differing(asked.entries):
        return Refused(worker, differs)
    if missing := _ENTRIES.obtain(asked.entries, fetch):
        return Missing(worker, missing)
    jobs = Unpacker().unpack(asked.jobs, folder)
    if differs := differing(asked.programs, facts_of_programs(jobs)):
        return Refused(worker, differs)
    engine, setting = _ENGINE.entered(asked)
    if differs := differing(asked.setting, setting):
        return Refused(worker, {f"guest's {name}": values for name, values in differs.items()})
    began_s = time.monotonic()
    engine.run_together(jobs)
    return Done(worker, time.monotonic() - began_s)


class _Entries:
    """The entries of this machine's cache, of which each is read once in a process."""

    def __init__(self) -> None:
        self._digests: dict[Path, tuple[int, str]] = {}

    def differing(self, entries: Iterable[Entry]) -> dict[str, tuple[str, str]]:
        """Return the entries that are there with another digest than the wanted one."""
        found = {entry: self._digest(_place(entry)) for entry in entries if _place(entry).is_dir()}
        return {entry.path: (entry.digest, digest) for entry, digest in found.items() if digest != entry.digest}

    def obtain(self, entries: Iterable[Entry], fetch: Fetch) -> tuple[str, ...]:
        """Put missing entries into the cache, whole and verified; return the digests that `fetch` does not have."""
        missing = []
        for entry in entries:
            folder = _place(entry)
            if folder.is_dir():
                continue
            if (blob := fetch(entry.digest)) is None:
                missing.append(entry.digest)
            else:
                _put(entry, folder, blob)
        return tuple(missing)

    def _digest(self, folder: Path) -> str:
        inode = folder.stat().st_ino
        known = self._digests.get(folder)
        if known is None or known[0] != inode:
            known = self._digests[folder] = inode, digest_of(tree_of(folder))
        return known[1]


def _place(entry: Entry) -> Path:
    folder = cache_dir() / entry.path
    if ".." in folder.parts or entry_of(folder, cache_dir()) != entry.path:
        raise InputError(f"a request names {entry.path!r}, which is no entry of the cache")
    return folder


def _put(entry: Entry, folder: Path, blob: bytes) -> None:
    try:
        filled(folder, lambda _folder: True, lambda into: unpack_into(blob, into, entry.digest))
    except InputError as error:  # damaged on its way: the same request may succeed at another time
        raise MachineError(error.message, error.hint) from error


def _refuse_to_build(entries: Iterable[Entry]) -> None:
    """Raise MachineError if an engine here would begin to build a kernel."""
    if not any(entry.path.startswith(_KERNEL) for entry in entries) and not os.environ.get(_NAMED_KERNEL):
        raise MachineError(
            f"the guest's kernel is one that {_NAMED_KERNEL} names on the machine that asks, so it is not sent",
            f"set {_NAMED_KERNEL} on every worker to the same kernel, or on no machine",
        )
    if not guest_kernel.installed():
        raise MachineError(
            "the kernel that was sent is not the one that this worker's Longlook wants",
            "install the same Longlook everywhere",
        )


class _EnteredEngine:
    """The engine of this process: entered once, since every entering looks for a guest and bundles its modules."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: tuple[Path, Engine, Mapping[str, str]] | None = None

    def entered(self, asked: Request) -> tuple[Engine, Mapping[str, str]]:
        """Return the engine and its setting; it is entered again if the setting is another one than is asked for."""
        with self._lock:
            if self._known is None or self._known[0] != cache_dir() or self._known[2] != asked.setting:
                _refuse_to_build(asked.entries)
                engine = make_engine(VIRTUAL).__enter__()  # never left: other threads may be running trials in it
                self._known = cache_dir(), engine, dict(engine.setting() or {})
            return self._known[1:]


_ENTRIES = _Entries()
_ENGINE = _EnteredEngine()


@cache
def _facts_of_host() -> Mapping[str, object]:
    return facts_of_host()


def _dask_address() -> str:
    """Return the address of the Dask worker that runs this; an empty text if none does."""
    found = _dask_worker()
    return "" if found is None else str(found.address)


def _dask_worker() -> Any:
    module = sys.modules.get("distributed.worker")
    try:
        return None if module is None else module.get_worker()
    except ValueError:
        return None


def _hide_scratch() -> None:
    """Take the scratch folders of a Dask worker, which only its user may read, from where Python looks for modules.

    Guests are shown all these places. They import nothing from the scratch folders, since a new Python knows none.
    """
    if (found := _dask_worker()) is not None:
        scratch = Path(found.local_directory).parent
        sys.path[:] = [entry for entry in sys.path if not Path(entry).is_relative_to(scratch)]
