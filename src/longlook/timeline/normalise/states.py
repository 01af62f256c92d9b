"""A sender's records → the states that it was in: its own where it logs them, else by rules. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import pyarrow as pa

from longlook.timeline.events import EventKind
from longlook.timeline.normalise import state_rules
from longlook.timeline.normalise.event_rows import event_table
from longlook.timeline.normalise.placement import Place
from longlook.timeline.normalise.rows import NULL, Rows
from longlook.timeline.normalise.sender import Sender
from longlook.timeline.normalise.steps import Steps, layered
from longlook.timeline.normalise.trace_files import TCP
from longlook.timeline.states import State

DERIVED = "derived"
OWN = "own"
"""Detail of a state that the stack's own log says."""

_LOSS_BASED = ("reno", "newreno", "cubic")
_GROWTH = [state_rules.CODES[state] for state in (State.SLOW_START, State.CONGESTION_AVOIDANCE)]


class Rule(StrEnum):
    """Names of the rules, as `detail` of the rows gives them; docs/states-rules.md states each."""

    TIMER = "timer"
    HANDSHAKE = "handshake"
    LOSS = "loss"
    UNUSED_WINDOW = "unused window"
    CAP = "cap"
    GROWTH = "growth"
    CONTROLLER = "controller"


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


def find_states(rows: Rows, source: str, controller: str | None = None) -> StateRows:
    """The merged view: what the stack says of itself, with what its log has no word for found by rules.

    `rows`: all events of one connection at one end, with sender.COLUMNS. `source`: who wrote the trace. `controller`:
    the congestion controller that the sender was told to use; None is what the trace says of it. Where the stack says
    nothing of its states, rules find all of them.
    """
    sender = Sender(rows)
    rule = _derived(sender, source, controller)
    own = _own(sender)
    says_limited, said = _said_limited(sender, source, own)
    if source != TCP and not len(own.times_ns) and not says_limited:
        return _view(sender, list(rule.values()))
    weak = np.isin(own.codes, _GROWTH)
    strong = Layer(OWN, source, Steps(own.times_ns, np.where(weak, NULL, own.codes)))
    limited = Layer(OWN, source, said) if says_limited else rule[Rule.UNUSED_WINDOW]
    growth = Layer(OWN, source, Steps(own.times_ns, np.where(weak, own.codes, NULL)))
    if source == TCP:  # the kernel's window and threshold are the state; that they cross is no event of its own
        growth = Layer(Rule.GROWTH, source, rule[Rule.GROWTH].steps)
    last = (growth, rule[Rule.GROWTH], rule[Rule.CONTROLLER])
    return _view(sender, [rule[Rule.TIMER], _beginning(sender, own, rule), strong, limited, rule[Rule.CAP], *last])


def derive_states(rows: Rows, source: str = "", controller: str | None = None) -> StateRows:
    """The states by rules alone, whatever the stack says: how the rules are compared with stacks that say theirs."""
    sender = Sender(rows)
    return _view(sender, list(_derived(sender, source, controller).values()))


def _said_limited(sender: Sender, source: str, own: Steps) -> tuple[bool, Steps]:
    """Whether the stack says itself when it is limited by the application, and what it says outside of its states.

    The kernel's flag does not count: it is that of the last sample of the delivery rate that was kept, so it stands
    from the connection's birth until a sample without it is faster (`tcp_rate_gen` of Linux), and does not come back
    for slower ones at the end. Its window and its bytes in flight tell, by the rule.
    """
    if source == TCP:
        return False, Steps.none()
    said = state_rules.said_limited(sender)
    return bool(len(said.times_ns) or (own.codes == state_rules.CODES[State.APPLICATION_LIMITED]).any()), said


def _beginning(sender: Sender, own: Steps, rule: dict[Rule, Layer]) -> Layer:
    """The handshake; where no rule tells the states, `init` until a controller that logs its own has said its first."""
    handshake, untold = rule[Rule.HANDSHAKE], rule[Rule.CONTROLLER]
    if not len(untold.steps.times_ns) or not len(own.times_ns):
        return handshake
    ends_ns = max([int(own.times_ns[0]), *handshake.steps.times_ns[-1:].tolist()])
    steps = Steps.of_intervals(np.array([sender.begin_ns]), np.array([ends_ns]), state_rules.CODES[State.INIT])
    return Layer(handshake.name, DERIVED, steps)


def _derived(sender: Sender, source: str, controller: str | None) -> dict[Rule, Layer]:
    """What each rule says, the one that goes first if several hold first."""
    recovery = state_rules.recoveries(sender)
    growth = limited = cap = untold = Steps.none()
    if _window_tells(source, controller or sender.controller):
        growth = state_rules.slow_start(sender, recovery)
        limited = state_rules.application_limited(sender, growth)
        cap = state_rules.maxed(sender, limited)
    else:
        untold = Steps(np.array([sender.begin_ns], np.int64), np.array([state_rules.CODES[State.UNKNOWN]]))
    steps = {
        Rule.TIMER: state_rules.timers(sender),
        Rule.HANDSHAKE: state_rules.initial(sender),
        Rule.LOSS: Steps.of_intervals(*recovery, state_rules.CODES[State.RECOVERY]),
        Rule.UNUSED_WINDOW: limited,
        Rule.CAP: cap,
        Rule.GROWTH: growth,
        Rule.CONTROLLER: untold,
    }
    return {rule: Layer(rule, DERIVED, found) for rule, found in steps.items()}


def _window_tells(source: str, controller: str | None) -> bool:
    """Whether a sender's window tells its state, as the rules read it.

    They were made for controllers that fill a window and shrink it on a loss. BBR paces at a rate and keeps its window
    at twice what is in flight: by these rules it would be limited by the application for ever. What is not told is
    taken for such a controller (RFC 9002 describes one); a name that the rules do not know is not, save the kernel's,
    whose others than BBR all have a threshold of slow start.
    """
    if controller is None or controller.lower() in _LOSS_BASED:
        return True
    return source == TCP and not controller.startswith("bbr")


def _own(sender: Sender) -> Steps:
    """What the stack says of its state; names that are none of ours say nothing."""
    rows = sender.rows.kind(EventKind.CONGESTION_STATE, EventKind.STATE)
    codes = np.array([*(state_rules.CODES.get(text, NULL) for text in rows.texts["name"]), NULL], np.int64)  # type: ignore[call-overload]
    return Steps(rows["time_ns"], codes[rows["name"]])


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
