"""Engine `virtual`: it runs every trial in a guest of its own whose clock runs on virtual time
(docs/explanation/virtual-time.md).

`guest_run` shows how a guest is run, from its request to its result. `instruments.calibrate` boots guests by it too.

Entry points: `VirtualEngine`, `guest_run.run_guest`, `probe.find_guest`, `bundle.make_bundle`.
"""

import json
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Self

from longlook.core import (
    Job,
    LonglookError,
    Run,
    code_digest,
    codec,
    endpoints_of,
    file_digest,
    files,
    registry,
    usable_cpus,
)
from longlook.engines.lost_run import lost_run
from longlook.engines.virtual.boot import CONSOLE, BootResult, Guest
from longlook.engines.virtual.break_out import attacks, judged
from longlook.engines.virtual.bundle import make_bundle
from longlook.engines.virtual.guest_run import GuestRun, run_guest
from longlook.engines.virtual.probe import fence_note, find_guest, note_on
from longlook.engines.virtual.watch import SPIN_TIMEOUT
from longlook.engines.virtual.watch import wall_limit_s as usual_wall_limit_s
from longlook.lab import ENGINE, digests, raise_if_full, seal

_GUEST = "longlook.lab.guest"
_GUEST_CODE = (_GUEST, "longlook.lab.laboratory")
"""The modules that a guest runs, the second from its first trial on."""
_LARGEST_RUN_BYTES = 64 << 20  # of a `run.json`, which has a digest for each of 20,000 files at most
_SPIN_HINT = (
    f"if the program computes for long, raise {SPIN_TIMEOUT}; if it waits busily, set busy_waits in its Stack: its "
    "trials then run where CPU takes time, inexactly; --engine live runs it in real time (docs/guide/debugging.md)"
)
_LOST_HINT = "see console.log, the guest's console; if this happens again, report it with that file"


class VirtualEngine:
    """Boots a guest for each call; several threads may call it at once.

    `wall_limit_s` is the real time that one trial may take, the first of a guest with the boot (default:
    LONGLOOK_WALL_LIMIT_S, or 900); the time limit of a study is virtual time.
    """

    name = ENGINE
    batches = True

    def __init__(self, wall_limit_s: float | None = None) -> None:
        self.wall_limit_s = wall_limit_s or usual_wall_limit_s()
        self._guest: Guest | None = None
        self._bundle: str | None = None
        self._bundling = threading.Lock()
        self._stop = threading.Event()

    def setting(self) -> Mapping[str, str]:
        """Return the digests or versions of the kernel, the agent and Python."""
        guest = self._entered()
        return {
            "engine": ENGINE,
            "kernel": file_digest(Path(guest.kernel)),
            "memory": guest.memory,
            "time": guest.time,
            "userspace": guest.userspace,
            "agent": agent_digest(),
            "python": sys.version,
        }

    def notes(self) -> Sequence[str]:
        """Return how guests run their programs, and what confines them, if either is not the usual way."""
        guest = self._entered()
        return tuple(note for note in (note_on(guest), fence_note(guest)) if note is not None)

    def interrupt(self) -> None:
        """Kill every guest."""
        self._stop.set()

    @property
    def parallel(self) -> int:
        """Return how many guests can run at once without sharing a CPU."""
        return len(usable_cpus())

    def __enter__(self) -> Self:
        self._guest = find_guest()
        self._bundle = None  # made when a guest is needed: a run from the cache needs none
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._guest = None

    def run(self, job: Job) -> Run:
        """Run one trial in a guest of its own."""
        return self.run_together([job])[0]

    def run_together(self, jobs: Sequence[Job]) -> list[Run]:
        """Run trials one after another in one guest, and so with one session client.

        Trials with programs that wait busily run in a second guest, where CPU takes time.
        """
        guest = self._entered()
        busy = [job for job in jobs if _waits_busily(job)]
        others = [job for job in jobs if job not in busy]
        runs = [*self._boot(guest, others), *self._boot(replace(guest, time="basic"), busy)]
        done = {run.trial_id: run for run in runs}
        return [done[job.trial.id] for job in jobs]

    def _boot(self, guest: Guest, jobs: Sequence[Job]) -> list[Run]:
        if not jobs:
            return []
        began_ns = time.time_ns()
        exchange = Path(tempfile.mkdtemp(prefix=".partial-boot-", dir=Path(jobs[0].folder).parent))
        try:
            run = GuestRun(_GUEST, self._made_bundle(), tuple(jobs), seed_of(jobs), self.wall_limit_s)
            result = run_guest(guest, run, exchange, self._stop)
            return _collected(exchange, jobs, result, began_ns)
        except OSError as error:
            raise_if_full(exchange.parent, error)
            raise
        finally:
            with suppress(OSError):
                files.remove_tree(exchange)

    def _made_bundle(self) -> str:
        with self._bundling:
            self._bundle = self._bundle or make_bundle(*_GUEST_CODE)
            return self._bundle

    def _entered(self) -> Guest:
        if self._guest is None:
            raise RuntimeError("the engine was not entered")
        return self._guest


def _waits_busily(job: Job) -> bool:
    stacks = [registry.stack(end.stack) for end in endpoints_of(job.trial)]
    return any(stack.busy_waits for stack in stacks)


def agent_digest() -> str:
    """Return the digest of the code that boots a guest and runs inside it, except the stacks' own files."""
    return code_digest("longlook.engines.virtual", *_GUEST_CODE)


def seed_of(jobs: Sequence[Job]) -> int:
    """Return the seed of all randomness in a guest, below 2**63: a function of its trials and their attempts alone.

    A trial with surgery has the seed of the same trial without it, so that nothing differs before the operation.
    """
    names = [(job.trial.randomness_of or job.trial.id, job.attempt) for job in jobs]
    return int(codec.content_hash(names, 15), 16)


def _taken(folder: Path, job: Job) -> Run | None:
    """Move a finished trial into its folder and return its result; None if the guest did not finish it.

    The result is None, too, if its files differ from the agent's seal in the guest: this trial alone is lost. Raise
    MachineError if the disk is full, and so its files are incomplete.
    """
    if not (folder / "run.json").exists():
        return None
    try:
        run = codec.decode(Run, json.loads(files.read_bytes(folder / "run.json", _LARGEST_RUN_BYTES)))
        whole = run.trial_id == job.trial.id and digests(folder) == run.artefacts
    except (LonglookError, ValueError, RecursionError, OSError):
        whole = False
    if not whole:  # the guest's kernel flushes after its programs exit, and write errors at that point reach nobody
        raise_if_full(folder)
        return None
    for path in folder.iterdir():
        path.rename(Path(job.folder) / path.name)
    return run


def _collected(exchange: Path, jobs: Sequence[Job], result: BootResult, began_unix_ns: int) -> list[Run]:
    """Move the finished trials into their folders, and return all results.

    A program that spins has broken a limit, so its trial has failed. It is the first that was not finished: trials
    behind it never began. If the guest took too much, or left something that no guest can leave, none of its files is
    believed.
    """
    runs: list[Run] = []
    at_work = True
    found = attacks(result.console)
    for number, job in enumerate(jobs):
        attack = found.get(number)
        run = None if result.broke else _taken(exchange / str(number), job)
        if run is None:
            failed = result.broke or (result.spun and at_work) or attack is not None
            run = _lost(job, result, began_unix_ns, failed=failed)
            at_work = False
        runs.append(_resealed(judged(run, attack), job, result.console) if attack else run)
    return runs


def _resealed(run: Run, job: Job, console: str) -> Run:
    """Seal a trial's folder again with another result, and with the console that is the reason for it."""
    folder = Path(job.folder)
    (folder / CONSOLE).write_text(console)
    sealed = replace(run, artefacts=digests(folder))
    seal(folder, sealed)
    return sealed


def _lost(job: Job, result: BootResult, began_unix_ns: int, *, failed: bool) -> Run:
    raise_if_full(Path(job.folder))
    (Path(job.folder) / CONSOLE).write_text(result.console)
    reason = result.reason or "the guest switched itself off before the trial was finished"
    hint = _SPIN_HINT if result.spun else _LOST_HINT
    return lost_run(job, ENGINE, reason, hint, began_unix_ns, result.wall_s, failed=failed)
