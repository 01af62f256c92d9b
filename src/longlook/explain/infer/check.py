"""Prove a machine against its traces, from nothing but the two: no code and no data of the inference is used.

The proof shows four facts. The machine accepts every trace. Its invariants are exactly the invariants of the traces,
found by their definitions. No path of the machine breaks one. Its counts and times are the traces'.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from longlook.explain.infer.machine import END, START, Invariant, Machine, Relation, Whole

_Flags = npt.NDArray[np.bool_]
_TOLERANCE = 1e-9


def flaws(machine: Machine, table: pa.Table) -> list[str]:
    """Return the errors of a machine, given its traces as a table (`traces.SCHEMA`), in words; empty if there are
    none.
    """
    log = _read(table)
    return [
        *_rejected(machine, log),
        *_wrongly_mined(machine, log),
        *_broken(machine),
        *_miscounted(machine, log),
    ]


@dataclass(frozen=True)
class _Log:
    """Events trace by trace: trace and kind of each event by number, its duration, and the names of traces and
    kinds.
    """

    trace: Whole
    kind: Whole
    lasted_ns: Whole
    traces: list[str]
    kinds: list[str]


def _read(table: pa.Table) -> _Log:
    trace_column, kind_column = (table[name].unify_dictionaries().combine_chunks() for name in ("trace", "name"))
    trace = trace_column.indices.to_numpy().astype(np.int64)
    kind = pc.fill_null(kind_column.indices, -1).to_numpy().astype(np.int64)
    time_ns = table["time_ns"].to_numpy()
    if np.any(trace[1:] < trace[:-1]):
        order = np.argsort(trace, kind="stable")
        trace, kind, time_ns = trace[order], kind[order], time_ns[order]
    following = np.append(time_ns[1:], time_ns[-1:])
    last = np.append(trace[1:] != trace[:-1], True)
    lasted_ns = np.where(last, 0, following - time_ns)
    event = kind >= 0
    return _Log(
        trace[event], kind[event], lasted_ns[event],
        trace_column.dictionary.to_pylist(), kind_column.dictionary.to_pylist(),
    )  # fmt: skip


def _rejected(machine: Machine, log: _Log) -> Iterator[str]:
    """Return traces that are not a path from START to END; if a step may lead to several states, all are followed."""
    next_of = _successors(machine)
    numbers = {name: number for number, name in enumerate(log.kinds)}
    kind_of = [-1 if state.name is None else numbers.get(state.name, -1) for state in machine.states]
    sets: list[frozenset[int]] = [frozenset([START])]
    number_of = {sets[0]: 0}
    steps: list[list[int]] = [[-1] * len(log.kinds)]
    begins = np.flatnonzero(np.diff(log.trace, prepend=-1)).tolist()
    kinds = log.kind.tolist()
    for begin, end in zip(begins, [*begins[1:], len(kinds)], strict=True):
        here = 0
        for kind in kinds[begin:end]:
            there = steps[here][kind]
            if there < 0:
                reached = frozenset(to for state in sets[here] for to in next_of[state] if kind_of[to] == kind)
                there = number_of.setdefault(reached, len(sets))
                if there == len(sets):
                    sets.append(reached)
                    steps.append([-1] * len(log.kinds))
                steps[here][kind] = there
            here = there
        if not any(END in next_of[state] for state in sets[here]):
            yield f"trace {log.traces[log.trace[begin]]} is not accepted"


def _wrongly_mined(machine: Machine, log: _Log) -> Iterator[str]:
    true = {invariant for invariant in _mine(log) if invariant.relation in machine.relations}
    named = set(machine.invariants)
    for invariant in sorted(named - true, key=str):
        yield f"the traces do not say: {invariant}"
    for invariant in sorted(true - named, key=str):
        yield f"the traces say, but the machine does not: {invariant}"


def _mine(log: _Log) -> Iterator[Invariant]:
    """Return the invariants by definition: for each kind, how many events have an event of another kind before or
    after.
    """
    many, places = len(log.kinds), np.arange(len(log.kind))
    events = np.bincount(log.kind, minlength=many)
    traces = len(np.unique(log.trace))
    present = [number for number in range(many) if events[number]]
    for one in present:
        mine = np.flatnonzero(log.kind == one)
        first, last = (np.full(len(log.traces), place) for place in (len(places), -1))
        first[log.trace[mine[::-1]]] = mine[::-1]
        last[log.trace[mine]] = mine
        after = np.bincount(log.kind[last[log.trace] > places], minlength=many)
        before = np.bincount(log.kind[first[log.trace] < places], minlength=many)
        name = log.kinds[one]
        if len(np.unique(log.trace[mine])) == traces:
            yield Invariant(Relation.ALWAYS_FOLLOWED_BY, None, name)
        for other in present:
            if after[other] == events[other]:
                yield Invariant(Relation.ALWAYS_FOLLOWED_BY, log.kinds[other], name)
            if after[other] == 0:
                yield Invariant(Relation.NEVER_FOLLOWED_BY, log.kinds[other], name)
            if other != one and before[other] == events[other]:
                yield Invariant(Relation.ALWAYS_PRECEDES, name, log.kinds[other])


def _broken(machine: Machine) -> Iterator[str]:
    """Return invariants that some path of the machine breaks, from the states that can be reached without others."""
    next_of = _successors(machine)
    named: dict[str | None, set[int]] = {None: {START}}
    for state in machine.states[END + 1 :]:
        named.setdefault(state.name, set()).add(state.id)
    from_start = _reached(next_of, [START], set())
    for invariant in machine.invariants:
        first = {state for state in named.get(invariant.a, set()) if state == START or state in from_start}
        second = named.get(invariant.b, set())
        match invariant.relation:
            case Relation.ALWAYS_FOLLOWED_BY:
                broken = END in _reached(next_of, first, second)
            case Relation.NEVER_FOLLOWED_BY:
                broken = bool(second & _reached(next_of, first, set()))
            case Relation.ALWAYS_PRECEDES:
                broken = bool(second & _reached(next_of, [START], first))
        if broken:
            yield f"a path of the machine breaks: {invariant}"


def _reached(next_of: Sequence[Iterable[int]], begin: Iterable[int], without: set[int]) -> set[int]:
    """Return the states that are one step or more after some states, on paths that enter none of `without`."""
    found: set[int] = set()
    open_states = list(begin)
    while open_states:
        for state in next_of[open_states.pop()]:
            if state not in found and state not in without:
                found.add(state)
                open_states.append(state)
    return found


def _miscounted(machine: Machine, log: _Log) -> Iterator[str]:
    """Return counts and times that differ from the traces', or do not add up."""
    many, stays, steps = len(machine.states), machine.stays, machine.steps
    for column, below in (
        (stays.state, many), (stays.trace, len(machine.traces)),
        (steps.trace, len(machine.traces)), (steps.transition, len(machine.transitions)),
    ):  # fmt: skip
        if len(column) and not 0 <= column.min() <= column.max() < below:
            yield "stays or steps are of states, traces or transitions that are not there"
            return
    names = {name: number for number, name in enumerate(log.kinds)}
    kind_of = np.array([names.get(state.name, -1) if state.name is not None else -1 for state in machine.states])
    numbers = {name: number for number, name in enumerate(log.traces)}
    trace_of = np.array([numbers.get(name, -1) for name in machine.traces], dtype=np.int64)
    cells = len(log.traces) * len(log.kinds)
    if (kind_of[stays.state] < 0).any() or (trace_of < 0).any():
        yield "the machine names states or traces that are not in the log"
        return
    place, stayed = log.trace * len(log.kinds) + log.kind, trace_of[stays.trace] * len(log.kinds) + kind_of[stays.state]
    if not np.array_equal(np.bincount(place, minlength=cells), _sums(stayed, stays.visits, cells)):
        yield "visits are not those of the traces' events"
    if not np.array_equal(_sums(place, log.lasted_ns, cells), _sums(stayed, stays.time_ns, cells)):
        yield "times are not those of the traces"
    sources, targets = (
        np.array([getattr(t, end) for t in machine.transitions], dtype=np.int64) for end in ("source", "target")
    )
    pairs = len(machine.traces) * many
    visits = _sums(stays.trace * many + stays.state, stays.visits, pairs).reshape(-1, many)
    for ends, left_out in ((sources, END), (targets, START)):
        passed = _sums(steps.trace * many + ends[steps.transition], steps.count, pairs).reshape(-1, many)
        expected = visits.copy()
        expected[:, START + END - left_out] = 1
        if not np.array_equal(passed, expected):
            yield "a trace does not leave or enter states as often as it visits them"
    counts = np.array([t.count for t in machine.transitions], dtype=np.int64)
    if not np.array_equal(_sums(steps.transition, steps.count, len(counts)), counts):
        yield "counts of transitions are not those of the traces"
    leaving = _sums(sources, counts, many)
    shares = np.array([t.probability for t in machine.transitions])
    if not np.allclose(shares, counts / leaving[sources], rtol=0, atol=_TOLERANCE):
        yield "probabilities are not the shares of the counts"
    totals = [
        (_sums(stays.state, column, many), name)
        for column, name in ((stays.visits, "visits"), (stays.time_ns, "time_ns"))
    ]
    for total, name in totals:
        stated = np.array([getattr(state, name) for state in machine.states[END + 1 :]], dtype=np.int64)
        if not np.array_equal(total[END + 1 :], stated):
            yield f"{name} of states are not the sums over traces"


def _sums(places: Whole, amounts: Whole, length: int) -> Whole:
    """Return sums of integers by position; exact, unlike the floats of `bincount`."""
    sums = np.zeros(length, dtype=np.int64)
    np.add.at(sums, places, amounts)
    return sums


def _successors(machine: Machine) -> list[list[int]]:
    next_of: list[list[int]] = [[] for _ in machine.states]
    for transition in machine.transitions:
        next_of[transition.source].append(transition.target)
    return next_of
