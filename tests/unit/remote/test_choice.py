"""`--executor` and `--check-workers`: what can be named, and what is said of everything else."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from longlook.core.errors import InputError
from longlook.engines import make_engine
from longlook.remote import RemoteEngine, remote_engine
from longlook.remote.pool import FuturesPool

POOL = ThreadPoolExecutor(1)


@pytest.mark.parametrize(
    ("executor", "error"),
    [
        ("", "no such executor"),
        ("slurm", "no such executor"),
        ("dask:", "no such executor"),
        ("futures", "no such executor"),
        ("futures:", "no such executor"),
        ("dask:10.0.0.1:8786", "an address begins with its protocol"),
        ("dask:no_such_module:make", "no_such_module cannot be imported"),
        ("futures:os", "not MODULE:NAME"),
        ("futures:os:no_such_name", "os has no no_such_name"),
        ("futures::NAME", "not MODULE:NAME"),
    ],
)
def test_a_bad_executor_is_refused_with_what_is_allowed(executor: str, error: str) -> None:
    with pytest.raises(InputError, match=error) as raised:
        remote_engine(executor, make_engine("virtual"), None, "2%")
    assert raised.value.hint


@pytest.mark.parametrize("share", ["", "2", "101%", "-1%", "much"])
def test_a_bad_share_is_refused(share: str) -> None:
    with pytest.raises(InputError, match="--check-workers"):
        remote_engine("dask", make_engine("virtual"), None, share)


def test_real_time_stays_here() -> None:
    with pytest.raises(InputError, match="measures in real time, on the machine that asked"):
        remote_engine("dask", make_engine("live"), None, "2%")


def test_nothing_is_connected_before_it_is_needed() -> None:
    engine = remote_engine("dask:tcp://127.0.0.1:1", make_engine("virtual"), 3, "2%")
    assert isinstance(engine, RemoteEngine)
    assert (engine.name, engine.parallel) == ("virtual", 3)


def test_an_object_and_what_makes_one_are_executors() -> None:
    for place in (f"{__name__}:POOL", "concurrent.futures:ThreadPoolExecutor"):
        pool = FuturesPool(place)
        pool.open()
        assert pool.slots >= 1
        if place.endswith("Executor"):
            pool.close()


def test_what_is_no_executor_is_refused() -> None:
    pool = FuturesPool("os:getcwd")
    with pytest.raises(InputError, match="is str, and no executor"):
        pool.open()


def test_a_module_of_the_present_folder_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "pool_of_mine.py").write_text(
        "from concurrent.futures import ThreadPoolExecutor\ndef make():\n    return ThreadPoolExecutor(5)\n"
    )
    pool = FuturesPool("pool_of_mine:make")
    pool.open()
    assert pool.slots == 5
    pool.close()
