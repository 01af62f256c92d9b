"""Trials on other machines: the same bytes as here, whatever happens to workers and scheduler meanwhile."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

import longlook as package
from longlook.core.processes import tree_of
from tests.support.command_line import LONGLOOK, call_longlook, longlook
from tests.support.processes import command_line

pytestmark = [pytest.mark.lab, pytest.mark.slow, pytest.mark.timeout(900)]

STUDY = ("demo", "--only", "client=quic-go", "--only", "size=5KB", "--only", "rate=10Mbit", "--rounds", "3")
TRIALS = 6
WITHIN_S = 120.0


def wait_until(is_so: Callable[[], Any], what: str) -> None:
    end = time.monotonic() + WITHIN_S
    while not is_so():
        assert time.monotonic() < end, f"{what}: not within {WITHIN_S:.0f} s"
        time.sleep(0.05)


@dataclass
class Cluster:
    """A scheduler and workers of this test, each a process of its own with a cache and temporary folder of its own."""

    place: Path
    stack: ExitStack
    address: str = ""
    scheduler: "subprocess.Popen[bytes] | None" = None
    workers: "list[subprocess.Popen[bytes]]" = field(default_factory=list)

    def start(self, *arguments: str, environment: Mapping[str, str] | None = None) -> "subprocess.Popen[bytes]":
        log = self.stack.enter_context((self.place / f"log{time.monotonic_ns()}").open("wb"))
        env = {**os.environ, **(environment or {})}
        process = subprocess.Popen(
            [*arguments], stdout=log, stderr=log, env=env, cwd=self.place, start_new_session=True
        )
        self.stack.callback(end, process)
        return process

    def start_scheduler(self, port: int = 0) -> None:
        file = self.place / "scheduler.json"
        file.unlink(missing_ok=True)
        self.scheduler = self.start(
            *(sys.executable, "-m", "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", str(port)),
            *("--no-dashboard", "--scheduler-file", str(file)),
        )
        wait_until(lambda: file.exists() and file.read_text().endswith("}"), "the scheduler listens")
        self.address = json.loads(file.read_text())["address"]

    def add_worker(
        self, *options: str, environment: Mapping[str, str] | None = None, before: tuple[str, ...] = ()
    ) -> Path:
        """Start a worker with an empty cache; return its folder."""
        folder = self.place / f"worker{len(self.workers)}"
        for name in ("cache", "tmp", "dask"):
            (folder / name).mkdir(parents=True)
        own = {"LONGLOOK_CACHE": str(folder / "cache"), "TMPDIR": str(folder / "tmp"), **(environment or {})}
        self.workers.append(
            self.start(
                *before,
                *(sys.executable, "-m", "distributed.cli.dask_worker", self.address, "--nthreads", "1", "--no-nanny"),
                *("--host", "127.0.0.1", "--no-dashboard", "--local-directory", str(folder / "dask"), *options),
                environment=own,
            )
        )
        return folder


def end(process: "subprocess.Popen[bytes]") -> None:
    """End a process of this test with all that it started: each has a session of its own."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGCONT)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait(WITHIN_S)


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    tmp_path.chmod(0o755)
    with ExitStack() as stack:
        made = Cluster(tmp_path, stack)
        made.start_scheduler()
        yield made


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("here") / "run"
    answer = longlook("run", *STUDY, "--jobs", "1", "--no-cache", "--out", str(out))
    assert answer.returncode == 0, answer.stderr
    return out


def options(out: Path, executor: str, *more: str) -> tuple[str, ...]:
    return ("run", *STUDY, "--no-cache", "--json", "--out", str(out), "--executor", executor, *more)


def expect_same(here: Path, there: Path) -> None:
    answer = call_longlook("diff-runs", str(here), str(there))
    assert (answer.returncode, answer.stdout) == (0, f"identical: {TRIALS} trials\n")


def noted(run: Path) -> dict[str, Any]:
    executors = json.loads((run / "manifest.json").read_text())["executors"]
    (entry,) = executors.values()
    return entry  # type: ignore[no-any-return]


@contextmanager
def going(arguments: tuple[str, ...]) -> Iterator["subprocess.Popen[str]"]:
    process = subprocess.Popen(
        [*LONGLOOK, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


def ended_well(process: "subprocess.Popen[str]") -> str:
    out, errors = process.communicate(timeout=600)
    assert process.returncode == 0, errors
    return out


def runs_a_guest(worker: "subprocess.Popen[bytes]") -> bool:
    return any(b"longlook-box" in command_line(pid) for pid in tree_of(worker.pid) if pid != worker.pid)


def test_a_cluster_of_this_machine_gives_the_same_bytes(here: Path, tmp_path: Path) -> None:
    answer = longlook(*options(tmp_path / "run", "dask", "--jobs", "2", "--check-workers", "100%"))
    assert answer.returncode == 0, answer.stderr
    expect_same(here, tmp_path / "run")
    assert noted(tmp_path / "run")["run_again_here"] == TRIALS
    assert [each["trials"] for each in noted(tmp_path / "run")["workers"]] == [TRIALS]


def test_an_executor_of_processes_gives_the_same_bytes(here: Path, tmp_path: Path) -> None:
    (tmp_path / "pool_of_processes.py").write_text(
        "import multiprocessing\n"
        "from concurrent.futures import ProcessPoolExecutor\n"
        "def make():\n"
        "    return ProcessPoolExecutor(2, mp_context=multiprocessing.get_context('spawn'))\n"
    )
    answer = longlook(*options(tmp_path / "run", "futures:pool_of_processes:make"), cwd=tmp_path)
    assert answer.returncode == 0, answer.stderr
    expect_same(here, tmp_path / "run")


def test_workers_with_nothing_but_the_wheel_give_the_same_bytes(here: Path, tmp_path: Path, cluster: Cluster) -> None:
    """Other caches, other temporary folders, other environments, and one worker that may use one CPU alone."""
    masked = {"GODEBUG": "cpu.all=off", "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX2,-FMA", "LANG": "de_DE.UTF-8"}
    folders = [cluster.add_worker(), cluster.add_worker(environment=masked, before=("taskset", "-c", "0"))]
    answer = longlook(*options(tmp_path / "run", f"dask:{cluster.address}", "--check-workers", "0%"))
    assert answer.returncode == 0, answer.stderr
    expect_same(here, tmp_path / "run")
    assert all((folder / "cache" / "kernel").is_dir() for folder in folders)
    assert [list((folder / "tmp").glob("longlook-exchange-*")) for folder in folders] == [[], []]


def test_a_killed_worker_costs_no_trial(here: Path, tmp_path: Path, cluster: Cluster) -> None:
    cluster.add_worker()
    with going(options(tmp_path / "run", f"dask:{cluster.address}", "--jobs", "2")) as run:
        wait_until(lambda: runs_a_guest(cluster.workers[0]), "the worker runs a trial")
        os.killpg(cluster.workers[0].pid, signal.SIGKILL)
        cluster.add_worker()
        ended_well(run)
    expect_same(here, tmp_path / "run")


def test_a_paused_worker_costs_time_alone(here: Path, tmp_path: Path, cluster: Cluster) -> None:
    cluster.add_worker()
    with going(options(tmp_path / "run", f"dask:{cluster.address}")) as run:
        wait_until(lambda: runs_a_guest(cluster.workers[0]), "the worker runs a trial")
        os.kill(cluster.workers[0].pid, signal.SIGSTOP)
        cluster.add_worker()  # so that there is something to wait for
        wait_until(lambda: cluster.workers[1].poll() is None, "another worker is there")
        os.kill(cluster.workers[0].pid, signal.SIGCONT)
        ended_well(run)
    expect_same(here, tmp_path / "run")


def test_a_scheduler_that_dies_and_comes_back_costs_no_trial(here: Path, tmp_path: Path, cluster: Cluster) -> None:
    port = int(cluster.address.rpartition(":")[2])
    cluster.add_worker()
    with going(options(tmp_path / "run", f"dask:{cluster.address}")) as run:
        wait_until(lambda: runs_a_guest(cluster.workers[0]), "the worker runs a trial")
        assert cluster.scheduler is not None
        end(cluster.scheduler)
        wait_until(lambda: cluster.workers[0].poll() is not None, "its worker leaves")
        cluster.start_scheduler(port)
        cluster.add_worker()
        said = ended_well(run)
    assert "handed in again" in said
    expect_same(here, tmp_path / "run")


LIAR = """
from longlook.remote import worker
from longlook.store import pack as honest  # Dask loads this file twice

def lying(folder, names, into):
    import json
    from longlook.core import files
    for record in folder.glob("*/run.json"):
        lines = record.with_name("client.jsonl")
        lines.write_text(lines.read_text().replace("e", "3", 1))
        run = json.loads(record.read_text())
        run["artefacts"]["client.jsonl"] = files.digest(lines)
        record.write_text(json.dumps(run))
    honest(folder, names, into)

worker.pack = lying
"""


def test_a_worker_that_lies_is_found_and_nothing_of_it_counts(here: Path, tmp_path: Path, cluster: Cluster) -> None:
    (tmp_path / "liar.py").write_text(LIAR)
    cluster.add_worker("--preload", str(tmp_path / "liar.py"))
    out, trials = tmp_path / "run", tmp_path / "trials"
    arguments = tuple(each for each in options(out, f"dask:{cluster.address}") if each != "--no-cache")
    env = {**os.environ, "LONGLOOK_TRIALS": str(trials)}
    answer = longlook(*arguments, "--jobs", "1", "--check-workers", "1%", env=env)
    assert answer.returncode == 3
    assert "returned what does not repeat here" in answer.stderr
    assert "client.jsonl is" in answer.stderr
    assert f"--resume {out}" in answer.stderr
    assert list((out / "trials").glob("[!.]*")) == []
    end(cluster.workers[0])
    cluster.add_worker()
    resumed = tuple("--resume" if each == "--out" else each for each in arguments)
    answer = longlook(*resumed, env=env)
    assert answer.returncode == 0, answer.stderr
    expect_same(here, out)


def test_a_worker_of_another_version_is_named_and_left_out(here: Path, tmp_path: Path, cluster: Cluster) -> None:
    source = tmp_path / "other"
    shutil.copytree(Path(package.__file__).parent, source / "longlook", ignore=shutil.ignore_patterns("__pycache__"))
    with (source / "longlook" / "lab" / "guest.py").open("a") as file:
        file.write("# of another version\n")
    cluster.add_worker(environment={"PYTHONPATH": str(source)})
    alone = longlook(*options(tmp_path / "alone", f"dask:{cluster.address}"))
    assert alone.returncode == 3
    assert "could not give the same bytes: agent's code is " in alone.stderr
    cluster.add_worker()
    answer = longlook(*options(tmp_path / "run", f"dask:{cluster.address}"))
    assert answer.returncode == 0, answer.stderr
    assert "others go on: it could not give the same bytes: agent's code is " in answer.stdout
    expect_same(here, tmp_path / "run")


def test_without_a_scheduler_nothing_begins(tmp_path: Path, cluster: Cluster) -> None:
    assert cluster.scheduler is not None
    end(cluster.scheduler)
    answer = longlook(*options(tmp_path / "run", f"dask:{cluster.address}"))
    assert answer.returncode == 3
    assert "no Dask scheduler answers" in answer.stderr
