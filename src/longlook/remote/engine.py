"""The engine that has another machine run its trials: it sends jobs by digests and takes back sealed folders.

It is the engine of virtual time to everything else, since the bytes are the same. This machine needs to be able to
boot guests too: by its setting it knows what workers must have, and it runs a sample of the trials again.
"""

import shutil
import tempfile
import threading
import time
import weakref
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from io import BytesIO
from pathlib import Path
from types import TracebackType
from typing import Self

from longlook.core import (
    Engine,
    InputError,
    InterruptedByUserError,
    Job,
    MachineError,
    Outcome,
    Run,
    altered_files,
    codec,
    files,
    units,
)
from longlook.lab import raise_if_full
from longlook.provision import kernel_program
from longlook.remote.facts import facts_of, facts_of_programs
from longlook.remote.messages import (
    Answer,
    Done,
    Missing,
    Refused,
    Request,
    Unable,
    Worker,
    Wrong,
    read_answer,
    write_request,
)
from longlook.remote.pool import Pool, Waiting
from longlook.remote.portable import Packer, Portable
from longlook.remote.recheck import DistrustedWorkerError, Sample, first_difference
from longlook.store import unpack

LOST_AT_MOST = 5
"""How often a batch of trials is handed in again because its worker was lost."""

REFUSED_AT_MOST = 8
"""How often a batch is handed in again because a worker refused it, as long as no worker has run any trial."""

REFUSED_BESIDE_OTHERS = 40
"""The same, if other workers do run trials: those may be busy when a worker that refuses is idle."""

PATIENCE_S = 300.0
"""How long, in s, a run waits for a scheduler that is lost, or for a first worker."""

_LOOK_EVERY_S = 1.0
_LONGEST_PAUSE_S = 10.0
_LARGEST_FOLDER_BYTES = 4 << 30  # of one trial
_BLOBS_KEPT = 4


@dataclass(frozen=True)
class Machine:
    """A machine that ran trials: its name, its processor and its kernel."""

    host: str
    cpu: str
    kernel: str
    trials: int


@dataclass(frozen=True)
class ExecutorReport:
    """The work of an executor, as a manifest notes it."""

    executor: str
    workers: tuple[Machine, ...]
    run_again_here: int


class RemoteEngine:
    """Runs trials by a pool; several threads may call it at once. `local` is the engine of this machine.

    `jobs` are the tasks that are under way at once, None for as many as the workers have room for. The pool is opened
    when it is first needed and stays open between uses, until the engine is dropped. `say` gets lines of progress.
    """

    batches = True

    def __init__(self, pool: Pool, local: Engine, jobs: int | None, checked: Fraction) -> None:
        self.name = local.name
        self.say: Callable[[str], None] = lambda _text: None
        self._pool, self._local, self._jobs, self._checked = pool, local, jobs, checked
        self._stop = threading.Event()
        self._lock = threading.Lock()
        self._opened = False
        self._packer = Packer()
        self._blob = lru_cache(_BLOBS_KEPT)(self._packer.blob)
        self._sample = Sample(checked)
        self._setting: Mapping[str, str] = {}
        self._kernel = ""
        self._said: set[str] = set()
        self._ran: Counter[Worker] = Counter()
        self._again = 0
        self._delivered: dict[str, list[Job]] = {}  # host → jobs
        self._distrusted: set[str] = set()

    def setting(self) -> Mapping[str, str]:
        """Return this machine's setting: every worker must have the same."""
        return self._setting

    def notes(self) -> Sequence[str]:
        """Return what a user should know about this machine's engine and about the executor."""
        share = (
            f"the first trial of each machine and {units.print_share(self._checked)} of all exact trials run again here"
            if self._checked
            else "no trial of a worker runs again here (--check-workers 0%)"
        )
        return (*self._local.notes(), *self._open().notes(), share)

    def interrupt(self) -> None:
        """Wait for no worker any more, and kill guests of this machine."""
        self._stop.set()
        self._local.interrupt()

    @property
    def parallel(self) -> int:
        """Return how many tasks are under way at once."""
        return self._jobs or self._open().slots

    @property
    def report(self) -> ExecutorReport:
        """Return the executor, the machines that ran trials, and how many trials ran again here."""
        with self._lock:
            counts: Counter[tuple[str, str, str]] = Counter()
            for worker, count in self._ran.items():
                counts[worker.host, worker.cpu, worker.kernel] += count
            machines = tuple(Machine(*facts, count) for facts, count in sorted(counts.items()))
            return ExecutorReport(self._pool.title, machines, self._again)

    def __enter__(self) -> Self:
        self._local.__enter__()
        self._setting = dict(self._local.setting() or {})
        self._kernel = kernel_program(self.say).path
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._local.__exit__(kind, error, trace)

    def run(self, job: Job) -> Run:
        """Run one trial on a worker."""
        return self.run_together([job])[0]

    def run_together(self, jobs: Sequence[Job]) -> list[Run]:
        """Run trials one after another in one guest of a worker."""
        jobs = list(jobs)
        portable = self._packer.pack(jobs, self._kernel)
        request = Request(portable.jobs, facts_of(jobs), facts_of_programs(jobs), self._setting, portable.entries)
        trouble = _Trouble()
        while True:
            done, packed = self._done(request, portable, _label(jobs[0]), trouble)
            with self._unpacked(jobs, packed) as place:
                try:
                    runs = [_verified(place / str(number), job) for number, job in enumerate(jobs)]
                except InputError as error:
                    self._refused(done.worker, f"what it returned is not believed: {error.message}", trouble)
                    continue
                self._check(jobs, runs, place, done.worker)
                self._deliver(jobs, place, done.worker)
                return runs

    def _open(self) -> Pool:
        with self._lock:
            if not self._opened:
                self._pool.open()
                self._opened = True
                weakref.finalize(self, self._pool.close)
            return self._pool

    def _done(self, request: Request, portable: Portable, label: str, trouble: "_Trouble") -> tuple[Done, bytes]:
        """Have a request done by some worker; return its answer and the packed folders."""
        pool, blobs = self._open(), dict[str, bytes]()
        wanted = {entry.digest for entry in portable.entries}
        while True:
            answer = self._asked(pool, write_request(request, blobs), label, trouble)
            if answer is None:
                continue
            found, packed = answer
            if isinstance(found, Done):
                return found, packed
            if isinstance(found, Wrong):
                raise InputError(found.message, found.hint)
            if isinstance(found, Missing) and wanted - blobs.keys() >= set(found.digests) and found.digests:
                blobs |= {digest: self._blob(digest) for digest in found.digests}
                continue
            self._refused(found.worker, _reason(found), trouble)

    def _asked(self, pool: Pool, message: bytes, label: str, trouble: "_Trouble") -> tuple[Answer, bytes] | None:
        """Return a worker's answer; None if it was lost with its worker or the scheduler, which is there again."""
        task: Waiting | None = None
        try:
            task = pool.submit(message, label)
            self._wait(pool, task)
            return read_answer(task.result())
        except InputError as error:  # of whoever answered, which it does not say
            raise MachineError(
                f"a worker's answer cannot be read: {error.message}", "have the same Longlook on all machines"
            ) from error
        except (InterruptedByUserError, MachineError):
            if task is not None:
                task.cancel()
            raise
        except BaseException as error:  # every executor has errors of its own for workers that were lost
            if isinstance(error, KeyboardInterrupt | SystemExit):
                raise
            self._lost(pool, error, trouble)
            return None

    def _wait(self, pool: Pool, task: Waiting) -> None:
        """Wait until a task has ended; MachineError if the executor cannot go on for too long."""
        ended = threading.Event()
        task.add_done_callback(lambda _task: ended.set())
        since_s: float | None = None
        while not ended.wait(_LOOK_EVERY_S):
            if self._stop.is_set():
                raise InterruptedByUserError("stopped")
            if pool.is_stranded(task):
                raise _StrandedError("all workers that it was meant for have gone")
            problem = pool.trouble(task)
            if problem is None:
                since_s = None
                continue
            since_s = time.monotonic() if since_s is None else since_s
            self._say_once(f"{problem}; waiting for up to {PATIENCE_S / 60:.0f} minutes")
            if time.monotonic() - since_s > PATIENCE_S:
                raise MachineError(problem, "start workers, or run here: --executor local")

    def _lost(self, pool: Pool, error: BaseException, trouble: "_Trouble") -> None:
        """Wait until the executor takes tasks again; MachineError if that takes too long, or was tried too often."""
        trouble.lost += 1
        what = f"{type(error).__name__}: {error}".strip(": ")
        if self._stop.is_set():
            raise InterruptedByUserError("stopped")
        began_s, problem = time.monotonic(), pool.revive()
        if problem is None and trouble.lost > LOST_AT_MOST:
            raise MachineError(
                f"{self._pool.title}: a trial was lost {trouble.lost} times with its worker, at last by {what}",
                "workers need the same Longlook as this machine (docs/guide/executors.md); or run here: "
                "--executor local",
            ) from error
        while problem is not None:
            self._say_once(f"{problem}; waiting for up to {PATIENCE_S / 60:.0f} minutes")
            if time.monotonic() - began_s > PATIENCE_S:
                raise MachineError(problem, "start it again, or run here: --executor local") from error
            if self._stop.wait(_LOOK_EVERY_S):
                raise InterruptedByUserError("stopped")
            problem = pool.revive()
            trouble.lost = 0 if problem is None else trouble.lost
        self._say_once(f"handed in again: a worker or the scheduler was lost ({what})")

    def _refused(self, worker: Worker, reason: str, trouble: "_Trouble") -> None:
        """Pause before a batch is handed in again; MachineError if no worker is left, or too many have refused it."""
        trouble.refused += 1
        there_are_others = self._pool.avoid(worker.address)
        with self._lock:
            most = REFUSED_BESIDE_OTHERS if self._ran else REFUSED_AT_MOST
        if not there_are_others or trouble.refused >= most:
            raise MachineError(f"worker {worker} refuses the trials: {reason}", _refusal_hint(worker))
        self._say_once(f"worker {worker} refuses the trials, others go on: {reason}")
        if self._stop.wait(min(_LONGEST_PAUSE_S, 0.05 * 2**trouble.refused)):
            raise InterruptedByUserError("stopped")

    @contextmanager
    def _unpacked(self, jobs: Sequence[Job], packed: bytes) -> Iterator[Path]:
        """Unpack folders beside the jobs' own; of damaged ones less is there than should be."""
        parent = Path(jobs[0].folder).parent
        place = Path(tempfile.mkdtemp(prefix=".partial-remote-", dir=parent))
        try:
            try:
                unpack(BytesIO(packed), place, _LARGEST_FOLDER_BYTES * len(jobs))
            except InputError as error:
                self._say_once(error.message)
            yield place
        except OSError as error:
            raise_if_full(parent, error)
            raise
        finally:
            shutil.rmtree(place, ignore_errors=True)

    def _check(self, jobs: Sequence[Job], runs: Sequence[Run], place: Path, worker: Worker) -> None:
        """Run a sample again on this machine; DistrustedWorkerError if a file of an exact trial differs."""
        if not self._sample.chooses(jobs, runs, worker.host):
            return
        with tempfile.TemporaryDirectory(prefix=".partial-remote-", dir=place.parent) as own:  # no worker fills it
            self._compare(jobs, runs, place, Path(own), worker)

    def _compare(self, jobs: Sequence[Job], runs: Sequence[Run], place: Path, own: Path, worker: Worker) -> None:
        folders = [own / str(number) for number in range(len(jobs))]
        for folder in folders:
            folder.mkdir(parents=True)
        own_jobs = [replace(job, folder=str(folder)) for job, folder in zip(jobs, folders, strict=True)]
        own_runs = self._local.run_together(own_jobs)
        with self._lock:
            self._again += len(jobs)
        for number, (job, run, own_run) in enumerate(zip(jobs, runs, own_runs, strict=True)):
            if own_run.outcome is Outcome.INVALID:  # of this machine, so that it says nothing of the worker
                self._say_once(f"a trial could not run again here, and is not compared: {own_run.reason}")
                continue
            is_exact = run.exact or own_run.exact  # a worker's word alone would switch the check off
            difference = first_difference(place / str(number), folders[number]) if is_exact else None
            if difference is not None:
                self._distrust(job, worker, difference)

    def _distrust(self, job: Job, worker: Worker, difference: str) -> None:
        with self._lock:
            self._distrusted.add(worker.host)
        raise self._distrusted_error(worker, f"trial {job.trial.id} ({_label(job)}): {difference}")

    def _distrusted_error(self, worker: Worker, what: str) -> DistrustedWorkerError:
        return DistrustedWorkerError(
            f"worker {worker} returned what does not repeat here: {what}; nothing that {worker.host} ran in this "
            "session counts",
            f"leave {worker.host} out, or find out what differs there: its memory, its libraries, its Longlook",
            self._setting,
            lambda: tuple(self._delivered.get(worker.host, ())),
        )

    def _deliver(self, jobs: Sequence[Job], place: Path, worker: Worker) -> None:
        """Move the files of jobs into the jobs' folders, and remember which machine made them."""
        with self._lock:
            if worker.host in self._distrusted:
                raise self._distrusted_error(worker, "an earlier trial")
            self._ran[replace(worker, pid=0, address="")] += len(jobs)
            self._delivered.setdefault(worker.host, []).extend(jobs)
        for number, job in enumerate(jobs):
            for path in (place / str(number)).iterdir():
                path.rename(Path(job.folder) / path.name)

    def _say_once(self, text: str) -> None:
        with self._lock:
            is_new = text not in self._said
            self._said.add(text)
        if is_new:
            self.say(text)


class _StrandedError(Exception):
    """A task waits for workers that have gone."""


class _Trouble:
    """How often one batch was lost, and refused."""

    def __init__(self) -> None:
        self.lost = self.refused = 0


def _verified(folder: Path, job: Job) -> Run:
    """Return the result in a worker's folder; InputError if it is not the job's, or not as it was sealed."""
    try:
        run = codec.decode(Run, files.read_json(folder / "run.json"))
        wrong = altered_files(folder, run.artefacts, ())
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"trial {job.trial.id} has no result that can be read: {error}") from error
    if wrong:
        raise InputError(f"trial {job.trial.id} is not as it was sealed: {wrong[0]}")
    digests = {role: program.digest for role, program in job.programs.items()}
    if (run.trial_id, run.attempt, dict(run.programs)) != (job.trial.id, job.attempt, digests):
        raise InputError(f"it answered for trial {run.trial_id}, attempt {run.attempt}, with {dict(run.programs)}")
    return run


def _reason(answer: Answer) -> str:
    if isinstance(answer, Refused):
        differing = (f"{name} is {there}, and {wanted} here" for name, (wanted, there) in answer.differs.items())
        return f"it could not give the same bytes: {'; '.join(differing)}"
    if isinstance(answer, Unable):
        return answer.message + (f" ({answer.hint})" if answer.hint else "")
    return "it lacks what it was sent"


def _refusal_hint(worker: Worker) -> str:
    return f"make {worker.host} the same as this machine (docs/guide/executors.md), or run here: --executor local"


def _label(job: Job) -> str:
    return f"{job.trial.study}/{job.trial.cell_id}/{job.trial.arm}"
