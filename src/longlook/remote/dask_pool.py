"""Dask distributed as an executor: a cluster on this machine, a running scheduler, or a cluster object of the user's.

Tasks have the names `STUDY/CELL/ARM`, by which the scheduler's dashboard shows them.
"""

import itertools
import logging
import os
import sys
import threading
import time
import warnings
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any
from weakref import WeakKeyDictionary

from longlook.core import InputError, MachineError
from longlook.remote import worker
from longlook.remote.pool import Waiting, missing_dask, named_object

ADDRESS = "DASK_SCHEDULER_ADDRESS"
_LOOPBACK = "127.0.0.1"
_CONNECT_S = 10.0
_ANSWER_S = 10.0
_LOOK_EVERY_S = 5.0
_RUNNING = "running"
_HYPHEN = "\N{NON-BREAKING HYPHEN}"
"""In place of a hyphen: Dask groups tasks by what is before one in their keys."""


class DaskPool:
    """Tasks for Dask. `cluster` makes the cluster or returns its address; `own`: it was made here, and ends with it."""

    def __init__(self, title: str, cluster: Callable[[], Any], *, own: bool) -> None:
        self.title = title
        self._cluster, self._own = cluster, own
        self._made: Any = None
        self._client: Any = None  # a `distributed.Client`, which has no types
        self._avoided: set[str] = set()
        self._among: WeakKeyDictionary[Waiting, frozenset[str]] = WeakKeyDictionary()
        self._numbers = itertools.count()
        self._lock = threading.Lock()
        self._looked: tuple[float, str | None, Mapping[str, int]] = (-_LOOK_EVERY_S, None, {})

    def open(self) -> None:
        """Connect to the scheduler, and start the cluster if it is ours."""
        try:
            from distributed import Client
        except ImportError as error:
            raise missing_dask(error) from error
        logging.getLogger("distributed").setLevel(logging.CRITICAL)  # what matters of it is said once, in our words
        warnings.filterwarnings("ignore", message="Sending large graph", module="distributed")
        path = list(sys.path)
        try:
            if self._made is None:
                self._made = self._cluster()
            make: Any = Client  # which has no types
            self._client = make(
                self._made, timeout=_CONNECT_S, set_as_default=False, name="longlook", heartbeat_interval="5s"
            )
        except (OSError, ValueError, RuntimeError) as error:
            raise MachineError(
                f"{self.title}: no Dask scheduler answers: {error}",
                "start one: dask scheduler; and workers: dask worker ADDRESS (docs/guide/executors.md)",
            ) from error
        finally:  # a scheduler in this process adds its private folder, which guests here would have to be shown
            sys.path[:] = [entry for entry in sys.path if entry in path]

    @property
    def slots(self) -> int:
        """Return the threads of all workers."""
        _, threads = self._look()
        return max(1, sum(threads.values()))

    def notes(self) -> tuple[str, ...]:
        """Return how many workers there are, and the address of the dashboard."""
        _, threads = self._look()
        link = getattr(self._client, "dashboard_link", "")
        dashboard = (
            f"; dashboard: {link}" if link and _has_bokeh() else "; no dashboard here without: pip install bokeh"
        )
        return (f"executor: {self.title}, {len(threads)} workers, {self.slots} tasks at once{dashboard}",)

    def submit(self, request: bytes, label: str) -> Waiting:
        """Hand a request to the scheduler, for any worker that is not avoided."""
        client = self._entered()
        among = frozenset(self._others()) if self._avoided else frozenset()
        key = f"{label.replace('-', _HYPHEN)}-{os.getpid()}.{next(self._numbers)}"
        task: Waiting = client.submit(worker.run, request, key=key, pure=False, workers=sorted(among) or None)
        self._among[task] = among
        return task

    def avoid(self, address: str) -> bool:
        """Send nothing more to the worker of this address."""
        if address:
            self._avoided.add(address)
        return bool(self._others())

    def trouble(self, task: Waiting) -> str | None:
        """Return that the scheduler does not answer, or that it has no worker."""
        problem, threads = self._look()
        if problem is None and not threads.keys() - self._avoided:
            return f"{self.title} has no worker" + (" that can run these trials" if threads else "")
        return problem

    def is_stranded(self, task: Waiting) -> bool:
        """Return whether all workers that a task may go to have gone."""
        problem, threads = self._look()
        among = self._among.get(task, frozenset())
        return problem is None and bool(among) and not among & threads.keys()

    def revive(self) -> str | None:
        """Connect again if the scheduler was lost."""
        with self._lock:
            client = self._entered()
            if client.status == _RUNNING:
                problem, _ = self._look(now=True)
                return problem
            if client.status not in ("closed", "closing"):
                return f"{self.title}: the scheduler does not answer"
            if self._own:
                self._close_cluster()
            try:
                self.open()
            except MachineError as error:
                return error.message
            return None

    def close(self) -> None:
        """Leave the scheduler, and end the cluster if it was made here."""
        if self._client is not None:
            with suppress(Exception):
                self._client.close(timeout=_CONNECT_S)
            self._client = None
        self._close_cluster()

    def _close_cluster(self) -> None:
        if self._own and self._made is not None:
            with suppress(Exception):
                self._made.close(timeout=_CONNECT_S)
            self._made = None

    def _entered(self) -> Any:
        if self._client is None:
            raise RuntimeError("the executor is not open")
        return self._client

    def _others(self) -> set[str]:
        _, threads = self._look()
        return set(threads.keys() - self._avoided)

    def _look(self, *, now: bool = False) -> tuple[str | None, Mapping[str, int]]:
        """Return what is wrong with the scheduler, and the threads of each worker by its address, as of just now."""
        at, problem, threads = self._looked
        if now or time.monotonic() - at >= _LOOK_EVERY_S:
            problem, threads = self._asked()
            self._looked = time.monotonic(), problem, threads
        return problem, threads

    def _asked(self) -> tuple[str | None, Mapping[str, int]]:
        client = self._entered()
        if client.status != _RUNNING:
            return f"{self.title}: the scheduler does not answer", {}
        try:
            threads: Mapping[str, int] = client.sync(client.scheduler.ncores, callback_timeout=_ANSWER_S)
        except Exception as error:  # whatever is raised on the way, nobody answered
            return f"{self.title}: the scheduler does not answer: {error}", {}
        return None, threads


def local_cluster(workers: int) -> Callable[[], Any]:
    """Return what starts a cluster of this many worker processes on this machine, on loopback alone."""

    def start() -> Any:
        import distributed

        make: Any = distributed.LocalCluster  # which has no types
        return make(
            n_workers=workers,
            threads_per_worker=1,
            processes=True,
            host=_LOOPBACK,
            dashboard_address=f"{_LOOPBACK}:0",
            memory_limit=0,  # a worker holds one result; its guests have limits of their own
            silence_logs=logging.CRITICAL,
        )

    return start


def named_cluster(place: str) -> DaskPool:
    """Return a pool of the cluster that MODULE:NAME names: an object of Dask's, or what makes one."""
    title = f"dask:{place}"
    named = named_object(place, title)
    makes = isinstance(named, type) or not hasattr(named, "scheduler_address")

    def cluster() -> Any:
        made = named() if makes else named
        if not isinstance(made, str) and not hasattr(made, "scheduler_address"):
            raise InputError(
                f"--executor {title} is {type(made).__name__}, and no cluster of Dask's",
                "name a cluster such as dask_jobqueue.SLURMCluster, or what makes one without arguments",
            )
        return made

    return DaskPool(title, cluster, own=makes)


def _has_bokeh() -> bool:
    from importlib.util import find_spec

    return find_spec("bokeh") is not None
