"""The executors that a user can name: `local`, `dask`, `dask:ADDRESS`, `dask:MODULE:NAME`, `futures:MODULE:NAME`."""

import os
from fractions import Fraction

from longlook.core import Engine, InputError, units, usable_cpus
from longlook.remote.dask_pool import ADDRESS, DaskPool, local_cluster, named_cluster
from longlook.remote.engine import RemoteEngine
from longlook.remote.pool import FuturesPool, Pool
from longlook.study import VIRTUAL

_HINT = "local, dask, dask:tcp://HOST:PORT, dask:MODULE:NAME or futures:MODULE:NAME (docs/guide/executors.md)"


def remote_engine(executor: str, engine: Engine, jobs: int | None, checked: str) -> Engine:
    """Return the engine that runs an engine's trials by an executor.

    `jobs` are tasks at once, None for as many as the workers have room for. `checked` is the share of trials that run
    again here, such as `2%`. Nothing is connected yet. InputError for what cannot be.
    """
    share = _share(checked)
    if engine.name != VIRTUAL:
        raise InputError(
            f"--executor {executor}: engine {engine.name} measures in real time, on the machine that asked",
            "leave --executor out, or run in virtual time: --engine virtual",
        )
    return RemoteEngine(_pool(executor, jobs), engine, jobs, share)


def _pool(executor: str, jobs: int | None) -> Pool:
    kind, _, place = executor.partition(":")
    if kind == "futures" and place:
        return FuturesPool(place)
    if kind != "dask" or (":" in executor and not place):
        raise InputError(f"--executor {executor}: no such executor", _HINT)
    address = place if "://" in place else "" if place else os.environ.get(ADDRESS, "")
    if address:
        return DaskPool(f"dask:{address}", lambda: address, own=False)
    if place.rpartition(":")[2].isdecimal():
        raise InputError(
            f"--executor {executor}: an address begins with its protocol", f"--executor dask:tcp://{place}"
        )
    if place:
        return named_cluster(place)
    return DaskPool("dask", local_cluster(jobs or len(usable_cpus())), own=True)


def _share(text: str) -> Fraction:
    try:
        return units.parse_share(text)
    except units.UnitError as error:
        raise InputError(f"--check-workers {text}: {error}", "write for example --check-workers 2%") from error
