"""Compare two machines: what only one of them has, and what differs by more than chance."""

import json
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

import numpy as np
import numpy.typing as npt

from longlook.analysis import adjust
from longlook.explain.infer.machine import END, Machine, MachineState
from longlook.explain.infer.matching import matched
from longlook.explain.infer.significance import FEWEST_TRACES, Deals, Numbers, fisher_p

SCHEMA_VERSION = 1
LEVEL = 0.01
"""The level of significance, after Holm's correction."""


class Standing(StrEnum):
    """The relation of a state or a transition to two machines."""

    ONLY_A = "only_a"
    ONLY_B = "only_b"
    DIFFERS = "differs"
    ALIKE = "alike"


@dataclass(frozen=True)
class Test:
    """A p value, the same after correction over its family, and the kind of test; None if nothing could be tested."""

    p: float | None = None
    p_adjusted: float | None = None
    method: str | None = None


@dataclass(frozen=True)
class StatePair:
    """A state of A, of B or of both with its ids there; shares are means over traces of the share of each trace's
    time.
    """

    id: int
    role: str
    name: str | None
    a: int | None
    b: int | None
    visits_a: int
    visits_b: int
    share_a: float
    share_b: float
    standing: Standing
    test: Test


@dataclass(frozen=True)
class TransitionPair:
    """A transition of A, of B or of both; source and target are ids of pairs of states."""

    source: int
    target: int
    count_a: int
    count_b: int
    probability_a: float
    probability_b: float
    standing: Standing
    test: Test


@dataclass(frozen=True)
class Difference:
    """Two machines as one."""

    title_a: str
    title_b: str
    traces_a: int
    traces_b: int
    level: float
    states: tuple[StatePair, ...]
    transitions: tuple[TransitionPair, ...]

    def to_json(self) -> str:
        """Return the difference as a JSON document (docs/guide/infer.md)."""
        document: dict[str, Any] = {"schema_version": SCHEMA_VERSION, **asdict(self)}
        return json.dumps(document, ensure_ascii=False, indent=1) + "\n"


def diff(a: Machine, b: Machine, title_a: str = "A", title_b: str = "B", level: float = LEVEL) -> Difference:
    """Compare two machines.

    Shares of time, and the probability of each transition out of a state that both have, are tested by permutation of
    whole traces. With fewer than FEWEST_TRACES on a side, transitions are tested by Fisher's exact test of the counts.
    Holm's correction covers all shares as one family, and all transitions as another.
    """
    pairs = matched(a, b)
    numbers = [{pair[side].id: number for number, pair in enumerate(pairs) if pair[side]} for side in (0, 1)]  # type: ignore[union-attr]
    enough = min(len(a.traces), len(b.traces)) >= FEWEST_TRACES
    deals = Deals(len(a.traces), len(b.traces)) if enough else None
    sides = [_Side(machine, number_of, len(pairs)) for machine, number_of in zip((a, b), numbers, strict=True)]
    return Difference(
        title_a, title_b, len(a.traces), len(b.traces), level,
        _states(pairs, sides, deals, level), _transitions(pairs, sides, deals, level),
    )  # fmt: skip


class _Side:
    """One machine in the numbers of pairs: `shares` per trace and pair, `steps` and `left` per trace and transition."""

    def __init__(self, machine: Machine, number_of: dict[int, int], many: int) -> None:
        self.machine = machine
        traces = len(machine.traces)
        where = np.array([number_of[state.id] for state in machine.states])
        times = np.zeros((traces, many))
        np.add.at(times, (machine.stays.trace, where[machine.stays.state]), machine.stays.time_ns)
        whole = times.sum(axis=1, keepdims=True)
        self.shares: Numbers = np.divide(times, whole, out=np.zeros_like(times), where=whole > 0)
        self.visits = {number_of[state.id]: state.visits for state in machine.states}
        self.ends = [(number_of[t.source], number_of[t.target]) for t in machine.transitions]
        self.counts = {ends: t.count for ends, t in zip(self.ends, machine.transitions, strict=True)}
        self.leaving = np.zeros(many, dtype=np.int64)
        for (source, _), count in self.counts.items():
            self.leaving[source] += count

    def per_trace(self, wanted: list[tuple[int, int]]) -> tuple[Numbers, Numbers]:
        """Return how often each trace took each transition, and how often it left that transition's source."""
        steps = self.machine.steps
        column = {ends: number for number, ends in enumerate(wanted)}
        taken = np.zeros((len(self.machine.traces), len(wanted)))
        left = np.zeros((len(self.machine.traces), len(self.leaving)))
        columns = np.array([column.get(ends, -1) for ends in self.ends])[steps.transition]
        sources = np.array([source for source, _ in self.ends])[steps.transition]
        known = columns >= 0
        np.add.at(taken, (steps.trace[known], columns[known]), steps.count[known])
        np.add.at(left, (steps.trace, sources), steps.count)
        return taken, left[:, [source for source, _ in wanted]]

    def probability(self, ends: tuple[int, int]) -> float:
        return self.counts.get(ends, 0) / max(1, int(self.leaving[ends[0]]))


def _states(
    pairs: list[tuple[MachineState | None, MachineState | None]], sides: list[_Side], deals: Deals | None, level: float
) -> tuple[StatePair, ...]:
    both = [number for number, (a, b) in enumerate(pairs) if number > END and a and b]
    tests = dict.fromkeys(range(len(pairs)), Test())
    if deals and both:
        shares = np.concatenate([side.shares[:, both] for side in sides])
        p = deals.p_values(shares, np.ones_like(shares))
        tests |= dict(zip(both, _corrected(p, "permutation of traces"), strict=True))
    found = []
    for number, (a, b) in enumerate(pairs):
        one = a or b
        assert one is not None  # noqa: S101 - a pair has one at least
        found.append(
            StatePair(
                number,
                one.role,
                one.name,
                a.id if a else None,
                b.id if b else None,
                sides[0].visits.get(number, 0),
                sides[1].visits.get(number, 0),
                float(sides[0].shares[:, number].mean()),
                float(sides[1].shares[:, number].mean()),
                _standing(a is not None, b is not None, tests[number], level),
                tests[number],
            )
        )
    return tuple(found)


def _transitions(
    pairs: list[tuple[MachineState | None, MachineState | None]], sides: list[_Side], deals: Deals | None, level: float
) -> tuple[TransitionPair, ...]:
    every = sorted({ends for side in sides for ends in side.counts})
    ways = [sum(ends[0] == source for ends in every) for source in range(len(pairs))]
    tested = [ends for ends in every if all(pairs[ends[0]]) and ways[ends[0]] > 1]
    tests = dict.fromkeys(every, Test())
    if tested and deals:
        (taken_a, left_a), (taken_b, left_b) = (side.per_trace(tested) for side in sides)
        p = deals.p_values(np.concatenate([taken_a, taken_b]), np.concatenate([left_a, left_b]))
        tests |= dict(zip(tested, _corrected(p, "permutation of traces"), strict=True))
    elif tested:
        counts = [(side.counts.get(ends, 0), int(side.leaving[ends[0]])) for ends in tested for side in sides]
        p = np.array([fisher_p(*one, *other) for one, other in zip(counts[::2], counts[1::2], strict=True)])
        tests |= dict(zip(tested, _corrected(p, "Fisher's exact test of steps"), strict=True))
    return tuple(
        TransitionPair(
            *ends, sides[0].counts.get(ends, 0), sides[1].counts.get(ends, 0),
            sides[0].probability(ends), sides[1].probability(ends),
            _standing(ends in sides[0].counts, ends in sides[1].counts, tests[ends], level), tests[ends],
        )
        for ends in every
    )  # fmt: skip


def _corrected(p: npt.NDArray[np.float64], method: str) -> list[Test]:
    values = p.tolist()
    return [Test(one, corrected, method) for one, corrected in zip(values, adjust(values, "holm"), strict=True)]


def _standing(in_a: bool, in_b: bool, test: Test, level: float) -> Standing:
    if not in_b:
        return Standing.ONLY_A
    if not in_a:
        return Standing.ONLY_B
    return Standing.DIFFERS if test.p_adjusted is not None and test.p_adjusted < level else Standing.ALIKE
