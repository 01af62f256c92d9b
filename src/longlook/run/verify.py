"""Run finished trials again and compare: the proof that a trial in virtual time is a function of what determines it."""

import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from longlook.core import (
    EVENTS,
    TIMELINE,
    Engine,
    InputError,
    Outcome,
    Run,
    RunFolder,
    Trial,
    codec,
    files,
    find_metric,
    write_json,
)
from longlook.run.execute import Provisions, batches, in_parallel, make_job
from longlook.run.verification import Checked, Repeat, TrialDigest, Verification, check, differences
from longlook.timeline import full_timeline

RESULT = "verification.json"
DIVERGENT = "divergent"
_LOAD = "page_load_time"


def refuse_unrepeatable(engine: Engine, trials: Sequence[Trial]) -> None:
    """Raise InputError if an engine's trials cannot be expected to repeat; the engine is entered."""
    if engine.setting() is None:
        raise InputError(
            f"--verify: engine {engine.name} measures in real time: none of its {len(trials)} trials repeats exactly",
            "leave --verify out, or run in virtual time: --engine virtual",
        )


def trial_digest(folder: Path, trial: Trial, run: Run, metrics: Iterable[str]) -> TrialDigest:
    """Return a finished trial as digests and values."""
    names = sorted(name for name, _ in files.below(folder) if name not in (TIMELINE, EVENTS))
    digests = {name: files.digest(folder / name) for name in names}
    if run.outcome is not Outcome.OK:
        return TrialDigest(run.outcome, digests, None, {}, None)
    timeline = full_timeline(folder, trial, run, metrics)
    values = {name: find_metric(name).measure(timeline) for name in {*metrics, _LOAD}}
    samples = {name: values[name] for name in metrics}
    return TrialDigest(run.outcome, digests, timeline.digest(), samples, values[_LOAD])


@dataclass(frozen=True)
class _Kept:
    trial: Trial
    run: Run
    trial_digest: TrialDigest


class Verifier:
    """Runs the trials of one engine `repeats` times more, `jobs` calls at once, and never from the cache."""

    def __init__(
        self, folder: RunFolder, engine: Engine, provisions: Provisions, metrics: Sequence[str], repeats: int, jobs: int
    ) -> None:
        self._folder, self._engine, self._provisions = folder, engine, provisions
        self._metrics, self._repeats, self._jobs = metrics, repeats, min(jobs, engine.parallel)
        self._kept: dict[str, _Kept] = {}

    def verify(self, trials: Iterable[Trial], report: Callable[[], None]) -> list[Checked]:
        """Check every finished trial; `report` is called after each repeat of each."""
        finished = [trial for trial in trials if self._folder.result(trial.id) is not None]
        work = [
            (number, batch)
            for number in range(1, self._repeats + 1)
            for batch in batches(finished, in_batches=self._engine.batches)
        ]
        found: dict[str, dict[int, Repeat]] = {trial.id: {} for trial in finished}

        def run(item: tuple[int, tuple[Trial, ...]]) -> None:
            number, batch = item
            for trial, repeat in self._repeat(number, batch):
                found[trial.id][number] = repeat
                report()

        in_parallel(work, run, self._jobs, self._engine.interrupt)
        return [self._checked(trial, found[trial.id]) for trial in finished]

    def _repeat(self, number: int, batch: Sequence[Trial]) -> Iterator[tuple[Trial, Repeat]]:
        kept = [self._keep(trial) for trial in batch]
        with self._scratch(number, batch) as folders:
            traces = self._folder.trace_files()
            jobs = [
                make_job(each.trial, each.run.attempt, str(path.resolve()), self._provisions, traces)
                for each, path in zip(kept, folders, strict=True)
            ]
            for before, run, path in zip(kept, self._engine.run_together(jobs), folders, strict=True):
                if run.outcome is Outcome.INVALID:  # nothing that a program of the trial did
                    reason = run.reason or "the trial was not valid"
                    yield before.trial, Repeat((), run.outcome, None, unable=reason)
                    continue
                again = trial_digest(path, before.trial, run, self._metrics)
                differing = differences(before.trial_digest, again)
                if differing and before.run.exact:
                    path.rename(self._divergent(before.trial, number))
                yield before.trial, Repeat(differing, run.outcome, again.load_s)

    @contextmanager
    def _scratch(self, number: int, batch: Sequence[Trial]) -> Iterator[list[Path]]:
        folders = [self._folder.scratch(f"verify{number}-{trial.id}") for trial in batch]
        try:
            yield folders
        finally:
            for folder in folders:
                shutil.rmtree(folder, ignore_errors=True)

    def _keep(self, trial: Trial) -> _Kept:
        if trial.id not in self._kept:  # two threads may both compute it: the same
            run = self._folder.result(trial.id)
            if run is None:
                raise RuntimeError(f"trial {trial.id} is not finished")
            path = self._folder.trials / trial.id
            self._kept[trial.id] = _Kept(trial, run, trial_digest(path, trial, run, self._metrics))
        return self._kept[trial.id]

    def _checked(self, trial: Trial, repeats: dict[int, Repeat]) -> Checked:
        kept = self._kept[trial.id]
        ordered = [repeats[number] for number in sorted(repeats)]
        checked = check(trial, kept.run.attempt, kept.trial_digest, ordered, exact=kept.run.exact)
        if not checked.diverged:
            return checked
        first, *others = [self._divergent(trial, number) for number in sorted(repeats) if repeats[number].differing]
        for other in others:
            shutil.rmtree(other)
        target = self._folder.path / DIVERGENT / trial.id
        first.rename(target)
        return replace(checked, divergent=str(target.relative_to(self._folder.path)))

    def _divergent(self, trial: Trial, number: int) -> Path:
        """Return where a diverging repeat is until all are done; repeats end in any order, and the first is kept."""
        place = self._folder.path / DIVERGENT
        place.mkdir(exist_ok=True)
        return place / f".{trial.id}-{number}"


def forget(folder: RunFolder) -> None:
    """Remove the files of an earlier verification."""
    shutil.rmtree(folder.path / DIVERGENT, ignore_errors=True)
    (folder.path / RESULT).unlink(missing_ok=True)


def save(folder: RunFolder, verification: Verification) -> None:
    """Write `verification.json`."""
    write_json(folder.path / RESULT, codec.encode(verification))


def load(folder: RunFolder) -> Verification | None:
    """Return the verification of a run; None if it has none."""
    path = folder.path / RESULT
    try:
        return codec.decode(Verification, files.read_json(path))
    except FileNotFoundError:
        return None
    except ValueError as error:
        raise InputError(f"{path}: {error}", "remove it, or verify again with --resume RUN --verify N") from error
