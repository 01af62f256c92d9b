"""Inference by the wheel's program, and its proof by code that shares nothing with it."""

import dataclasses
import itertools
import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from longlook.core.errors import InputError
from longlook.explain.infer import Invariant, Machine, MachineInference, Relation, check
from longlook.explain.infer.machine import END, START
from longlook.explain.infer.traces import as_table

EXAMPLE = [
    [("init", 0), ("slow_start", 10), ("recovery", 30), ("avoidance", 40), (None, 100)],
    [("init", 0), ("slow_start", 20), ("avoidance", 25), ("recovery", 45), ("avoidance", 50), (None, 60)],
]


def infer(traces: object) -> Machine:
    return MachineInference().fit(traces).machine_


@pytest.fixture(scope="module")
def machine() -> Machine:
    return infer(EXAMPLE)


def test_times_visits_and_probabilities_are_those_of_the_traces(machine: Machine) -> None:
    by_name = {name: [s for s in machine.states if s.name == name] for name in ("init", "slow_start", "avoidance")}
    assert sum(s.time_ns for s in by_name["init"]) == 30
    assert sum(s.time_ns for s in by_name["slow_start"]) == 25
    assert sum(s.visits for s in by_name["avoidance"]) == 3
    assert machine.time_ns == 160
    (first,) = [t for t in machine.transitions if t.source == START]
    assert (first.count, first.probability) == (2, 1.0)
    assert machine.events == 9


def test_invariants_are_mined(machine: Machine) -> None:
    assert Invariant(Relation.ALWAYS_PRECEDES, "init", "avoidance") in machine.invariants
    assert Invariant(Relation.ALWAYS_FOLLOWED_BY, "recovery", "avoidance") in machine.invariants
    assert Invariant(Relation.NEVER_FOLLOWED_BY, "avoidance", "slow_start") in machine.invariants
    assert Invariant(Relation.ALWAYS_FOLLOWED_BY, None, "init") in machine.invariants


def test_tables_and_sequences_give_the_same_machine(machine: Machine) -> None:
    rows = [(str(number), at, name) for number, trace in enumerate(EXAMPLE) for name, at in trace]
    frame = pd.DataFrame(rows, columns=["trace", "time_ns", "name"])
    assert infer(frame).to_json() == machine.to_json()
    assert infer(dict(enumerate_named())).to_json() == machine.to_json()
    mixed = frame.sort_values("time_ns", kind="stable")
    assert infer(mixed).to_document()["states"] == machine.to_document()["states"]


def enumerate_named() -> list[tuple[str, list[tuple[str | None, int]]]]:
    return [(str(number), trace) for number, trace in enumerate(EXAMPLE)]  # type: ignore[misc]


def test_the_document_holds_everything(machine: Machine) -> None:
    again = Machine.from_json(machine.to_json())
    assert again.to_json() == machine.to_json()
    assert check.flaws(again, as_table(EXAMPLE)) == []


def test_relations_can_be_chosen() -> None:
    plain = MachineInference(relations=()).fit(EXAMPLE)
    assert len(plain.machine_.states) == 2 + 4  # one for each name
    assert plain.invariants_ == ()
    only = MachineInference(relations=["always_precedes"]).fit(EXAMPLE)
    assert {invariant.relation for invariant in only.invariants_} == {Relation.ALWAYS_PRECEDES}


def broken_machines(machine: Machine) -> list[tuple[str, Machine]]:
    """The machine with one thing changed, and a word of the flaw that this is."""
    invariants, transitions = machine.invariants, machine.transitions
    false = Invariant(Relation.NEVER_FOLLOWED_BY, "recovery", "avoidance")
    recovery = next(s.id for s in machine.states if s.name == "recovery")
    shortcut = dataclasses.replace(transitions[0], source=recovery, target=END)
    more = dataclasses.replace(transitions[1], count=transitions[1].count + 1)
    likelier = dataclasses.replace(transitions[1], probability=0.123)
    longer = dataclasses.replace(machine.stays, time_ns=machine.stays.time_ns + 1)
    visited = dataclasses.replace(machine.stays, visits=machine.stays.visits + 1)
    return [
        ("not accepted", dataclasses.replace(machine, transitions=transitions[1:])),
        ("a path of the machine breaks", dataclasses.replace(machine, transitions=(*transitions, shortcut))),
        ("the traces do not say", dataclasses.replace(machine, invariants=(*invariants, false))),
        ("the traces say, but the machine does not", dataclasses.replace(machine, invariants=invariants[1:])),
        ("counts of transitions", dataclasses.replace(machine, transitions=(transitions[0], more, *transitions[2:]))),
        ("probabilities", dataclasses.replace(machine, transitions=(transitions[0], likelier, *transitions[2:]))),
        ("times are not", dataclasses.replace(machine, stays=longer)),
        ("visits are not", dataclasses.replace(machine, stays=visited)),
    ]


@pytest.mark.parametrize("number", range(8))
def test_the_checker_finds_what_is_wrong(machine: Machine, number: int) -> None:
    assert check.flaws(machine, as_table(EXAMPLE)) == []
    word, broken = broken_machines(machine)[number]
    assert any(word in flaw for flaw in check.flaws(broken, as_table(EXAMPLE)))


@settings(max_examples=25)
@given(st.lists(st.lists(st.sampled_from("abcd"), min_size=1, max_size=10), min_size=1, max_size=8))
def test_whatever_the_traces_are_the_machine_is_right(words: list[list[str]]) -> None:
    traces = [[(name, 5 * at) for at, name in enumerate(word)] for word in words]
    machine = MachineInference(check=False).fit(traces).machine_
    assert check.flaws(machine, as_table(traces)) == []
    assert machine.to_json() == MachineInference(check=False).fit(traces).machine_.to_json()


@settings(max_examples=12)
@given(st.integers(0, 2**32 - 1))
def test_the_language_of_a_random_machine_is_recovered(seed: int) -> None:
    """One state per name, every step taken in a large sample: the machine has the generator's states and steps."""
    random = np.random.default_rng(seed)
    names = [f"s{number}" for number in range(6)]
    follows = {name: sorted({*random.choice(names, 2).tolist()}) for name in names}
    # Every name begins a trace and ends one, so that nothing holds but what the steps forbid.
    traces, taken = [[(name, 0)] for name in names], set()
    for number in range(1200):
        here, trace = names[number % 6], []
        for at in range(1 + int(random.integers(24))):
            trace.append((here, at))
            here = str(random.choice(follows[here]))
        traces.append(trace)
        taken |= {(one[0], other[0]) for one, other in itertools.pairwise(trace)}
    machine = infer(traces)
    assert sorted(str(s.name) for s in machine.states if s.name) == names
    steps = {(machine.states[t.source].name, machine.states[t.target].name) for t in machine.transitions}
    assert {step for step in steps if None not in step} == taken


@pytest.mark.parametrize(
    ("traces", "word"),
    [
        ([], "no trace"),
        ([[]], "no trace"),
        ([[("a", 5), ("b", 4)]], "backwards"),
        ([[("a", 5), (None, 6), ("b", 7)]], "behind its end"),
        ([[("a", "soon")]], "not traces"),
        ([[3]], "not traces"),
        (pd.DataFrame({"trace": ["x"], "name": ["a"]}), "no column time_ns"),
    ],
)
def test_what_is_not_a_trace_is_reported(traces: object, word: str) -> None:
    with pytest.raises(InputError, match=word):
        infer(traces)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"schema_version": 1}', "[" * 5000])
def test_what_is_not_a_machine_is_reported(text: str) -> None:
    with pytest.raises(InputError):
        Machine.from_json(text)


def test_a_machine_of_another_version_is_reported(machine: Machine) -> None:
    document = json.loads(machine.to_json()) | {"schema_version": 99}
    with pytest.raises(InputError, match="version 99"):
        Machine.from_document(document)
