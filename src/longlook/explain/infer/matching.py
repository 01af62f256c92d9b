"""Match the states of two machines by name, and if several have one name, by similar context."""

from collections.abc import Mapping, Sequence

import numpy as np

from longlook.analysis import libraries
from longlook.explain.infer.machine import END, START, Machine, MachineState

Context = frozenset[tuple[str, str]]
"""The context of a state: (`follows` or `precedes`, joined with `always` or `sometimes`; name)."""


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
