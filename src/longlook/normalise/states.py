"""A sender's records → the states that it was in: its own where it logs them, else by rules. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import pyarrow as pa

from longlook.events import EventKind
from longlook.normalise import staterules as rules
from longlook.normalise.eventrows import event_table
from longlook.normalise.flows import Place
from longlook.normalise.rows import NULL, Rows
from longlook.normalise.sender import Sender
from longlook.normalise.steps import Steps, layered
from longlook.states import State

DERIVED = "derived"
OWN = "own"
"""Detail of a state that the stack's own log says."""

_GROWTH = [rules.CODES[state] for state in (State.SLOW_START, State.CONGESTION_AVOIDANCE)]


class Rule(StrEnum):
    """Names of the rules, as `detail` of the rows gives them; docs/states-rules.md states each."""

    TIMER = "timer"
    HANDSHAKE = "handshake"
    LOSS = "loss"
    UNUSED_WINDOW = "unused window"
    CAP = "cap"
    GROWTH = "growth"


@dataclass(frozen=True)
class Layer:
    """What one rule, or the stack itself, says of the state over time."""

    name: str
    source: str
    steps: Steps


@dataclass(frozen=True)
class StateRows:
    """States in order: what was entered when, who says so and by which rule. The last is held until `end_ns`."""

    times_ns: Sequence[int]
    states: Sequence[State]
    sources: Sequence[str]
    details: Sequence[str]
    end_ns: int

    def table(self, vantage: str, place: Place) -> pa.Table:
        """As rows of kind `state`."""
        columns = {
            "time_ns": self.times_ns,
            "source": self.sources,
            "kind": EventKind.STATE.value,
            "name": [str(state) for state in self.states],
            "detail": self.details,
        }
        return event_table(vantage, place, len(self.times_ns), columns)


def find_states(rows: Rows, source: str) -> StateRows:
    """The merged view: what the stack says of itself, with what its log has no word for found by rules.

    `rows`: all events of one connection at one end, with sender.COLUMNS. `source`: who wrote the trace. Where the stack
    says nothing of its states, rules find all of them.
    """
    sender = Sender(rows)
    rule = _derived(sender)
    own = _own(sender)
    if len(own.times_ns):
        weak = np.isin(own.codes, _GROWTH)
        strong = Steps(own.times_ns, np.where(weak, NULL, own.codes))
        says_limited = (own.codes == rules.CODES[State.APPLICATION_LIMITED]).any()
        layers = [
            rule[Rule.TIMER],
            rule[Rule.HANDSHAKE],
            Layer(OWN, source, strong),
            *([] if says_limited else [rule[Rule.UNUSED_WINDOW]]),
            rule[Rule.CAP],
            Layer(OWN, source, Steps(own.times_ns, np.where(weak, own.codes, NULL))),
            rule[Rule.GROWTH],
        ]
        return _view(sender, layers)
    return _view(sender, list(rule.values()))


def derive_states(rows: Rows) -> StateRows:
    """The states by rules alone, whatever the stack says: how the rules are compared with stacks that say theirs."""
    sender = Sender(rows)
    return _view(sender, list(_derived(sender).values()))


def _derived(sender: Sender) -> dict[Rule, Layer]:
    """What each rule says, the one that goes first if several hold first."""
    recovery = rules.recoveries(sender)
    growth = rules.slow_start(sender, recovery)
    limited = rules.application_limited(sender, growth)
    steps = {
        Rule.TIMER: rules.timers(sender),
        Rule.HANDSHAKE: rules.initial(sender),
        Rule.LOSS: Steps.of_intervals(*recovery, rules.CODES[State.RECOVERY]),
        Rule.UNUSED_WINDOW: limited,
        Rule.CAP: rules.maxed(sender, limited),
        Rule.GROWTH: growth,
    }
    return {rule: Layer(rule, DERIVED, found) for rule, found in steps.items()}


def _own(sender: Sender) -> Steps:
    """What the stack says of its state; names that are none of ours say nothing."""
    rows = sender.rows.kind(EventKind.CONGESTION_STATE)
    codes = np.array([*(rules.CODES.get(text, NULL) for text in rows.texts["name"]), NULL], np.int64)  # type: ignore[call-overload]
    return Steps(rows["time_ns"], codes[rows["name"]])


def _view(sender: Sender, layers: Sequence[Layer]) -> StateRows:
    times_ns, chosen, codes = layered([layer.steps for layer in layers], sender.begin_ns, sender.end_ns + 1)
    known = chosen != NULL
    times_ns, chosen, codes = times_ns[known], chosen[known].tolist(), codes[known].tolist()
    return StateRows(
        times_ns.tolist(),
        [rules.STATES_BY_CODE[code] for code in codes],
        [layers[index].source for index in chosen],
        [layers[index].name for index in chosen],
        sender.end_ns,
    )
