"""Estimates from the finished trials of a run before it has ended; nothing is written to its folder.

Trials are measured as copies in a scratch folder, since their tables are written beside them. The measurements go to
the cache, so the run's own analysis finds them there: they are made earlier, not twice.
"""

import shutil
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import pandas as pd

from longlook.analysis import MeasuredAttempt, estimate, integrate, measure_trials, samples_table, with_comparisons
from longlook.core import EVENTS, LEDGER, STATED, TIMELINE, Estimate, Outcome, Run, RunFolder, Study, Trial
from longlook.pipeline.strata import arrived_in, read_strata

_DERIVED = (TIMELINE, EVENTS, LEDGER)


@dataclass(frozen=True)
class SoFar:
    """The samples and estimates of the rounds that have ended.

    `rounds` has by cell the number of rounds whose trials are all finished. p values are corrected for the cells that
    have any, so that a verdict may change until the run has ended.
    """

    samples: pd.DataFrame
    estimates: list[Estimate]
    rounds: Mapping[str, int]
    cells: tuple[Mapping[str, str], ...]  # of the plan, in its order


class PartialRun:
    """A run that goes on: each look measures the trials that have ended since the last one."""

    def __init__(self, run: Path, scratch: Path) -> None:
        """Take the run's folder, and an empty folder for copies of trials."""
        self._run, self._scratch = run, scratch
        self._measured: dict[str, list[MeasuredAttempt]] = {}
        self._plan: tuple[int, tuple[Trial, ...]] = (0, ())
        self._folder = _Copies(run, scratch)
        self.study: Study = self._folder.study

    def measure_next(self, most: int) -> int:
        """Measure up to `most` trials that have ended and are not measured yet; return how many were.

        InputError if the run's files cannot be read just now.
        """
        self._folder = _Copies(self._run, self._scratch)  # which reads the seals of now
        waiting = [trial for trial in self._trials() if trial.id not in self._measured and self._has_ended(trial)]
        for trial in waiting[:most]:
            found = measure_trials(self._folder, self.study, [trial], lambda _done, _total: None)
            if found:
                self._measured[trial.id] = found
            self._folder.discard()
        return min(most, len(waiting))

    def so_far(self) -> SoFar:
        """Return the estimates from the trials that are measured."""
        trials = self._trials()
        study = replace(self.study, around={})  # as for `--rounds decide`: on which draws an effect depends is costly
        measured = [each for trial in trials for each in self._measured.get(trial.id, ())]
        samples = samples_table(study, with_comparisons(measured, study))
        if measured:
            strata = read_strata(self._folder)
            samples = integrate(samples, (each.trial for each in measured), strata, arrived_in(measured)).samples
        estimates = estimate(samples, study) if len(samples) else []
        cells = {trial.cell_id: trial.cell for trial in trials}
        return SoFar(samples, estimates, self._rounds(trials), tuple(cells.values()))

    def _trials(self) -> tuple[Trial, ...]:
        """Return the trials of the plan as it is now: it grows if losses are integrated."""
        changed = (self._run / "plan.json").stat().st_mtime_ns
        if changed != self._plan[0]:
            self._plan = changed, self._folder.plan.trials
        return self._plan[1]

    def _has_ended(self, trial: Trial) -> bool:
        return (self._folder.trials / trial.id).exists()

    def _rounds(self, trials: tuple[Trial, ...]) -> dict[str, int]:
        left = {(trial.cell_id, trial.round) for trial in trials if trial.id not in self._measured}
        of_all = {(trial.cell_id, trial.round) for trial in trials if trial.round != STATED}
        return Counter(cell for cell, number in of_all if (cell, number) not in left)


class _Copies(RunFolder):
    """A run folder whose attempts are handed out as copies in a scratch folder."""

    def __init__(self, path: Path, scratch: Path) -> None:
        super().__init__(path)
        self._scratch = scratch

    def attempts(self, trial_id: str) -> Iterator[tuple[Path, Run]]:
        """Yield every attempt in order with its copy, the final one last; only one that went well has files there."""
        for folder, run in super().attempts(trial_id):
            copy = self._scratch / folder.name
            if run.outcome is Outcome.OK:
                _copy(folder, copy, run)
            yield copy, run

    def discard(self) -> None:
        """Remove all copies."""
        for copy in self._scratch.iterdir():
            shutil.rmtree(copy)


def _copy(source: Path, target: Path, run: Run) -> None:
    target.mkdir(exist_ok=True)
    for name in ("run.json", *run.artefacts):
        if name not in _DERIVED:
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source / name, target / name, follow_symlinks=False)
