"""The count of a run's trials, and the real time that the rest of them will take."""

import threading
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from longlook.core import Run, Trial

Kind = tuple[str, str]
"""A cell and an arm: trials differ in their cost by little else."""


@dataclass(frozen=True)
class Progress:
    """One step of a run, for a display."""

    trial: Trial
    run: Run
    done: int
    total: int
    retried: bool  # rejected by a guard and about to be tried again
    cached: bool = False  # taken from the cache, not run
    left_s: float | None = None  # of real time, until all trials are done; None: no trial has run yet
    took_s: float = 0.0  # of real time that this attempt took one of the jobs


class Remaining:
    """Estimates the real time that a run's trials still take, from the trials that have run.

    A plan goes round by round, so each kind of trial is known after its first round. A trial of an unknown kind counts
    as much as the mean of the known ones. Every trial that waits is taken to run, although the cache may have it.
    """

    def __init__(self) -> None:
        self._waiting: Counter[Kind] = Counter()
        self._took_s: dict[Kind, float] = {}
        self._ran: Counter[Kind] = Counter()
        self._jobs = 1

    def expect(self, trials: Iterable[Trial], jobs: int) -> None:
        """Let these trials wait for `jobs` that run at once."""
        self._waiting.update(map(_kind, trials))
        self._jobs = jobs

    def finish(self, trial: Trial, took_s: float, *, cached: bool, again: bool) -> None:
        """Note an attempt's end, and the real time in s that it took one of the jobs; `again`: another one follows."""
        kind = _kind(trial)
        if not again:
            self._waiting[kind] = max(0, self._waiting[kind] - 1)
        if not cached:
            self._took_s[kind] = self._took_s.get(kind, 0.0) + took_s
            self._ran[kind] += 1

    def estimate_s(self, left: int) -> float | None:
        """Return the real time in s until `left` trials are done; None if none has run yet.

        Trials that no call of `expect` named are taken to be of all known kinds alike.
        """
        if not self._ran:
            return None
        left = max(0, left)
        means = {kind: self._took_s[kind] / count for kind, count in self._ran.items()}
        usual_s = sum(means.values()) / len(means)
        waiting = self._waiting.total()
        waiting_s = sum(count * means.get(kind, usual_s) for kind, count in self._waiting.items())
        if left < waiting:
            waiting_s *= left / waiting
        beyond_s = max(0, left - waiting) * usual_s
        return (waiting_s + beyond_s) / max(1, min(self._jobs, left))


@dataclass
class Tally:
    """The count of finished trials, shared by everything that runs a study's trials."""

    total: int
    report: Callable[[Progress], None]
    _done: set[str] = field(default_factory=set)
    _remaining: Remaining = field(default_factory=Remaining)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def begin(self, missing: Iterable[Trial], finished: Iterable[Trial], jobs: int) -> None:
        """Expect the missing trials next, `jobs` at once, and count trials that an earlier session finished."""
        with self._lock:
            self._done.update(trial.id for trial in finished)
            self._remaining.expect(missing, jobs)

    def add(self, trial: Trial, run: Run, *, retried: bool, cached: bool, took_s: float) -> None:
        """Count an attempt, and the real time in s that it took one of the jobs, and report it."""
        with self._lock:
            self._remaining.finish(trial, took_s, cached=cached, again=retried)
            if not retried:
                self._done.add(trial.id)
            done = len(self._done)
            left_s = self._remaining.estimate_s(self.total - done)
            self.report(Progress(trial, run, done, self.total, retried, cached, left_s, took_s))

    def leave_out(self, count: int) -> None:
        """Expect `count` trials fewer: their cells are decided."""
        with self._lock:
            self.total -= count


def _kind(trial: Trial) -> Kind:
    return trial.cell_id, trial.arm
