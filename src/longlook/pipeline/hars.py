"""The page loads of a run folder as HTTP Archives, a file for each trial."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from longlook.core import STATED, InputError, RunFolder, allowed
from longlook.explain import find_cells
from longlook.timeline import Written, har

_ALL = "all"


@dataclass(frozen=True)
class Exported:
    """The files that were written, and the trials without one: id → reason."""

    written: tuple[Written, ...]
    without: Mapping[str, str]


def export_hars(folder: RunFolder, out: Path, cells: Sequence[str] = (), arms: Sequence[str] = ()) -> Exported:
    """Write `CELL/ARM-round-NN.har` below `out` for the last attempt of each trial of some cells and arms (none: all).

    Nothing is run, and nothing in the run folder changes. Raise InputError for unknown cells or arms, if no trial
    has a page load, and if `out` cannot be written.
    """
    trials = folder.plan.trials
    known = sorted({trial.arm for trial in trials})
    if unknown := [arm for arm in arms if arm not in known]:
        raise InputError(f"--arm {unknown[0]}: not an arm of this run", allowed(unknown[0], known))
    wanted = set(find_cells(trials, cells or (_ALL,)))
    chosen = [trial for trial in trials if trial.cell_id in wanted and (not arms or trial.arm in arms)]
    altered = folder.altered(trial.id for trial in chosen)
    written: list[Written] = []
    without: dict[str, str] = {}
    for trial in chosen:
        if folder.result(trial.id) is None:
            without[trial.id] = "has not finished"
        elif trial.id in altered:
            without[trial.id] = f"is not as it was sealed: {altered[trial.id]}"
        elif (made := har.trial_har(folder.trials / trial.id)) is None:
            without[trial.id] = "its clients reported no object"
        else:
            number = "stated" if trial.round == STATED else f"{trial.round + 1:02d}"
            pattern = f"-{trial.stratum}-{trial.id}" if trial.stratum else ""  # a round then has several trials
            place = out / trial.cell_id / f"{trial.arm}-round-{number}{pattern}.har"
            _make(place.parent)
            written.append(Written(place, har.write(made, place), "requests"))
    if not written:
        reason = next(iter(without.values()), "there is no trial")
        raise InputError(f"{folder.path}: no trial has a page load: {reason}", "name a run of pages or downloads")
    return Exported(tuple(written), without)


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"--out {folder}: cannot be made: {error.strerror}", "name another folder") from error
