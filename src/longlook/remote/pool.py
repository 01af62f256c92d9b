"""The interface by which a remote engine uses an executor, and any `concurrent.futures.Executor` behind it."""

import importlib
import os
import sys
import threading
from collections.abc import Callable
from concurrent.futures import BrokenExecutor
from pathlib import Path
from typing import Any, Protocol

from longlook.core import InputError, MachineError, usable_cpus
from longlook.remote import worker

_MODULE_HINT = (
    "MODULE is imported from this folder or from the environment, NAME is in it: futures:my_cluster:make_pool"
)


class Waiting(Protocol):
    """A result that is to come, as `concurrent.futures.Future` and Dask's futures are."""

    def add_done_callback(self, call: Callable[[Any], object], /) -> object:
        """Call when the result is there, or never will be."""
        ...

    def result(self) -> bytes:
        """Return the result, or raise why there is none."""
        ...

    def cancel(self) -> object:
        """Let it not begin."""
        ...


class Pool(Protocol):
    """An executor: it takes requests, and says how it is. Several threads call it."""

    title: str  # as a run's manifest and messages name it

    def open(self) -> None:
        """Connect, or start what is to be started; MachineError or InputError if that cannot be."""
        ...

    @property
    def slots(self) -> int:
        """Return how many tasks can run at once now, at least 1."""
        ...

    def notes(self) -> tuple[str, ...]:
        """Return what a user should know, one sentence each."""
        ...

    def submit(self, request: bytes, label: str) -> Waiting:
        """Hand a request to a worker; `label` names it to who looks at the executor."""
        ...

    def avoid(self, address: str) -> bool:
        """Send nothing more to a worker; return whether there are others, as far as the executor knows."""
        ...

    def trouble(self, task: Waiting) -> str | None:
        """Return why a task cannot go on at present; None if nothing is known to be wrong."""
        ...

    def is_stranded(self, task: Waiting) -> bool:
        """Return whether a task waits for workers that have gone, so that it has to be handed in again."""
        ...

    def revive(self) -> str | None:
        """Try to make the executor usable after it lost a task; return why it is not, None if it is."""
        ...

    def close(self) -> None:
        """Leave the executor, and end what `open` started."""
        ...


class FuturesPool:
    """An object of the user's that has the methods of `concurrent.futures.Executor`, or what makes one."""

    def __init__(self, place: str) -> None:
        self.title = f"futures:{place}"
        self._named = named_object(place, self.title)
        self._makes = isinstance(self._named, type) or not hasattr(self._named, "submit")
        self._lock = threading.Lock()
        self._executor: Any = None
        self._broken = False

    def open(self) -> None:
        """Make the executor, or take the object that was named."""
        made = self._named() if self._makes else self._named
        if not callable(getattr(made, "submit", None)) or not callable(getattr(made, "shutdown", None)):
            raise InputError(
                f"{self.title} is {type(made).__name__}, and no executor: it has no methods submit and shutdown",
                "name an object, or what makes one without arguments, that implements concurrent.futures.Executor",
            )
        self._executor = made

    @property
    def slots(self) -> int:
        """Return the executor's number of workers if it says one, else the number of CPUs here."""
        known = getattr(self._executor, "_max_workers", None)
        return known if isinstance(known, int) and known > 0 else len(usable_cpus())

    def notes(self) -> tuple[str, ...]:
        """Return how the trials run."""
        return (f"executor: {self.title}, {self.slots} tasks at once",)

    def submit(self, request: bytes, label: str) -> Waiting:
        """Hand a request to the executor, which knows no labels."""
        with self._lock:
            task: Waiting = self._executor.submit(worker.run, request)
            return task

    def avoid(self, address: str) -> bool:
        """Such executors choose workers themselves."""
        return True

    def trouble(self, task: Waiting) -> str | None:
        """Such executors do not say."""
        return None

    def is_stranded(self, task: Waiting) -> bool:
        """Such executors do not say."""
        return False

    def revive(self) -> str | None:
        """Make another executor if this one is broken, as one of processes is if a process was killed."""
        with self._lock:
            try:
                self._executor.submit(os.getpid)
            except (BrokenExecutor, RuntimeError) as error:
                if not self._makes:
                    return f"{self.title} does not work any more ({error}); if it is a function, another one is made"
                self._executor.shutdown(wait=False, cancel_futures=True)
                self.open()
        return None

    def close(self) -> None:
        """Shut the executor down, after the trials that run there have ended."""
        if self._executor is not None:
            self._executor.shutdown(wait=True, cancel_futures=True)
            self._executor = None


def named_object(place: str, option: str) -> Any:
    """Return the object that MODULE:NAME names; InputError if there is none."""
    module, _, name = place.partition(":")
    if not module or not name:
        raise InputError(f"--executor {option}: not MODULE:NAME", _MODULE_HINT)
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        found: Any = importlib.import_module(module)
    except ImportError as error:
        raise InputError(f"--executor {option}: {module} cannot be imported: {error}", _MODULE_HINT) from error
    for part in name.split("."):
        if not hasattr(found, part):
            raise InputError(f"--executor {option}: {module} has no {name}", _MODULE_HINT)
        found = getattr(found, part)
    return found


def missing_dask(error: ImportError) -> MachineError:
    """Return the error for a machine without Dask."""
    return MachineError(f"Dask is not installed: {error}", "pip install 'longlook[dask]'")
