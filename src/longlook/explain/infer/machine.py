"""The machine: states with visits and times, transitions with probabilities, and what each trace did in it."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from longlook.core import InputError

SCHEMA_VERSION = 1
START, END = 0, 1
"""The ids of the states in which every trace begins and ends; they stand for no event."""

Whole: TypeAlias = npt.NDArray[np.int64]


class Relation(StrEnum):
    """The relation of two kinds of events in every trace."""

    ALWAYS_FOLLOWED_BY = "always_followed_by"
    NEVER_FOLLOWED_BY = "never_followed_by"
    ALWAYS_PRECEDES = "always_precedes"


@dataclass(frozen=True, order=True)
class Invariant:
    """`a` relation `b`; `a` is None for the beginning of a trace: whatever always follows it occurs in every trace."""

    relation: Relation
    a: str | None
    b: str

    def __str__(self) -> str:
        return f"{self.a or 'the beginning'} {self.relation.replace('_', ' ')} {self.b}"


@dataclass(frozen=True)
class MachineState:
    """A state: `name` of its events (None for START and END), the number of its visits, and its time over all
    traces.
    """

    id: int
    role: str
    name: str | None
    visits: int
    time_ns: int


@dataclass(frozen=True)
class Transition:
    """A step that some trace took, between ids of states; probability is its share of all steps out of `source`."""

    source: int
    target: int
    count: int
    probability: float


@dataclass(frozen=True, eq=False)
class Stays:
    """The time of each trace in each state: columns of equal length, traces by number, states by id."""

    trace: Whole
    state: Whole
    visits: Whole
    time_ns: Whole


@dataclass(frozen=True, eq=False)
class TransitionCounts:
    """The number of times that each trace took each transition: columns of equal length, both by number."""

    trace: Whole
    transition: Whole
    count: Whole


@dataclass(frozen=True, eq=False)
class Machine:
    """A machine with the data that it was inferred from, except for the order of events."""

    events: int
    traces: tuple[str, ...]
    states: tuple[MachineState, ...]
    transitions: tuple[Transition, ...]
    invariants: tuple[Invariant, ...]
    stays: Stays
    steps: TransitionCounts
    relations: tuple[Relation, ...]
    """The relations whose invariants were mined."""
    smallest: bool
    """Whether it is proven that no other merging of the split states has fewer states (docs/guide/infer.md)."""

    @property
    def time_ns(self) -> int:
        """The time over all states and traces."""
        return sum(state.time_ns for state in self.states)

    def share(self, state: MachineState) -> float:
        """Return the share of all time that was spent in a state; 0 if traces have no length."""
        return state.time_ns / self.time_ns if self.time_ns else 0.0

    def to_document(self) -> dict[str, Any]:
        """Return the machine as JSON data (docs/guide/infer.md)."""
        return {
            "schema_version": SCHEMA_VERSION,
            "events": self.events,
            "traces": list(self.traces),
            "relations": list(self.relations),
            "smallest": self.smallest,
            "states": [asdict(state) for state in self.states],
            "transitions": [
                {"from": t.source, "to": t.target, "count": t.count, "probability": t.probability}
                for t in self.transitions
            ],
            "invariants": [asdict(invariant) for invariant in self.invariants],
            "stays": _columns(self.stays),
            "steps": _columns(self.steps),
        }

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> "Machine":
        """Return the machine of JSON data. Raise InputError if it is not a machine of this version."""
        if document.get("schema_version") != SCHEMA_VERSION:
            raise InputError(
                f"a machine of schema version {document.get('schema_version')}; this Longlook reads {SCHEMA_VERSION}",
                "infer it again: longlook infer TRACE…",
            )
        try:
            machine = cls(
                events=document["events"],
                traces=tuple(document["traces"]),
                states=tuple(MachineState(**state) for state in document["states"]),
                transitions=tuple(
                    Transition(t["from"], t["to"], t["count"], t["probability"]) for t in document["transitions"]
                ),
                invariants=tuple(
                    Invariant(Relation(entry["relation"]), entry["a"], entry["b"]) for entry in document["invariants"]
                ),
                stays=Stays(*_arrays(document["stays"], ("trace", "state", "visits", "time_ns"))),
                steps=TransitionCounts(*_arrays(document["steps"], ("trace", "transition", "count"))),
                relations=tuple(map(Relation, document["relations"])),
                smallest=document["smallest"],
            )
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(f"not a machine: {error!r}", "infer it again: longlook infer TRACE…") from error
        if [state.id for state in machine.states] != list(range(len(machine.states))) or len(machine.states) <= END:
            raise InputError("not a machine: its states are not numbered from 0", "infer it again")
        return machine

    def to_json(self) -> str:
        """Return the document as text, the same for the same machine."""
        return json.dumps(self.to_document(), ensure_ascii=False, separators=(",", ":")) + "\n"

    @classmethod
    def from_json(cls, text: str | bytes) -> "Machine":
        """Return the machine of a document as text. Raise InputError if it is not one."""
        try:
            document = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise InputError(f"not a machine: {error}", "name a file that longlook infer wrote") from error
        if not isinstance(document, dict):
            raise InputError("not a machine: the document is no object", "name a file that longlook infer wrote")
        return cls.from_document(document)


def _columns(table: Stays | TransitionCounts) -> dict[str, list[int]]:
    return {name: column.tolist() for name, column in vars(table).items()}


def _arrays(columns: Mapping[str, Any], names: tuple[str, ...]) -> list[Whole]:
    arrays = [np.asarray(columns[name], dtype=np.int64) for name in names]
    if len({len(array) for array in arrays}) != 1:
        raise ValueError(f"the columns {', '.join(names)} are of different lengths")
    return arrays
