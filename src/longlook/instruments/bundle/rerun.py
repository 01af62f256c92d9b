"""Trials that run again in virtual time, compared with the digests of a run: no raw file of the run is needed."""

import shutil
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from longlook.core import RUN_RECORD, Engine, Outcome, Run, RunFolder, Trial, codec, files
from longlook.instruments.bundle.setup_moment import setup_shift_ns
from longlook.run import LINK_LOG, FirstDifference, Provisions, batches, compare, in_parallel, make_job

_CONTEXT = 0


@dataclass(frozen=True)
class Again:
    """A trial that ran again. `differing` are the files that are not the same, nearest to the cause first; empty: none.

    `packet` is the first packet of the link's log that differs, if both logs are there. `other_programs` says that the
    record differs in nothing but the programs' digests. `setup_ns` is how much longer the setup took, if nothing else
    differs: every packet and every line is the same. `unable` is the reason if it could not run here.
    """

    trial: Trial
    differing: tuple[str, ...]
    packet: FirstDifference | None = None
    other_programs: bool = False
    setup_ns: int = 0
    unable: str = ""

    @property
    def is_same(self) -> bool:
        """Whether every file is the same, or all but the moment at which the setup ended."""
        return not (self.differing or self.unable)


class Rerunner:
    """Runs trials of a run folder again, `jobs` calls at once, in scratch folders below `place`."""

    def __init__(
        self, folder: RunFolder, engine: Engine, provisions: Provisions, jobs: int, place: Path, keep: Path | None
    ) -> None:
        self._folder, self._engine, self._provisions = folder, engine, provisions
        self._jobs, self._place, self._keep = min(jobs, engine.parallel), place, keep
        self._found: dict[str, Again] = {}
        self._lock = threading.Lock()

    def run(self, trials: Sequence[Trial], report: Callable[[int], None]) -> list[Again]:
        """Return each trial with what differs; `report` gets the number of trials that are done."""

        def again(batch: tuple[Trial, ...]) -> None:
            found = self._batch(batch)
            with self._lock:
                self._found |= {each.trial.id: each for each in found}
                report(len(self._found))

        in_parallel(batches(trials, in_batches=self._engine.batches), again, self._jobs, self._engine.interrupt)
        return [self._found[trial.id] for trial in trials]

    def _batch(self, batch: Sequence[Trial]) -> list[Again]:
        kept = [_finished(self._folder, trial) for trial in batch]
        places = [self._place / trial.id for trial in batch]
        for place in places:
            place.mkdir(parents=True)
        traces = self._folder.trace_files()
        jobs = [
            make_job(trial, run.attempt, str(place.resolve()), self._provisions, traces)
            for trial, run, place in zip(batch, kept, places, strict=True)
        ]
        runs = self._engine.run_together(jobs)
        found = [self._compared(*each) for each in zip(batch, kept, runs, places, strict=True)]
        for each, place in zip(found, places, strict=True):
            if self._keep is not None and not each.is_same:
                shutil.copytree(place, self._keep / each.trial.id, dirs_exist_ok=True)
            shutil.rmtree(place)
        return found

    def _compared(self, trial: Trial, kept: Run, again: Run, place: Path) -> Again:
        if again.outcome is Outcome.INVALID:  # nothing that a program of the trial did
            return Again(trial, (), unable=again.reason or "the trial was not valid")
        before = self._folder.trials / trial.id
        names = differing_artefacts(kept.artefacts, again.artefacts)
        if files.digest(before / RUN_RECORD) != files.digest(place / RUN_RECORD):
            others = codec.encode(replace(kept, programs={})) == codec.encode(replace(again, programs={}))
            if others:
                return Again(trial, (), other_programs=True)
            if names == (LINK_LOG,) and (shift_ns := setup_shift_ns(kept, again, place)) is not None:
                return Again(trial, (), setup_ns=shift_ns)
            names = (*names, RUN_RECORD)
        packet = None
        if LINK_LOG in names and (before / LINK_LOG).is_file():
            packet = compare(before, place, _CONTEXT).trials[0].first
        return Again(trial, names, packet)


def _finished(folder: RunFolder, trial: Trial) -> Run:
    return codec.decode(Run, files.read_json(folder.trials / trial.id / RUN_RECORD))


def differing_artefacts(kept: Mapping[str, str], again: Mapping[str, str]) -> tuple[str, ...]:
    """Return the files that differ, or that one trial lacks: first the link's log, which no program writes."""
    names = {name for name in kept.keys() | again.keys() if kept.get(name) != again.get(name)}
    return tuple(sorted(names, key=lambda name: (name != LINK_LOG, name)))
