"""Whether run folders are shards of one run: of the same plan, made alike, each there once, and none missing."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from longlook.core import InputError, RunFolder, codec
from longlook.pipeline.shards import ShardNote, read_note, read_whole

_SHOWN = 24
_DIGITS = 12


@dataclass(frozen=True)
class OpenShard:
    """A shard's run folder, opened and locked, with what its manifest says."""

    folder: RunFolder
    manifest: Mapping[str, Any]
    note: ShardNote

    @classmethod
    def of(cls, folder: RunFolder) -> "OpenShard":
        """Return a shard; InputError if the folder is none, or its run was not finished."""
        manifest = folder.manifest
        note = read_note(manifest)
        if note is None:
            hint = "longlook merge takes the folders of longlook run … --shard 1/3, 2/3 and 3/3"
            raise InputError(f"{folder.path} is not a shard", hint)
        if "finished_unix_s" not in manifest:
            raise InputError(
                f"{folder.path} is not finished: shard {note.shard} was stopped",
                f"its command with --resume {folder.path} in place of --out goes on",
            )
        return cls(folder, manifest, note)

    @property
    def engine(self) -> str:
        """The engine of the trials that name none."""
        return str(self.manifest["engine"])


def missing_numbers(shards: Sequence[OpenShard]) -> list[int]:
    """Return the numbers of the shards that are not there."""
    there = {shard.note.number for shard in shards}
    return [number for number in range(1, shards[0].note.of + 1) if number not in there]


def check_alike(shards: Sequence[OpenShard], *, partial: bool) -> None:
    """Raise InputError unless these are the shards of one run; with `partial` some may be missing."""
    first, *others = shards
    for other in others:
        if what := next(_differences(first, other), None):
            raise InputError(
                f"{first.folder.path} and {other.folder.path} are not shards of one run: {what}",
                "run all shards with the same command, but for --shard, and the same Longlook, Python and programs",
            )
    for shard in shards:
        if read_whole(shard.folder).hash != shard.note.plan_hash:
            raise InputError(f"{shard.folder.path}: its whole-plan.json is of another plan", "run the shard again")
    seen: dict[int, OpenShard] = {}
    for shard in shards:
        if (twin := seen.setdefault(shard.note.number, shard)) is not shard:
            raise InputError(
                f"shard {shard.note.shard} is there twice: {twin.folder.path} and {shard.folder.path}", "name one"
            )
    if (missing := missing_numbers(shards)) and not partial:
        named = ", ".join(f"{number}/{first.note.of}" for number in missing[:_SHOWN])
        more = f" and {len(missing) - _SHOWN} more" if len(missing) > _SHOWN else ""
        raise InputError(
            f"{len(missing)} of {first.note.of} shards missing: {named}{more}",
            "run them, or merge what is there: --partial",
        )


def _differences(one: OpenShard, other: OpenShard) -> Iterator[str]:
    """Yield in clauses what is not the same about two shards, the plain causes first."""
    mine, theirs = one.manifest, other.manifest
    if mine["study"] != theirs["study"]:
        yield f"study {mine['study']} and {theirs['study']}"
    if one.note.of != other.note.of:
        yield f"one of {one.note.of} shards and one of {other.note.of}"
    versions = [manifest["host"].get("longlook") for manifest in (mine, theirs)]
    if versions[0] != versions[1]:
        yield f"Longlook {versions[0]} and {versions[1]}"
    if one.note.plan_hash != other.note.plan_hash:
        yield f"plan {one.note.plan_hash} and {other.note.plan_hash}"
    if one.engine != other.engine:
        yield f"engine {one.engine} and {other.engine}"
    yield from _clashes("", mine["programs"], theirs["programs"])
    for engine in mine["settings"].keys() & theirs["settings"].keys():
        yield from _clashes(f"{engine} engine: ", mine["settings"][engine], theirs["settings"][engine])
    if codec.encode(one.folder.study) != codec.encode(other.folder.study):
        yield "their study.json differ"


def _clashes(what: str, mine: Mapping[str, str], theirs: Mapping[str, str]) -> Iterator[str]:
    for name in mine.keys() & theirs.keys():
        if mine[name] != theirs[name]:
            yield f"{what}{name} {_short(mine[name])} and {_short(theirs[name])}"


def _short(text: str) -> str:
    is_digest = len(text) == 64 and all(letter in "0123456789abcdef" for letter in text)
    return text[:_DIGITS] if is_digest else text
