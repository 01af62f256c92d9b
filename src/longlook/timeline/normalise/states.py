"""A sender's records → its states over time: its own if it logs them, else by rules. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import pyarrow as pa

from longlook.timeline.events import EventKind
from longlook.timeline.normalise import state_rules
from longlook.timeline.normalise.event_rows import event_table
from longlook.timeline.normalise.placement import TracePlace
from longlook.timeline.normalise.rows import NULL, Rows
from longlook.timeline.normalise.sender import Sender
from longlook.timeline.normalise.steps import CodeSteps, layered
from longlook.timeline.normalise.trace_files import TCP
from longlook.timeline.states import State

DERIVED = "derived"
OWN = "own"
"""The detail of a state that the stack's own log holds."""

_LOSS_BASED = ("reno", "newreno", "cubic")
_GROWTH = [state_rules.CODES[state] for state in (State.SLOW_START, State.CONGESTION_AVOIDANCE)]


class Rule(StrEnum):
    """The names of the rules, as `detail` of the rows has them; docs/reference/states-rules.md defines each."""

    TIMER = "timer"
    HANDSHAKE = "handshake"
    LOSS = "loss"
    UNUSED_WINDOW = "unused window"
    CAP = "cap"
    GROWTH = "growth"
    CONTROLLER = "controller"


@dataclass(frozen=True)
class Layer:
    """The state over time according to one rule, or to the stack itself."""

    name: str
    source: str
    steps: CodeSteps


@dataclass(frozen=True)
class StateRows:
    """States in order: what was entered when, by which source and rule. The last is held until `end_ns`."""

    times_ns: Sequence[int]
    states: Sequence[State]
    sources: Sequence[str]
    details: Sequence[str]
    end_ns: int

    def table(self, vantage: str, place: TracePlace) -> pa.Table:
        """Return the states as rows of kind `state`."""
        columns = {
            "time_ns": self.times_ns,
            "source": self.sources,
            "kind": EventKind.STATE.value,
            "name": [str(state) for state in self.states],
            "detail": self.details,
        }
        return event_table(vantage, place, len(self.times_ns), columns)


def find_states(rows: Rows, source: str, controller: str | None = None) -> StateRows:
    """Return the merged view: the stack's own states, and by rules those that its log has no word for.

    `rows`: all events of one connection at one end, with sender.COLUMNS. `source`: the writer of the trace.
    `controller`: the congestion controller that the sender was configured with; None means the one that the trace
    names. If the stack logs no states, rules find all of them.
    """
    sender = Sender(rows)
    rule = _derived(sender, source, controller)
    own = _own(sender)
    logs_limited, logged = _logged_limited(sender, source, own)
    if source != TCP and not len(own.times_ns) and not logs_limited:
        return _view(sender, list(rule.values()))
    weak = np.isin(own.codes, _GROWTH)
    strong = Layer(OWN, source, CodeSteps(own.times_ns, np.where(weak, NULL, own.codes)))
    limited = Layer(OWN, source, logged) if logs_limited else rule[Rule.UNUSED_WINDOW]
    growth = Layer(OWN, source, CodeSteps(own.times_ns, np.where(weak, own.codes, NULL)))
    if source == TCP:  # the kernel's window and threshold are the state; that they cross is no event of its own
        growth = Layer(Rule.GROWTH, source, rule[Rule.GROWTH].steps)
    last = (growth, rule[Rule.GROWTH], rule[Rule.CONTROLLER])
    return _view(sender, [rule[Rule.TIMER], _beginning(sender, own, rule), strong, limited, rule[Rule.CAP], *last])


def derive_states(rows: Rows, source: str = "", controller: str | None = None) -> StateRows:
    """Return the states by rules alone, whatever the stack logs; this compares the rules with stacks that log
    states.
    """
    sender = Sender(rows)
    return _view(sender, list(_derived(sender, source, controller).values()))


def _logged_limited(sender: Sender, source: str, own: CodeSteps) -> tuple[bool, CodeSteps]:
    """Return whether the stack itself logs that it is limited by the application, and these times outside of its
    states.

    The kernel's flag does not count: it is that of the last sample of the delivery rate that was kept, so it holds from
    the connection's birth until a sample without it is faster (`tcp_rate_gen` of Linux), and does not come back for
    slower ones at the end. For the kernel the rule uses its window and its bytes in flight.
    """
    if source == TCP:
        return False, CodeSteps.none()
    logged = state_rules.logged_limited(sender)
    return bool(len(logged.times_ns) or (own.codes == state_rules.CODES[State.APPLICATION_LIMITED]).any()), logged


def _beginning(sender: Sender, own: CodeSteps, rule: dict[Rule, Layer]) -> Layer:
    """Return the handshake; without a rule for the states, `init` lasts until the controller logs its own first
    state.
    """
    handshake, unknown = rule[Rule.HANDSHAKE], rule[Rule.CONTROLLER]
    if not len(unknown.steps.times_ns) or not len(own.times_ns):
        return handshake
    ends_ns = max([int(own.times_ns[0]), *handshake.steps.times_ns[-1:].tolist()])
    steps = CodeSteps.of_intervals(np.array([sender.begin_ns]), np.array([ends_ns]), state_rules.CODES[State.INIT])
    return Layer(handshake.name, DERIVED, steps)


def _derived(sender: Sender, source: str, controller: str | None) -> dict[Rule, Layer]:
    """Return the states by each rule, ordered so that the first that holds counts."""
    recovery = state_rules.recoveries(sender)
    growth = limited = cap = unknown = CodeSteps.none()
    if _window_based(source, controller or sender.controller):
        growth = state_rules.slow_start(sender, recovery)
        limited = state_rules.application_limited(sender, growth)
        cap = state_rules.maxed(sender, limited)
    else:
        unknown = CodeSteps(np.array([sender.begin_ns], np.int64), np.array([state_rules.CODES[State.UNKNOWN]]))
    steps = {
        Rule.TIMER: state_rules.timers(sender),
        Rule.HANDSHAKE: state_rules.initial(sender),
        Rule.LOSS: CodeSteps.of_intervals(*recovery, state_rules.CODES[State.RECOVERY]),
        Rule.UNUSED_WINDOW: limited,
        Rule.CAP: cap,
        Rule.GROWTH: growth,
        Rule.CONTROLLER: unknown,
    }
    return {rule: Layer(rule, DERIVED, found) for rule, found in steps.items()}


def _window_based(source: str, controller: str | None) -> bool:
    """Return whether a sender's window shows its state, as the rules assume.

    The rules were made for controllers that fill a window and shrink it on a loss. BBR paces at a rate and keeps its
    window at twice what is in flight: by these rules it would be limited by the application for ever. An unnamed
    controller counts as window-based (RFC 9002 describes one); an unknown name does not, except the kernel's, whose
    controllers other than BBR all have a threshold of slow start.
    """
    if controller is None or controller.lower() in _LOSS_BASED:
        return True
    return source == TCP and not controller.startswith("bbr")


def _own(sender: Sender) -> CodeSteps:
    """Return the states that the stack logs; names outside the vocabulary are ignored."""
    rows = sender.rows.kind(EventKind.CONGESTION_STATE, EventKind.STATE)
    codes = np.array([*(state_rules.CODES.get(text, NULL) for text in rows.texts["name"]), NULL], np.int64)  # type: ignore[call-overload]
    return CodeSteps(rows["time_ns"], codes[rows["name"]])


def _view(sender: Sender, layers: Sequence[Layer]) -> StateRows:
    times_ns, chosen, codes = layered([layer.steps for layer in layers], sender.begin_ns, sender.end_ns + 1)
    known = chosen != NULL
    times_ns, chosen, codes = times_ns[known], chosen[known].tolist(), codes[known].tolist()
    return StateRows(
        times_ns.tolist(),
        [state_rules.STATES_BY_CODE[code] for code in codes],
        [layers[index].source for index in chosen],
        [layers[index].name for index in chosen],
        sender.end_ns,
    )
