"""A shard's run folder: its own part of the plan, and also the whole plan, by which shards are put together again.

The part is `plan.json`, so that every command takes the folder for what it is, a run of some cells. `whole-plan.json`
is sealed and stays as it was made, also if losses are integrated and the part grows. The manifest says under `shard`
which part it is.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from longlook.analysis import deciding_apart
from longlook.core import InputError, Plan, RunFolder, Study, codec, files, write_json
from longlook.pipeline.options import RunOptions
from longlook.study import Shard, make_plan, part_of

WHOLE_PLAN = "whole-plan.json"
"""The file of a shard's run folder with the plan of all shards."""

NOTE = "shard"
"""The key of a shard's manifest."""

MERGED = "merged"
"""The key of the manifest of a run that was merged: `of` how many shards, which are `missing`, and each one's facts."""


@dataclass(frozen=True)
class ShardNote:
    """The note of a manifest about its shard: which part, and of what. `plan_hash` is the whole plan's."""

    number: int
    of: int
    cells: int
    of_cells: int
    plan_hash: str

    @classmethod
    def made(cls, shard: Shard, part: Plan, whole: Plan) -> "ShardNote":
        """Return the note about a part of a plan."""
        return cls(shard.number, shard.of, _cells(part), _cells(whole), whole.hash)

    @property
    def shard(self) -> Shard:
        """The shard itself."""
        return Shard(self.number, self.of)

    def __str__(self) -> str:
        """Return in a sentence what the folder has, and what its verdicts do not know."""
        return (
            f"This is shard {self.shard}: {self.cells} of {self.of_cells} cells. Its p values are corrected for its "
            "own cells alone; longlook merge puts all shards together."
        )


def plans(study: Study, options: RunOptions) -> tuple[Plan, Plan]:
    """Return the whole plan, and the part of it that runs: all of it without `options.shard`."""
    whole = make_plan(study, options.only, most=options.most_trials)
    return whole, whole if options.shard is None else part_of(whole, options.shard)


def read_note(manifest: Mapping[str, Any]) -> ShardNote | None:
    """Return what a manifest says of its shard; None if it is of no shard. InputError if the note is damaged."""
    try:
        return codec.decode(ShardNote, manifest[NOTE]) if NOTE in manifest else None
    except ValueError as error:
        raise InputError(f"manifest.json is damaged: {NOTE}: {error}", "restore it from a copy") from error


def which_part(manifest: Mapping[str, Any]) -> str:
    """Return in a sentence which part of a study a run is; empty: all of it."""
    note = read_note(manifest)
    if note is not None:
        return str(note)
    merged = manifest.get(MERGED, {})
    if missing := merged.get("missing"):
        lacks = ", ".join(map(str, missing))
        return f"This run was merged from some shards of {merged['of']}: the cells of {lacks} are missing."
    return ""


def keep_whole(folder: RunFolder, shard: Shard, whole: Plan) -> None:
    """Write the whole plan into a shard's folder, and note the shard; do nothing if an earlier session did."""
    if (folder.path / WHOLE_PLAN).exists() and NOTE in folder.manifest:
        return
    write_json(folder.path / WHOLE_PLAN, codec.encode(whole))
    folder.seal([WHOLE_PLAN])
    folder.note(**{NOTE: codec.encode(ShardNote.made(shard, part_of(whole, shard), whole))})


def read_whole(folder: RunFolder) -> Plan:
    """Return the plan of all shards; InputError if it is not what the run wrote."""
    hint = "restore the file from a copy, or run the shard again"
    if (what := folder.broken(WHOLE_PLAN)) is not None:
        raise InputError(f"{folder.path}: {what} since the run was planned", hint)
    try:
        return codec.decode(Plan, files.read_json(folder.path / WHOLE_PLAN))
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise InputError(f"{folder.path / WHOLE_PLAN} cannot be read: {error}", hint) from error


def deciding_study(folder: RunFolder) -> Study:
    """Return the study by which the rounds of a run folder stop: a shard does not know the cells of the others."""
    note = read_note(folder.manifest)
    return folder.study if note is None else deciding_apart(folder.study, note.of_cells)


def _cells(plan: Plan) -> int:
    return len({trial.cell_id for trial in plan.trials})
