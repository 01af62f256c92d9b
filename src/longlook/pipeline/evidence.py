"""The reactions of commands to a run whose files differ from their seals (docs/reference/run-folders.md)."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager

from longlook.core import InputError, LonglookError, RunFolder, Trial, round_name
from longlook.pipeline.options import Observer
from longlook.remote import DistrustedWorkerError
from longlook.run import TrialCache

ALTERED = "altered"
"""The key of the manifest for what an analysis counted out: trial → what is not as it was sealed."""

_SHOWN = 3


def set_aside_altered(folder: RunFolder, trials: Iterable[Trial], observer: Observer) -> None:
    """Move trials that differ from their seals out of the way, and say so: they run again. Foreign files among them are
    moved, too.
    """
    for name, what in folder.added().items():
        observer.say(f"{folder.trials / name} is not counted ({what}), and is now {folder.move_aside(name)}")
    by_id = {trial.id: trial for trial in trials}
    for trial_id, what in folder.altered(by_id).items():
        moved = folder.set_aside(trial_id)
        kept = f" (kept in {', '.join(map(str, moved))})" if moved else ""
        observer.say(f"{_label(by_id[trial_id])} runs again{kept}: not as it was sealed: {what}")


@contextmanager
def distrusted_set_aside(folder: RunFolder, observer: Observer) -> Iterator[None]:
    """Let no trial count of a machine whose trials do not repeat here: they leave the run folder and the cache."""
    try:
        yield
    except DistrustedWorkerError as error:
        cache = TrialCache(error.setting)
        jobs = {job.trial.id: job for job in error.jobs()}
        for job in jobs.values():
            cache.forget(job)
        finished = [trial_id for trial_id in jobs if folder.result(trial_id) is not None]
        for trial_id in finished:
            folder.set_aside(trial_id)
        observer.say(
            f"{len(finished)} trials of that machine are not counted, and are now in {folder.path / 'altered'}"
        )
        raise


def refuse_altered(folder: RunFolder, trials: Iterable[Trial]) -> None:
    """Raise LonglookError if trials are not as they were sealed, since no repeat can prove what they say."""
    altered = _not_as_sealed(folder, trials)
    if altered:
        raise LonglookError(
            f"--verify: {described(altered)}",
            "without --verify, --resume runs them again; longlook report shows the run without them",
        )


def note_altered(folder: RunFolder, observer: Observer) -> dict[str, str]:
    """Return what an analysis counts out, by name: trials that are not as they were sealed, and what was added among
    them; say and note it.
    """
    trials = {trial.id: trial for trial in folder.plan.trials}
    altered = _not_as_sealed(folder, trials.values())
    for name, what in altered.items():
        where = _label(trials[name]) if name in trials else str(folder.trials / name)
        observer.say(f"{where} is counted out: not as it was sealed: {what}")
    if altered or ALTERED in folder.manifest:
        folder.note(**{ALTERED: altered})
    return altered


def check_tables(folder: RunFolder, files: Iterable[str]) -> None:
    """Raise InputError if one of an analysis' own `files` is not as it was sealed; trials are not looked at."""
    for what in filter(None, map(folder.broken, files)):
        again = f"longlook report {folder.path} writes it again"
        raise InputError(f"{folder.path}: {what} since the run was analysed", again)


def check_analysed(folder: RunFolder, files: Iterable[str]) -> None:
    """Raise InputError if an analysis no longer stands for what is there.

    Either a trial was altered since, or one of the analysis' own `files` was.
    """
    check_tables(folder, files)
    altered = _not_as_sealed(folder, folder.plan.trials)
    counted_out: Mapping[str, str] = folder.manifest.get(ALTERED, {})
    since = {trial_id: what for trial_id, what in altered.items() if trial_id not in counted_out}
    if since:
        raise InputError(
            f"{folder.path}: {described(since)}",
            f"longlook report {folder.path} counts them out; the run's command with --resume {folder.path} runs them "
            "again",
        )


def described(altered: Mapping[str, str]) -> str:
    """Return in a clause how many trials are not as they were sealed, and what is wrong with the first of them."""
    shown = [f"{trial_id}: {what}" for trial_id, what in altered.items()][:_SHOWN]
    more = f"; and {len(altered) - _SHOWN} more" if len(altered) > _SHOWN else ""
    be = "trial is" if len(altered) == 1 else "trials are"
    return f"{len(altered)} {be} not as sealed ({'; '.join(shown)}{more})"


def _not_as_sealed(folder: RunFolder, trials: Iterable[Trial]) -> dict[str, str]:
    """Return the trials that are not as they were sealed, and what was added among them, each with what is wrong."""
    return folder.added() | folder.altered(trial.id for trial in trials)


def _label(trial: Trial) -> str:
    where = ", ".join(f"{name}={level}" for name, level in trial.cell.items())
    return f"trial {trial.id} ({trial.arm} {round_name(trial.round)}, {where})"
