"""Compare two machines: what only one of them has, and what differs by more than chance."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from itertools import combinations
from math import comb
from typing import Any

import numpy as np
import numpy.typing as npt

from longlook.analysis import adjust, libraries
from longlook.explain.infer.machine import END, START, Machine, MachineState

Context = frozenset[tuple[str, str]]
"""The context of a state: (`follows` or `precedes`, joined with `always` or `sometimes`; name)."""
Numbers = npt.NDArray[np.float64]

FEWEST_TRACES = 4
"""The smallest number of traces in each set with which a test over traces can be significant at the usual levels."""

_MOST_EXACT = 20_000
"""The number of ways to deal the traces into two sets up to which all are tried; beyond, as many are drawn at
random.
"""
_CELLS_AT_ONCE = 4_000_000
_SEED = 2017
SCHEMA_VERSION = 1
LEVEL = 0.01
"""The level of significance, after Holm's correction."""


def matched(a: Machine, b: Machine) -> list[tuple[MachineState | None, MachineState | None]]:
    """Return pairs of states, the beginning and the end first; a state without a counterpart is paired with None.

    Among the states of one name, those are paired whose contexts agree most in sum: the names that come before and
    after the state on all of its paths, on some, or on none. Equal contexts are paired by their shares of all visits.
    """
    pairs: list[tuple[MachineState | None, MachineState | None]] = [
        (a.states[end], b.states[end]) for end in (START, END)
    ]
    contexts = [(machine, contexts_of(machine)) for machine in (a, b)]
    for name in dict.fromkeys(state.name for machine in (a, b) for state in machine.states if state.name is not None):
        ours, theirs = ([state for state in machine.states if state.name == name] for machine in (a, b))
        likeness = np.array(
            [[_likeness(contexts[0], one, contexts[1], other) for other in theirs] for one in ours]
        ).reshape(len(ours), len(theirs))
        rows, columns = libraries.optimize.linear_sum_assignment(likeness, maximize=True)
        pairs += [(ours[row], theirs[column]) for row, column in zip(rows, columns, strict=True)]
        pairs += [(one, None) for place, one in enumerate(ours) if place not in set(rows.tolist())]
        pairs += [(None, other) for place, other in enumerate(theirs) if place not in set(columns.tolist())]
    return pairs


def _likeness(
    ours: tuple[Machine, Mapping[int, Context]],
    one: MachineState,
    theirs: tuple[Machine, Mapping[int, Context]],
    other: MachineState,
) -> float:
    """Return the likeness from 0 to 1 by contexts; visits only decide between equals."""
    mine, its = ours[1][one.id], theirs[1][other.id]
    shares = [state.visits / max(1, machine.events) for machine, state in ((ours[0], one), (theirs[0], other))]
    agreeing = len(mine & its) / len(mine | its) if mine | its else 1.0
    return agreeing - 1e-6 * abs(shares[0] - shares[1])


def contexts_of(machine: Machine) -> dict[int, Context]:
    """Return, for each state, the names that can and the names that must come before it and after it."""
    behind = _around(machine, [(t.source, t.target) for t in machine.transitions], START, "follows")
    before = _around(machine, [(t.target, t.source) for t in machine.transitions], END, "precedes")
    return {state.id: behind[state.id] | before[state.id] for state in machine.states}


def _around(machine: Machine, steps: Sequence[tuple[int, int]], begin: int, word: str) -> dict[int, Context]:
    next_of: list[list[int]] = [[] for _ in machine.states]
    for source, target in steps:
        next_of[source].append(target)
    found: dict[int, set[tuple[str, str]]] = {state.id: set() for state in machine.states}
    everywhere = _reached(next_of, [begin], set())
    for name in sorted({state.name for state in machine.states if state.name is not None}):
        named = {state.id for state in machine.states if state.name == name}
        for state in _reached(next_of, named, set()):
            found[state].add((f"{word} sometimes", name))
        for state in everywhere - _reached(next_of, [begin], named) - named:
            found[state].add((f"{word} always", name))
    return {state: frozenset(facts) for state, facts in found.items()}


def _reached(next_of: Sequence[Sequence[int]], begin: Sequence[int] | set[int], without: set[int]) -> set[int]:
    found: set[int] = set()
    open_states = list(begin)
    while open_states:
        for state in next_of[open_states.pop()]:
            if state not in found and state not in without:
                found.add(state)
                open_states.append(state)
    return found


class Deals:
    """The ways to deal traces into two sets of their actual sizes; the first `many_a` traces are A's.

    Permutation tests (Fisher, The Design of Experiments, 1935): if the sets were alike, every deal would be as likely
    as the real one. Random deals come from a fixed seed, so a result repeats; the real deal counts as one more of them.
    """

    def __init__(self, many_a: int, many_b: int) -> None:
        self._size, self._many_a = many_a + many_b, many_a
        self.exact = comb(self._size, many_a) <= _MOST_EXACT

    def p_values(self, parts: Numbers, wholes: Numbers) -> Numbers:
        """Return, per column, the share of deals that set the two ratios of sums (parts of wholes) as far apart as they
        are.

        There is a row per trace, A's first; the test is two-sided. A deal that leaves a set without any whole counts
        against a difference; if the real one does, p is 1.
        """
        real = np.arange(self._size) < self._many_a
        observed = _distance(real[np.newaxis], parts, wholes)[0]
        as_far, deals = np.zeros(parts.shape[1]), 0
        for dealt in self._dealt():
            as_far += (_distance(dealt, parts, wholes) >= observed * (1 - 1e-9)).sum(axis=0)
            deals += len(dealt)
        p = as_far / deals if self.exact else (as_far + 1) / (deals + 1)
        return np.where(np.isfinite(observed), p, 1.0)

    def _dealt(self) -> Iterator[npt.NDArray[np.bool_]]:
        """Yield deals in portions: a row each, true for the traces in A."""
        if self.exact:
            chosen = np.array(list(combinations(range(self._size), self._many_a)))
            dealt = np.zeros((len(chosen), self._size), dtype=bool)
            np.put_along_axis(dealt, chosen, values=True, axis=1)
            yield dealt
            return
        random = np.random.default_rng(_SEED)
        real = np.arange(self._size) < self._many_a
        at_once = max(1, _CELLS_AT_ONCE // self._size)
        for begin in range(0, _MOST_EXACT, at_once):
            rows = min(at_once, _MOST_EXACT - begin)
            yield random.permuted(np.broadcast_to(real, (rows, self._size)), axis=1)


def _distance(dealt: npt.NDArray[np.bool_], parts: Numbers, wholes: Numbers) -> Numbers:
    """Return the distance of the ratios per deal and column; infinite if a set has no whole."""
    chosen = dealt.astype(np.float64)
    part_a, whole_a = chosen @ parts, chosen @ wholes
    part_b, whole_b = parts.sum(axis=0) - part_a, wholes.sum(axis=0) - whole_a
    with np.errstate(divide="ignore", invalid="ignore"):
        distance = np.abs(part_a / whole_a - part_b / whole_b)
    return np.where((whole_a > 0) & (whole_b > 0), distance, np.inf)


def fisher_p(taken_a: int, left_a: int, taken_b: int, left_b: int) -> float:
    """Return the p value of Fisher's exact test of counts, two-sided.

    It takes steps for independent, which the steps of one trace are not.
    """
    return float(
        libraries.stats.fisher_exact(np.array([[taken_a, left_a - taken_a], [taken_b, left_b - taken_b]])).pvalue
    )


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
