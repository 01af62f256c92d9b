"""The manifest and the components of a run that was merged from shards."""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from longlook.core import Made, Plan
from longlook.pipeline.sbom import read_components
from longlook.pipeline.shard_check import OpenShard
from longlook.pipeline.shards import MERGED

_OPTION = "--shard"


def manifest_of(shards: Sequence[OpenShard], plan: Plan, missing: Sequence[int]) -> dict[str, Any]:
    """Return the manifest of the run of all shards, in the order in which a run writes it.

    Everything that decides results is the same for all shards. The host is the first shard's; MERGED has all of them.
    """
    first = shards[0].manifest
    every = [shard.manifest for shard in shards]
    sources = {str(source): source for each in every for source in each.get("sources", ())}
    odd = sorted({other for each in every for other in each.get("not_as_pinned", ())})
    calibrations = [each["calibration"] for each in every if each.get("calibration") is not None]
    efforts = [each["effort"] for each in every if "effort" in each]
    return {
        "study": first["study"],
        "plan_hash": plan.hash,
        "trials": len(plan.trials),
        "engine": first["engine"],
        "settings": _joined(each["settings"] for each in every),
        "command": command_without_shard(str(first["command"])),
        "programs": _in_order(_joined(each["programs"] for each in every)),
        **({"sources": list(sources.values())} if sources else {}),
        "releases": _joined(each["releases"] for each in every),
        "host": first["host"],
        "started_unix_s": min(each["started_unix_s"] for each in every),
        **({"not_as_pinned": odd} if odd else {}),
        **({"calibration": calibrations[0]} if calibrations else {}),
        **({"effort": _summed(efforts)} if efforts else {}),
        "finished_unix_s": max(each["finished_unix_s"] for each in every),
        MERGED: {
            "of": shards[0].note.of,
            "missing": list(missing),
            "shards": [_facts(shard) for shard in shards],
        },
    }


def _facts(shard: OpenShard) -> dict[str, Any]:
    names = ("command", "host", "started_unix_s", "finished_unix_s", "effort", "results", "executors")
    return {"number": shard.note.number, **{name: shard.manifest[name] for name in names if name in shard.manifest}}


def components_of(shards: Sequence[OpenShard]) -> list[Made]:
    """Return what the programs of all shards are made of: stacks by name, then what all runs have."""
    lists = [read_components(shard.folder) for shard in shards]
    known = {(each.name, each.sha256): each for made in lists for each in made}
    stacks = {str(name).partition("@")[0] for shard in shards for name in shard.manifest["programs"]}
    own = sorted((each for each in known.values() if each.name in stacks), key=lambda each: (each.name, each.version))
    return [*own, *(each for each in known.values() if each.name not in stacks)]


def _joined(parts: Iterator[Mapping[str, Any]] | Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for part in parts:
        found |= part
    return found


def _in_order(programs: Mapping[str, str]) -> dict[str, str]:
    """Return programs as a run has them: stacks by name and version, then the link's and the others."""
    stacks = sorted((name for name in programs if "@" in name), key=lambda name: tuple(name.partition("@")[::2]))
    return {name: programs[name] for name in (*stacks, *(name for name in programs if "@" not in name))}


def _summed(efforts: Sequence[Mapping[str, float]]) -> dict[str, float]:
    names = dict.fromkeys(name for effort in efforts for name in effort)
    return {name: round(sum(effort.get(name, 0) for effort in efforts), 3) for name in names}


def command_without_shard(command: str) -> str:
    """Return the command of a shard as it would run the whole study."""
    words, kept = iter(shlex.split(command)), []
    for word in words:
        if word == _OPTION:
            next(words, None)
        elif not word.startswith(f"{_OPTION}="):
            kept.append(word)
    return shlex.join(kept)
