"""Shards into the run folder of the whole study: what the study would have written if one machine had run it.

The stages of the engine are gone through once more (`execute.in_stages`), and every trial that they ask for comes from
its shard instead of an engine. So strata are planned, and rounds stop, by the same code and the same trials as without
shards. A shard that stops by itself runs more rounds than that, never fewer (`analysis.deciding_apart`).
"""

import shutil
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

from longlook.analysis import deciding_apart
from longlook.core import RUN_RECORD, InputError, LonglookError, RunFolder, Trial
from longlook.core import copy as copy_file
from longlook.pipeline.analyse import Result, analyse_run
from longlook.pipeline.budget import Budget, Limits
from longlook.pipeline.evidence import described
from longlook.pipeline.execute import in_stages
from longlook.pipeline.merge_manifest import components_of, manifest_of
from longlook.pipeline.open_run import lay_files, open_adopted
from longlook.pipeline.options import Observer
from longlook.pipeline.sbom import keep_components
from longlook.pipeline.shard_check import OpenShard, check_alike, missing_numbers
from longlook.pipeline.shards import read_whole
from longlook.pipeline.strata import read_strata
from longlook.run import DIVERGENT, Tally, Verification, load, save
from longlook.study import cells_in, deal


def merge_runs(runs: Sequence[Path], out: Path, observer: Observer, *, partial: bool = False) -> Result:
    """Write the run folder `out` of the study whose shards are in the folders `runs`, with its report.

    With `partial` shards may be missing: the run then has the cells of the others. Raise InputError if the
    folders are not finished shards of one plan, run alike, each once, and LonglookError if trials are not as they were
    sealed. Nothing of `out` then stays, and the shards are as they were.
    """
    RunFolder.refuse_taken(out)
    with ExitStack() as stack:
        shards = [OpenShard.of(stack.enter_context(open_adopted(path))) for path in _distinct(runs)]
        check_alike(shards, partial=partial)
        shards.sort(key=lambda shard: shard.note.number)
        for shard in shards:
            _refuse_altered(shard.folder)
            if out.resolve().is_relative_to(shard.folder.path.resolve()):
                raise InputError(f"--out {out} is inside of the shard {shard.folder.path}", "choose a folder beside it")
        return _merge(shards, out, observer)


def _distinct(runs: Sequence[Path]) -> Sequence[Path]:
    seen: dict[Path, Path] = {}
    for path in runs:
        if (first := seen.get(path.resolve())) is not None:
            raise InputError(f"{path} is named twice" + (f", also as {first}" if first != path else ""), "name it once")
        seen[path.resolve()] = path
    return runs


def _refuse_altered(folder: RunFolder) -> None:
    """Raise LonglookError if trials of a shard are not as they were sealed."""
    wrong = folder.added() | folder.altered(trial.id for trial in folder.plan.trials)
    if wrong:
        hint = f"the shard's command with --resume {folder.path} in place of --out runs them again, or copy it anew"
        raise LonglookError(f"{folder.path}: {described(wrong)}", hint)


def _merge(shards: Sequence[OpenShard], out: Path, observer: Observer) -> Result:
    first = shards[0]
    study, whole = first.folder.study, read_whole(first.folder)
    missing = missing_numbers(shards)
    dealt = deal(whole, first.note.of)
    owners = {cell_id: shard for shard in shards for cell_id in dealt[shard.note.number - 1]}
    plan = cells_in(whole, frozenset(owners)) if missing else whole
    deciding = deciding_apart(study, first.note.of_cells) if missing else study
    folder = RunFolder.create(out, study, plan, manifest_of(shards, plan, missing))
    try:
        with folder:
            lay_files(plan, folder)
            keep_components(folder, components_of(shards))
            source = _Shards(owners, folder, Tally(len(plan.trials), observer.progress))
            observer.planned(plan, 0)
            in_stages(
                plan,
                folder,
                source.tally,
                source.run,
                source.run_again,
                first.engine,
                Limits(deciding, Budget(None)),
                observer,
            )
            source.say_what_is_left(shards, observer)
            _join_verifications([shard.folder for shard in shards], folder, observer)
            return analyse_run(folder, observer)
    except BaseException:
        shutil.rmtree(out, ignore_errors=True)  # it was not there, or empty; the shards have everything
        raise


class _Shards:
    """The trials of all shards, in the place of an engine."""

    def __init__(self, owners: Mapping[str, OpenShard], folder: RunFolder, tally: Tally) -> None:
        self._owners, self._folder = owners, folder
        self.tally = tally
        self._taken: set[str] = set()

    def run(self, trials: Iterable[Trial]) -> None:
        """Copy every attempt at these trials, and seal it; InputError if a shard has not finished one."""
        for trial in trials:
            shard = self._owners[trial.cell_id].folder
            attempts = list(shard.attempts(trial.id))
            if shard.result(trial.id) is None:
                raise InputError(
                    f"{shard.path} is not finished: it has no trial {trial.id} ({trial.arm} in {trial.cell_id})",
                    f"its command with --resume {shard.path} in place of --out goes on",
                )
            if trial.id in self._taken:  # a cell of other labels may be the same trial
                continue
            self._taken.add(trial.id)
            for path, run in attempts:
                superseded = path.name != trial.id
                partial = self._folder.begin(trial, run.attempt)
                for name in (*run.artefacts, RUN_RECORD):
                    copy_file(path / name, partial / name)
                self._folder.finish(partial, run, superseded=superseded)
                self.tally.add(trial, run, retried=superseded, cached=True, took_s=0.0)

    def run_again(self, trials: Sequence[Trial]) -> dict[str, str]:
        """Return what differed when the shards ran trials again (`strata.json`)."""
        known = {
            name: what
            for shard in {id(shard): shard for shard in self._owners.values()}.values()
            for cell in read_strata(shard.folder)
            for name, what in cell.repeated.items()
        }
        asked = [trial.id for trial in trials]
        if lacking := [name for name in asked if name not in known]:
            folder = self._owners[next(trial.cell_id for trial in trials if trial.id == lacking[0])].folder
            raise InputError(
                f"{folder.path}: its strata.json does not say that trial {lacking[0]} ran again",
                f"its command with --resume {folder.path} in place of --out goes on",
            )
        return {name: known[name] for name in asked}

    def say_what_is_left(self, shards: Sequence[OpenShard], observer: Observer) -> None:
        """Say how many trials the shards ran that the whole study does without."""
        ran = {trial.id for shard in shards for trial in shard.folder.plan.trials if shard.folder.result(trial.id)}
        if left := len(ran - self._taken):
            observer.say(f"{left} trials of the shards are left out: beside the other cells theirs are decided earlier")


def _join_verifications(shards: Sequence[RunFolder], folder: RunFolder, observer: Observer) -> None:
    """Write `verification.json` if every shard was verified alike, with the repeats that differed."""
    found = [load(shard) for shard in shards]
    there = [each for each in found if each is not None]
    if not there:
        return
    if len(there) < len(found) or len({each.repeats for each in there}) > 1:
        observer.say("not every shard was run with the same --verify, so the merged run has no verification")
        return
    checked = {trial.trial_id: trial for each in there for trial in each.trials}
    kept = [checked[trial.id] for trial in folder.plan.trials if trial.id in checked and folder.result(trial.id)]
    save(folder, Verification(there[0].repeats, tuple(kept)))
    for shard in shards:
        if (shard.path / DIVERGENT).is_dir():
            shutil.copytree(shard.path / DIVERGENT, folder.path / DIVERGENT, dirs_exist_ok=True)
