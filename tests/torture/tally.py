"""Counts of experiments that add up over sessions and machines: docs/data/torture.json, and the tables of
docs/reference/run-folders.md.

The file has the counts of each folder under its identity, and recording a folder writes its own counts anew. So a
folder counts once, however often it is recorded, and branches that recorded different folders can be merged.
"""

import fcntl
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from itertools import groupby
from pathlib import Path

from longlook.core.run_folder import write_json
from tests.torture.records import Record, identity, load

SCHEMA = 1


class TallyError(Exception):
    """A file of counts that cannot be read; the message names it and says why."""


@dataclass(frozen=True)
class Count:
    """How often a deed of an experiment was done by one Longlook on one class of machines, and how it ended."""

    experiment: str
    deed: str
    longlook: str  # version and commit
    machine: str  # its class: processor, memory, kernel
    made: int
    survived: int
    broken: int
    seconds: float  # by the wall clock
    first: str  # ISO date
    last: str  # ISO date


Tally = Mapping[str, Sequence[Count]]
"""The counts of each folder, by its identity."""


def counted(records: Iterable[Record]) -> list[Count]:
    """Return the counts of records, in an order that depends on nothing else."""

    def group(record: Record) -> tuple[str, str, str, str]:
        return record.experiment, record.deed, record.longlook, record.machine

    return [_count(*key, list(members)) for key, members in groupby(sorted(records, key=group), group)]


def _count(experiment: str, deed: str, longlook: str, machine: str, members: list[Record]) -> Count:
    broken = sum(record.broken is not None for record in members)
    days = sorted(record.day for record in members)
    seconds = round(sum(record.seconds for record in members), 1)
    made = len(members)
    return Count(experiment, deed, longlook, machine, made, made - broken, broken, seconds, days[0], days[-1])


def read(path: Path) -> Tally:
    """Return the counts of a file, none where there is no file; TallyError where it is no such file."""
    if not path.exists():
        return {}
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        if data["schema"] != SCHEMA:
            raise TallyError(f"{path}: schema {data['schema']!r}, and this Longlook reads {SCHEMA}")
        return {name: [Count(**count) for count in counts] for name, counts in data["folders"].items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise TallyError(f"{path}: no counts of `make torture` ({type(error).__name__}: {error})") from None


def record(path: Path, folder: Path) -> None:
    """Put the counts of a folder's experiments into a file, atomically, in the place of what it had of that folder.

    Counts of more experiments than the folder has now are kept: then the folder is an older copy of itself.
    """
    with _alone(path.parent):
        tally, own, now = dict(read(path)), identity(folder), counted(load(folder))
        if now and _made(now) >= _made(tally.get(own, ())):
            tally[own] = now
        if tally:
            folders = {name: [asdict(count) for count in tally[name]] for name in sorted(tally)}
            write_json(path, {"schema": SCHEMA, "folders": folders})


def _made(counts: Iterable[Count]) -> int:
    return sum(count.made for count in counts)


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Wait until no other session records in a folder, and keep others waiting meanwhile."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def by_experiment(tally: Tally) -> list[str]:
    """Return the rows of the table of experiments, the last one for all of them."""
    counts = [count for name in sorted(tally) for count in tally[name]]
    rows = [f"| {name} | {_cells(group)} |" for name, group in _grouped(counts, lambda count: count.experiment)]
    return [*rows, f"| all | {_cells(counts)} |"] if rows else []


def by_machine(tally: Tally) -> list[str]:
    """Return the rows of the table of Longlooks and machines."""
    counts = [count for name in sorted(tally) for count in tally[name]]
    rows = []
    for _, group in _grouped(counts, lambda count: f"{count.longlook} {count.machine}"):
        first, last = min(count.first for count in group), max(count.last for count in group)
        days = first if first == last else f"{first} to {last}"
        rows.append(f"| {group[0].longlook} | {group[0].machine} | {days} | {_made(group)} | {_hours(group)} |")
    return rows


TABLES: Mapping[str, Callable[[Tally], list[str]]] = {
    "| experiment | deeds |": by_experiment,
    "| Longlook | machine |": by_machine,
}
"""How the rows of each table of docs/reference/run-folders.md are made, by the begin of its first line."""


def _grouped(counts: Iterable[Count], key: Callable[[Count], str]) -> Iterator[tuple[str, list[Count]]]:
    for name, group in groupby(sorted(counts, key=key), key):
        yield name, list(group)


def _cells(counts: Sequence[Count]) -> str:
    deeds = len({(count.experiment, count.deed) for count in counts})
    survived, broken = sum(count.survived for count in counts), sum(count.broken for count in counts)
    return f"{deeds} | {_made(counts)} | {survived} | {broken} | {_hours(counts)}"


def _hours(counts: Iterable[Count]) -> str:
    return f"{sum(count.seconds for count in counts) / 3600:.2f}"
