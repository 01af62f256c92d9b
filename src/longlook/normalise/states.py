"""A sender's records → the states that it was in: its own where it logs them, else by rules. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

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
    """The merged view: timers and `init` by rule over what the stack says, or over the rules where it says nothing.

    `rows`: all events of one connection at one end (Sender). `source`: who wrote the trace.
    """
    sender = Sender(rows)
    own = own_layer(sender, source)
    if own is None:
        return _view(sender, derived_layers(sender))
    base = derived_layers(sender)
    timers, initial = base["timers"], base["init"]
    says_limited = (own.steps.codes == rules.CODES[State.APPLICATION_LIMITED]).any()
    layers = {"timers": timers, "init": initial}
    if not says_limited:
        quiet = own.steps.at(base["unused window"].steps.times_ns)
        layers["unused window"] = _only_over(base["unused window"], own, quiet != rules.CODES[State.RECOVERY])
    layers["own"] = own
    layers["growth"] = base["growth"]
    return _view(sender, layers)


def derive_states(rows: Rows) -> StateRows:
    """The states by rules alone, whatever the stack says of itself: what stacks without such a log are judged by."""
    sender = Sender(rows)
    return _view(sender, derived_layers(sender))
