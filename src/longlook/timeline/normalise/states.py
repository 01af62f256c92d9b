"""A sender's records → its states over time: its own if it logs them, else by rules. Pure.

docs/reference/timeline.md#states defines the rules.

Each rule returns steps over time: a state's code while the rule holds, and nothing otherwise.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import pyarrow as pa

from longlook.timeline.events import EventKind
from longlook.timeline.normalise.event_tables import event_table
from longlook.timeline.normalise.rows import NULL, Integers, Mask, Rows
from longlook.timeline.normalise.sender import Sender
from longlook.timeline.normalise.trace_files import TCP, TracePlace
from longlook.timeline.states import State


@dataclass(frozen=True)
class CodeSteps:
    """From `times_ns[i]` on the value is `codes[i]`; NULL before the first and for no value. Times ascend."""

    times_ns: Integers
    codes: Integers

    @classmethod
    def none(cls) -> "CodeSteps":
        """Return steps without any value."""
        return cls(np.zeros(0, np.int64), np.zeros(0, np.int64))

    @classmethod
    def of_intervals(cls, begins_ns: Integers, ends_ns: Integers, code: int) -> "CodeSteps":
        """Return `code` from each begin to its end; intervals are in order and do not overlap."""
        lasting = ends_ns > begins_ns
        begins_ns, ends_ns = begins_ns[lasting], ends_ns[lasting]
        times_ns = np.stack([begins_ns, ends_ns], axis=1).reshape(-1)
        return cls(times_ns, np.tile(np.array([code, NULL], np.int64), len(begins_ns)))

    @classmethod
    def where(cls, times_ns: Integers, mask: Mask, code: int) -> "CodeSteps":
        """Return `code` from each time at which the mask is true to the next at which it is not."""
        return cls(times_ns, np.where(mask, code, NULL))

    def at(self, times_ns: Integers) -> Integers:
        """Return the values at some times; of several steps at one time the last counts."""
        index = np.searchsorted(self.times_ns, times_ns, side="right") - 1
        if not len(self.codes):
            return np.full(len(times_ns), NULL, np.int64)
        return np.where(index < 0, NULL, self.codes[np.maximum(index, 0)])


def layered(layers: Sequence[CodeSteps], begin_ns: int, end_ns: int) -> tuple[Integers, Integers, Integers]:
    """Return the value of the first layer that has one, from `begin_ns` to before `end_ns`.

    The result is the times at which layer or code change, the layer's index at each, and its code; NULL if no layer has
    a value.
    """
    bounds = [np.array([begin_ns], np.int64), *(layer.times_ns for layer in layers)]
    times_ns = np.unique(np.concatenate(bounds))
    times_ns = times_ns[(times_ns >= begin_ns) & ((times_ns < end_ns) | (times_ns == begin_ns))]
    chosen = np.full(len(times_ns), NULL, np.int64)
    codes = np.full(len(times_ns), NULL, np.int64)
    for index in reversed(range(len(layers))):
        found = layers[index].at(times_ns)
        speaks = found != NULL
        chosen[speaks], codes[speaks] = index, found[speaks]
    changed = np.concatenate([[True], (np.diff(chosen) != 0) | (np.diff(codes) != 0)])
    return times_ns[changed], chosen[changed], codes[changed]


CODES = {state: code for code, state in enumerate(State)}
STATES_BY_CODE = tuple(State)

UNUSED_PACKETS = 3
"""The packets of a window that may be free while the window is still the limit: a pacer or a burst leaves as many."""
UNUSED_SLOW_START = 0.5
"""The same in slow start, as a share: acknowledgements double the window within a round trip (RFC 9002, 7.8)."""
MAXED_RTTS = 10
"""A window that is used and does not grow for this number of round trips is at its maximum."""
SLOW_GROWTH = 1 / 8
"""A share of the bytes acknowledged: a window that grows by less within a round trip is no longer in slow start.
Slow start grows by all of them, its conservative kind (RFC 9406) by a quarter.
"""
_FEWEST_ACKED_PACKETS = 10  # a growth is judged from
COLLAPSE = 0.4
"""A window that falls below this share of its size has been reset, not reduced: slow start begins again."""
PROBE, TIMEOUT = 1, 2


def initial(sender: Sender) -> CodeSteps:
    """Return `init`: from the first event until the handshake is complete or application data may have been sent.

    For the kernel's records, which have no packets, it ends with their first figures.
    """
    rows = sender.rows
    complete = rows.matches("kind", EventKind.MILESTONE) & rows.matches("name", "complete", "confirmed")
    application = rows.matches("kind", EventKind.PACKET_SENT) & rows.matches("space", "0rtt", "1rtt")
    if not rows.matches("kind", EventKind.PACKET_SENT).any():  # the kernel's records: its figures begin with the data
        application = rows.matches("kind", EventKind.METRICS, EventKind.PACKET_ACKED)
    found = np.flatnonzero(complete | application)
    ends_ns = int(rows["time_ns"][found[0]]) if len(found) else sender.end_ns + 1
    return CodeSteps.of_intervals(np.array([sender.begin_ns]), np.array([ends_ns]), CODES[State.INIT])


def recoveries(sender: Sender) -> tuple[Integers, Integers]:
    """Return begin and end of each recovery (RFC 9002, 7.3.2), shape (recoveries,) each.

    It begins when a packet is declared lost that was sent since the last recovery began, and ends when a packet is
    acknowledged that was sent since it began itself. Losses of single packets larger than any acknowledged before,
    which are probes of the path's MTU, begin none (RFC 9000, 14.4).
    """
    rows = sender.rows
    lost = sender.position(EventKind.PACKET_LOST)
    lost = lost[sender.application_packets[lost]]
    lost = lost[~_mtu_probes(sender, lost)]
    numbers = rows["packet_number"][lost]
    evidence, acknowledged = sender.evidence
    begins, ends = [], []
    threshold, until = NULL, -1
    for position, number in zip(lost.tolist(), numbers.tolist(), strict=True):
        if position < until or (number != NULL and number <= threshold):
            continue
        threshold = int(sender.highest_sent[position])
        index = max(np.searchsorted(acknowledged, threshold, side="right"), np.searchsorted(evidence, position))
        until = int(evidence[index]) if index < len(evidence) else len(rows)
        begins.append(int(rows["time_ns"][position]))
        ends.append(int(rows["time_ns"][until]) if until < len(rows) else sender.end_ns + 1)
    return np.array(begins, np.int64), np.array(ends, np.int64)


def _mtu_probes(sender: Sender, lost: Integers) -> Mask:
    sizes = sender.rows["size_bytes"]
    acked = sender.rows.matches("kind", EventKind.PACKET_ACKED) & sender.application_packets
    largest = np.maximum.accumulate(np.where(acked, sizes, NULL))[lost]
    larger: Mask = (largest != NULL) & (sizes[lost] > largest)
    return larger


def slow_start(sender: Sender, recovery: tuple[Integers, Integers]) -> CodeSteps:
    """Return `slow_start` or `congestion_avoidance` at each time, whatever else is true then."""
    metrics = sender.windows
    avoidance, start = CODES[State.CONGESTION_AVOIDANCE], CODES[State.SLOW_START]
    begin = np.array([sender.begin_ns], np.int64)
    if (metrics["ssthresh_bytes"] != NULL).any():
        threshold = metrics["ssthresh_bytes"]
        slow = (threshold == NULL) | (metrics["cwnd_bytes"] < threshold)
        return CodeSteps(np.append(begin, metrics["time_ns"]), np.append([start], np.where(slow, start, avoidance)))
    found = [(sender.begin_ns, start)]
    left_ns = _stopped_growing(sender, int(recovery[0][0]) if len(recovery[0]) else None)
    if left_ns is not None:
        found.append((left_ns, avoidance))
    thresholds = _thresholds(metrics["time_ns"], metrics["cwnd_bytes"], recovery)
    found += [(time_ns, start if slow else avoidance) for time_ns, slow in thresholds]
    found.sort(key=lambda each: each[0])
    times, codes = zip(*found, strict=True)
    return CodeSteps(np.array(times, np.int64), np.array(codes, np.int64))


def _thresholds(times_ns: Integers, windows: Integers, recovery: tuple[Integers, Integers]) -> list[tuple[int, bool]]:
    """Return when slow start ends (False) and begins again (True), from the losses and the windows alone.

    A loss ends it. A window that collapses, after persistent congestion, begins it again up to half of what it was.
    """
    found = [(int(time_ns), False) for time_ns in recovery[0]]
    before = windows[:-1]
    for index in np.flatnonzero(windows[1:] < COLLAPSE * before) + 1:
        found.append((int(times_ns[index]), True))
        again = np.flatnonzero(windows[index:] >= windows[index - 1] / 2)
        if len(again):
            found.append((int(times_ns[index + again[0]]), False))
    return sorted(found)


def _stopped_growing(sender: Sender, before_ns: int | None) -> int | None:
    """Return when the window, though in use, stopped growing with acknowledgements, before the first loss."""
    metrics = sender.metrics
    until = before_ns if before_ns is not None else sender.end_ns + 1
    metrics = metrics.take(metrics["time_ns"] < until)
    acked_ns, acked = sender.acked_bytes
    if not len(metrics) or not len(acked_ns):
        return None
    times_ns, windows = metrics["time_ns"], metrics["cwnd_bytes"]
    began_ns = times_ns - sender.rtt_ns(times_ns)
    earlier = np.searchsorted(times_ns, began_ns, side="right") - 1
    growth = windows - windows[np.maximum(earlier, 0)]
    total = np.concatenate([[0], acked])
    amount = total[np.searchsorted(acked_ns, times_ns, side="right")] - total[np.searchsorted(acked_ns, began_ns)]
    used = _used(sender, times_ns)
    slow = (earlier >= 0) & used & (amount >= _FEWEST_ACKED_PACKETS * sender.mss_bytes)
    slow &= growth < SLOW_GROWTH * amount
    found = np.flatnonzero(slow)
    return int(began_ns[found[0]]) if len(found) else None


def full_moments(sender: Sender, slow: CodeSteps) -> tuple[Integers, Integers]:
    """Return times at which the window was practically full, and the time of the next row of metrics after each."""
    metrics = sender.metrics
    free = metrics["cwnd_bytes"] - metrics["in_flight_bytes"]
    full = free <= UNUSED_PACKETS * sender.mss_bytes
    is_slow = slow.at(metrics["time_ns"]) == CODES[State.SLOW_START]
    full |= is_slow & (metrics["in_flight_bytes"] > UNUSED_SLOW_START * metrics["cwnd_bytes"])
    index = np.flatnonzero(full)
    following = np.append(metrics["time_ns"], sender.end_ns)[index + 1]
    return metrics["time_ns"][index], following


def application_limited(sender: Sender, slow: CodeSteps) -> CodeSteps:
    """Return `application_limited`: between two moments of a full window that are more than a round trip apart."""
    if not len(sender.metrics):
        return CodeSteps.none()
    times_ns, following_ns = full_moments(sender, slow)
    first_ns = int(sender.metrics["time_ns"][0])
    begins_ns = np.append(first_ns, following_ns)
    fulls_ns = np.append(first_ns, times_ns)
    ends_ns = np.append(times_ns, sender.end_ns + 1)
    long = ends_ns - fulls_ns > sender.rtt_ns(fulls_ns)
    return CodeSteps.of_intervals(begins_ns[long], ends_ns[long], CODES[State.APPLICATION_LIMITED])


def logged_limited(sender: Sender) -> CodeSteps:
    """Return `application_limited` as logged by the stack or the kernel in rows of kind app_limited."""
    rows = sender.rows.kind(EventKind.APP_LIMITED)
    return CodeSteps.where(rows["time_ns"], rows.value() > 0, CODES[State.APPLICATION_LIMITED])


def _used(sender: Sender, times_ns: Integers) -> Mask:
    """Return whether the window was full within the last round trip."""
    full_ns, _ = full_moments(sender, CodeSteps(np.array([sender.begin_ns]), np.array([CODES[State.SLOW_START]])))
    index = np.searchsorted(full_ns, times_ns, side="right") - 1
    latest = full_ns[np.maximum(index, 0)] if len(full_ns) else np.zeros(len(times_ns), np.int64)
    return (index >= 0) & (times_ns - latest <= sender.rtt_ns(times_ns))


def maxed(sender: Sender, limited: CodeSteps) -> CodeSteps:
    """Return `congestion_avoidance_maxed`: the largest window so far, in use and unchanged for MAXED_RTTS."""
    metrics = sender.metrics
    if not len(metrics):
        return CodeSteps.none()
    windows, times_ns = metrics["cwnd_bytes"], metrics["time_ns"]
    begin = np.flatnonzero(np.diff(windows, prepend=NULL) != 0)
    ends_ns = np.append(times_ns[begin[1:]], sender.end_ns + 1)
    begins_ns = times_ns[begin]
    largest = windows[begin] >= np.maximum.accumulate(windows)[begin]
    idle_ns = _time_in(limited, begins_ns, ends_ns)
    long = ends_ns - begins_ns - idle_ns >= MAXED_RTTS * sender.rtt_ns(begins_ns)
    chosen = largest & long & (idle_ns < (ends_ns - begins_ns) / 2)
    return CodeSteps.of_intervals(begins_ns[chosen], ends_ns[chosen], CODES[State.CONGESTION_AVOIDANCE_MAXED])


def _time_in(steps: CodeSteps, begins_ns: Integers, ends_ns: Integers) -> Integers:
    """Return how much of each interval some steps cover with a code, in ns."""
    if not len(steps.times_ns):
        return np.zeros(len(begins_ns), np.int64)
    lengths = np.diff(steps.times_ns, append=steps.times_ns[-1])
    total = np.concatenate([[0], np.cumsum(np.where(steps.codes != NULL, lengths, 0))])

    def until(times_ns: Integers) -> Integers:
        index = np.searchsorted(steps.times_ns, times_ns, side="right") - 1
        inside = np.where(steps.codes[np.maximum(index, 0)] != NULL, times_ns - steps.times_ns[np.maximum(index, 0)], 0)
        return np.where(index < 0, 0, total[np.maximum(index, 0)] + inside)

    return until(ends_ns) - until(begins_ns)


def timers(sender: Sender) -> CodeSteps:
    """Return `loss_probe` from a first probe timeout, `timeout` from a second in a row or TCP's own, until an
    acknowledgement.

    For stacks that log no acknowledgement: until a new sample of the round trip time.
    """
    fired = sender.position(EventKind.PTO)
    if not len(fired):
        return CodeSteps.none()
    count = np.nan_to_num(sender.rows.value()[fired], nan=1.0)
    severe = (count >= TIMEOUT) | sender.rows.matches("name", "rto")[fired]
    severe &= ~sender.rows.matches("name", "tlp")[fired]
    evidence = sender.position(EventKind.PACKET_ACKED)
    evidence = evidence if len(evidence) else sender.evidence[0]
    index = np.searchsorted(evidence, fired)
    ends_ns = np.append(sender.rows["time_ns"][evidence], sender.end_ns + 1)[index]
    begins_ns = sender.rows["time_ns"][fired]
    ends_ns = np.minimum(ends_ns, np.append(begins_ns[1:], sender.end_ns + 1))
    codes = np.where(severe, CODES[State.TIMEOUT], CODES[State.LOSS_PROBE])
    times_ns = np.stack([begins_ns, ends_ns], axis=1).reshape(-1)
    return CodeSteps(times_ns, np.stack([codes, np.full(len(codes), NULL)], axis=1).reshape(-1))


DERIVED = "derived"
OWN = "own"
"""The detail of a state that the stack's own log holds."""

_LOSS_BASED = ("reno", "newreno", "cubic")
_GROWTH = [CODES[state] for state in (State.SLOW_START, State.CONGESTION_AVOIDANCE)]


class Rule(StrEnum):
    """The names of the rules, as `detail` of the rows has them; docs/reference/timeline.md#states defines each."""

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
    """Return the merged view: the stack's own states, and by rules the states that its log has no word for.

    `rows`: all events of one connection at one end, with sender.COLUMNS. `source`: the writer of the trace.
    `controller`: the congestion controller that the sender was configured with; None means the controller that the
    trace names. If the stack logs no states, rules find all of them.
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
    """Return whether the stack logs that the application limits it, and when, outside of its states.

    The kernel's flag does not count, because it belongs to the last sample of the delivery rate that was kept. It holds
    from the connection's birth until a sample without it is faster (`tcp_rate_gen` of Linux), and does not come back
    for slower samples at the end. For the kernel the rule uses its window and its bytes in flight.
    """
    if source == TCP:
        return False, CodeSteps.none()
    logged = logged_limited(sender)
    return bool(len(logged.times_ns) or (own.codes == CODES[State.APPLICATION_LIMITED]).any()), logged


def _beginning(sender: Sender, own: CodeSteps, rule: dict[Rule, Layer]) -> Layer:
    """Return the handshake; without a rule for the states, `init` lasts until the controller logs its own first
    state.
    """
    handshake, unknown = rule[Rule.HANDSHAKE], rule[Rule.CONTROLLER]
    if not len(unknown.steps.times_ns) or not len(own.times_ns):
        return handshake
    ends_ns = max([int(own.times_ns[0]), *handshake.steps.times_ns[-1:].tolist()])
    steps = CodeSteps.of_intervals(np.array([sender.begin_ns]), np.array([ends_ns]), CODES[State.INIT])
    return Layer(handshake.name, DERIVED, steps)


def _derived(sender: Sender, source: str, controller: str | None) -> dict[Rule, Layer]:
    """Return the states by each rule, ordered so that the first that holds counts."""
    recovery = recoveries(sender)
    growth = limited = cap = unknown = CodeSteps.none()
    if _window_based(source, controller or sender.controller):
        growth = slow_start(sender, recovery)
        limited = application_limited(sender, growth)
        cap = maxed(sender, limited)
    else:
        unknown = CodeSteps(np.array([sender.begin_ns], np.int64), np.array([CODES[State.UNKNOWN]]))
    steps = {
        Rule.TIMER: timers(sender),
        Rule.HANDSHAKE: initial(sender),
        Rule.LOSS: CodeSteps.of_intervals(*recovery, CODES[State.RECOVERY]),
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
    codes = np.array([*(CODES.get(text, NULL) for text in rows.texts["name"]), NULL], np.int64)  # type: ignore[call-overload]
    return CodeSteps(rows["time_ns"], codes[rows["name"]])


def _view(sender: Sender, layers: Sequence[Layer]) -> StateRows:
    times_ns, chosen, codes = layered([layer.steps for layer in layers], sender.begin_ns, sender.end_ns + 1)
    known = chosen != NULL
    times_ns, chosen, codes = times_ns[known], chosen[known].tolist(), codes[known].tolist()
    return StateRows(
        times_ns.tolist(),
        [STATES_BY_CODE[code] for code in codes],
        [layers[index].source for index in chosen],
        [layers[index].name for index in chosen],
        sender.end_ns,
    )
