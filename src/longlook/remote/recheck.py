"""Sampled execution of remote trials on this machine: a worker whose bytes differ is found, and not believed."""

import hashlib
import secrets
import threading
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from pathlib import Path

from longlook.core import Job, MachineError, Run, files


class DistrustedWorkerError(MachineError):
    """A worker's trial differs from the same trial here. `jobs` returns all that the worker's machine delivered.

    None of them counts: neither in the run folder nor in the cache of trials, whose keys have `setting`.
    """

    def __init__(
        self, message: str, hint: str | None, setting: Mapping[str, str], jobs: Callable[[], Sequence[Job]]
    ) -> None:
        """Take the message and the hint, the engine's setting, and what returns the jobs."""
        super().__init__(message, hint)
        self.setting, self.jobs = setting, jobs


class Sample:
    """Chooses the trials that run again: a share of all, and the first exact trials of each machine.

    A worker cannot know which: the choice is a digest of the trial with a secret of this session.
    """

    def __init__(self, share: Fraction) -> None:
        self._share = share
        self._secret = secrets.token_bytes(32)
        self._seen: set[str] = set()
        self._lock = threading.Lock()

    def chooses(self, jobs: Sequence[Job], runs: Sequence[Run], host: str) -> bool:
        """Return whether jobs that ran together on a machine run again here.

        A machine is new until some of its trials say that they are exact: whether that is so shows here alone.
        """
        if not self._share:
            return False
        with self._lock:
            is_first = host not in self._seen
            if any(run.exact for run in runs):
                self._seen.add(host)
        name = "".join(f"{job.trial.id}.{job.attempt}" for job in jobs)
        drawn = int.from_bytes(hashlib.sha256(self._secret + name.encode()).digest()[:8], "big")
        return is_first or drawn < self._share * (1 << 64)


def first_difference(there: Path, here: Path) -> str | None:
    """Return the first file, by name, that differs between two folders, with both digests; None if none does."""
    digests = [{name: files.digest(folder / name) for name, _ in files.below(folder)} for folder in (there, here)]
    for name in sorted(digests[0] | digests[1]):
        of_worker, own = (found.get(name, "missing") for found in digests)
        if of_worker != own:
            return f"{name} is {of_worker[:16]} there and {own[:16]} here"
    return None
