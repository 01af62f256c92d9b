"""Shards: a plan dealt to several machines by whole cells, the same deal on each of them. Pure.

Cells stay whole, because whatever decides how many trials a cell gets looks at all arms of all its rounds: strata of
losses, and rounds that go on until they decide. The cells with most trials are dealt first, each to the shard that has
the fewest trials so far. Cells with as many trials come in the order of a hash, since neighbours in the order of
factors cost alike, and every third cell may be the dear one.
"""

import re
from collections import Counter
from dataclasses import dataclass

from longlook.core import InputError, Plan, codec
from longlook.study.laws import rank

_TEXT = re.compile(r"([0-9]{1,6})/([0-9]{1,6})")


@dataclass(frozen=True)
class Shard:
    """One of `of` parts of a plan; `number` counts from 1."""

    number: int
    of: int

    def __str__(self) -> str:
        """Return it as `--shard` takes it."""
        return f"{self.number}/{self.of}"


def parse_shard(text: str) -> Shard:
    """Return the shard of a text such as `3/8`; InputError if it is none."""
    found = _TEXT.fullmatch(text)
    if found is None:
        raise InputError(f"--shard {text}: not of the form 3/8", "write for example --shard 3/8: the third of eight")
    number, of = map(int, found.groups())
    if not 1 <= number <= of:
        counted = "there are no shards" if of == 0 else f"shards count from 1/{of} to {of}/{of}"
        raise InputError(f"--shard {text}: there is no such shard", counted)
    return Shard(number, of)


def deal(plan: Plan, of: int) -> tuple[frozenset[str], ...]:
    """Return the ids of the cells that each of `of` shards gets; InputError if there are fewer cells than shards."""
    counts = Counter(trial.cell_id for trial in plan.trials)
    if of > len(counts):
        cells = "one cell" if len(counts) == 1 else f"{len(counts)} cells"
        raise InputError(
            f"--shard …/{of}: the plan of {plan.study} has {cells}, and a shard has whole cells",
            "run it without --shard" if len(counts) == 1 else f"allowed: at most {len(counts)} shards",
        )
    shards: list[set[str]] = [set() for _ in range(of)]
    loads = [0] * of
    for cell_id in sorted(counts, key=lambda cell_id: (-counts[cell_id], rank(0, "shard", cell_id))):
        lightest = loads.index(min(loads))
        shards[lightest].add(cell_id)
        loads[lightest] += counts[cell_id]
    return tuple(map(frozenset, shards))


def part_of(plan: Plan, shard: Shard) -> Plan:
    """Return the plan of a shard: the trials of its cells, in the order of the whole plan."""
    own = deal(plan, shard.of)[shard.number - 1]
    return cells_in(plan, own)


def cells_in(plan: Plan, cell_ids: frozenset[str]) -> Plan:
    """Return the plan of some of a plan's cells, in its order."""
    trials = tuple(trial for trial in plan.trials if trial.cell_id in cell_ids)
    return Plan(plan.study, codec.content_hash([trial.id for trial in trials]), trials)
