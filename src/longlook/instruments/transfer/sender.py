"""The time of a transfer by the record of the end that sends: why did its next packet not leave sooner? Pure.

docs/guide/your-trace.md lists the rules. They look at the pause between two packets with data.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from longlook.explain import NEVER, Booleans, Integers, Steps
from longlook.instruments.transfer.classes import Intervals, Rules, TimeClass
from longlook.instruments.transfer.path import PathFacts
from longlook.instruments.transfer.recording import APPLICATION, Packets, Recording, matched

TRIGGER_NS = 1_000_000
"""A packet that leaves so soon after one that arrived leaves because of it."""
BURST_NS = 100_000
"""A pause up to this long is the program at work."""
_BURST_PACKETS = 10
"""A pacer may send this number of packets at once (RFC 9002, 7.7)."""
_PACING_GAIN = 1.25
_PROBE_RTTS = 2
_STATE_WORDS = {
    "slow_start": "slow start",
    "congestion_avoidance": "congestion avoidance",
    "recovery": "recovery",
    "timeout": "after a timeout",
}
LIMITS = {
    "stream": TimeClass.STREAM_CREDIT,
    "connection": TimeClass.CONNECTION_CREDIT,
    "receive_window": TimeClass.CONNECTION_CREDIT,
}
"""The classes of time in which a sender waits for its receiver's credit."""


@dataclass(frozen=True)
class Pauses:
    """The pauses of a sender, each from a packet with data to the next. Arrays of shape (N,); times are ns."""

    begin_ns: Integers
    end_ns: Integers
    trigger_ns: Integers  # the last packet that arrived before the end, -1 for none
    triggered: Booleans  # the end follows a packet that arrived in the pause
    in_flight_bytes: Integers  # just before the pause ended
    cwnd_bytes: Integers  # at that time; -1 if it is not logged
    full_at_begin: Booleans  # the packet before the pause left no room, and a round trip or two passed since
    packet_bytes: int  # the usual size

    @property
    def length_ns(self) -> Integers:
        """The length of each."""
        return self.end_ns - self.begin_ns

    @property
    def room(self) -> Booleans:
        """Which end with a window that is known to have room for more than a packet."""
        free = self.cwnd_bytes - self.in_flight_bytes > self.packet_bytes
        return np.asarray((self.cwnd_bytes >= 0) & free & ~self.full_at_begin, np.bool_)

    @property
    def full(self) -> Booleans:
        """Which end with a window that is known to be full."""
        return np.asarray((self.cwnd_bytes >= 0) & ~self.room, np.bool_)


def data_of(recording: Recording) -> Packets:
    """Return the packets with data that this end sent after the handshake."""
    sent = recording.sent
    return sent.take(sent.carries_data & (sent.space == APPLICATION))


def in_flight(recording: Recording) -> Steps:
    """Return the bytes that were sent and neither acknowledged nor declared lost; as logged if that is not recorded."""
    sent = recording.sent
    if not len(recording.acked):
        return recording.figures.in_flight_bytes
    own = sent.take(sent.carries_data)
    times, sizes = [own.time_ns], [np.maximum(own.size_bytes, 0)]
    settled = np.full(len(own), NEVER, np.int64)
    for left in (recording.lost, recording.acked):
        place = matched(left, own)
        known = place >= 0
        np.minimum.at(settled, place[known], left.time_ns[known])
    done = settled < NEVER
    times.append(settled[done])
    sizes.append(-np.maximum(own.size_bytes[done], 0))
    moments, changes = np.concatenate(times), np.concatenate(sizes)
    order = np.argsort(moments, kind="stable")
    return Steps(moments[order], np.cumsum(changes[order]))


def pauses_of(recording: Recording, data: Packets) -> Pauses:
    """Return the pauses of a sender between its packets with data."""
    begin, end = data.time_ns[:-1], data.time_ns[1:]
    reached = recording.received.time_ns
    place = np.searchsorted(reached, end, side="right") - 1
    trigger = np.where(place >= 0, np.append(reached, -1)[place], -1)
    triggered = (trigger > begin) & (end - trigger <= TRIGGER_NS)
    seen = np.where(triggered, np.maximum(trigger - 1, begin), end - 1)
    sizes = data.size_bytes[data.size_bytes > 0]
    usual = int(np.percentile(sizes, 90)) if len(sizes) else 1200
    figures, flying = recording.figures, in_flight(recording)
    window = figures.cwnd_bytes.at(begin, -1)
    short = end - begin <= _PROBE_RTTS * np.maximum(figures.smoothed_rtt_ns.at(begin, 0), TRIGGER_NS)
    full = (window >= 0) & (window - flying.at(begin, 0) <= usual) & short
    return Pauses(
        begin,
        end,
        trigger,
        triggered,
        flying.at(seen, 0),
        figures.cwnd_bytes.at(seen, -1),
        np.asarray(full, np.bool_),
        usual,
    )


def handshake_end_ns(recording: Recording) -> int:
    """Return when the first data could be sent: 0 if the trace does not have the handshake.

    A server may send from the client's first packet with data on, a client once the handshake is complete.
    """
    if not recording.handshake_seen:
        return 0
    complete = [each.time_ns for each in recording.milestones if each.name in ("complete", "confirmed")]
    first = recording.received if recording.end == "server" else recording.sent
    data = first.time_ns[first.space == APPLICATION]
    if recording.end == "client" and complete:
        return min(*complete, int(data[0])) if len(data) else min(complete)
    if len(data):
        return int(data[0])
    return min(complete, default=0)


def sender_time(recording: Recording, path: PathFacts, waits: tuple[Integers, Integers]) -> Intervals | None:
    """Return the classes of time of a sender's record, None if it sent fewer than two packets with data.

    `waits` are begins and ends of waits in queues of the path, on this end's clock.
    """
    data = data_of(recording)
    if len(data) < 2:
        return None
    pauses = pauses_of(recording, data)
    opened_ns = min(handshake_end_ns(recording), int(data.time_ns[0]))
    acked = recording.acked.time_ns
    over_ns = max(int(data.time_ns[-1]), int(acked[-1]) if len(acked) else 0)
    busy_begin, busy_end = _union(*waits)
    asked_ns = recording.streams.time_ns[:1]
    bounds = np.unique(np.concatenate([[0, opened_ns, over_ns], data.time_ns, busy_begin, busy_end, asked_ns]))
    bounds = bounds[(bounds >= 0) & (bounds <= over_ns)]
    rules = Rules(bounds)
    start = rules.start_ns
    rules.decide(start < opened_ns, TimeClass.HANDSHAKE)
    rules.decide(_covered(start, busy_begin, busy_end), TimeClass.PATH)
    rules.decide(start >= data.time_ns[-1], TimeClass.PROPAGATION)
    if recording.end == "server" and len(asked_ns):
        asked = (start >= asked_ns[0]) & (start < data.time_ns[0])
        rules.decide(asked, TimeClass.APPLICATION, "rule: it was asked, and does not answer yet")
    rules.decide(start < data.time_ns[0], TimeClass.PEER_IDLE if recording.end != "client" else TimeClass.APPLICATION)
    place = np.clip(np.searchsorted(pauses.begin_ns, start, side="right") - 1, 0, len(pauses.begin_ns) - 1)
    _decide_pauses(rules, recording, pauses, place, path)
    return rules.decided()


def _decide_pauses(rules: Rules, recording: Recording, pauses: Pauses, place: Integers, path: PathFacts) -> None:
    length = pauses.length_ns
    usual_pause = _paced_pause_ns(recording, pauses)
    rules.decide((length <= BURST_NS)[place], TimeClass.SENDING)
    fired = np.array([timer.time_ns for timer in recording.timers], np.int64)
    by_timer = _ends_at(pauses.end_ns, fired) & ~pauses.triggered
    rules.decide(by_timer[place], TimeClass.TIMER)
    rules.decide(probing(recording, pauses)[place], TimeClass.TIMER, "rule: it goes on by itself with a full window")
    for limit, name in LIMITS.items():
        moments = np.array([each.time_ns for each in recording.blocked if each.limit == limit], np.int64)
        blocked = _within(pauses.begin_ns, pauses.end_ns, np.sort(moments))
        rules.decide((blocked & ~pauses.full)[place], name)
    states = _states_at(recording, pauses.end_ns - 1)
    full = pauses.full
    for word in (*_STATE_WORDS.values(), ""):
        rules.decide((full & (states == word))[place], TimeClass.CONGESTION_WINDOW, word)
    rules.decide((pauses.room & (length <= usual_pause))[place], TimeClass.PACING)
    asked = _asked(recording, pauses)
    rules.decide(asked[place], TimeClass.PEER_IDLE if recording.end != "client" else TimeClass.APPLICATION)
    rules.decide(pauses.room[place], TimeClass.APPLICATION, "rule: the window has room")
    unknown = pauses.cwnd_bytes < 0
    rules.decide((unknown & pauses.triggered)[place], TimeClass.CONGESTION_WINDOW, "rule: it sends when acknowledged")
    rtt = path.shortest_rtt_ns or 0
    paced = unknown & (length <= max(rtt, _BURST_PACKETS * BURST_NS))
    rules.decide(paced[place], TimeClass.PACING, "rule: it sends unasked")
    rules.decide(unknown[place], TimeClass.APPLICATION, "rule: it sends unasked after more than a round trip")


def probing(recording: Recording, pauses: Pauses) -> Booleans:
    """Return which pauses end by themselves with a full window, later than acknowledgements can come.

    A full window lets nothing out but what a timer sends: a probe (RFC 9002, 6.2), which not every stack logs.
    """
    rtt = recording.figures.smoothed_rtt_ns.at(pauses.end_ns - 1, 0)
    late = pauses.length_ns > np.maximum(_PROBE_RTTS * rtt, 10 * TRIGGER_NS)
    found: Booleans = pauses.full & ~pauses.triggered & late & (pauses.in_flight_bytes > 0)
    return found


def _paced_pause_ns(recording: Recording, pauses: Pauses) -> Integers:
    """Return for each pause how long one of a pacer may be: ten packets at its rate, and the grain of a timer."""
    figures = recording.figures
    seen = np.maximum(pauses.end_ns - 1, 0)
    rate = figures.pacing_bps.at(seen, 0).astype(np.float64)
    rtt = figures.smoothed_rtt_ns.at(seen, 0)
    by_window = np.divide(
        _PACING_GAIN * 8e9 * np.maximum(pauses.cwnd_bytes, 0), rtt, out=np.zeros(len(rtt)), where=rtt > 0
    )
    rate = np.where(rate > 0, rate, by_window)
    pause = np.divide(
        _BURST_PACKETS * pauses.packet_bytes * 8e9, rate, out=np.full(len(rate), float(TRIGGER_NS)), where=rate > 0
    )
    return np.asarray(np.minimum(pause + TRIGGER_NS, 1e15), np.int64)


def _asked(recording: Recording, pauses: Pauses) -> Booleans:
    """Return which pauses end with an answer to something larger than an acknowledgement, with nothing in flight."""
    received = recording.received
    asking = received.take(received.space == APPLICATION).time_ns
    streams = recording.streams.time_ns
    moments = streams if len(streams) else asking
    idle = pauses.in_flight_bytes <= 0
    found: Booleans = idle & pauses.triggered & _within(pauses.begin_ns, pauses.end_ns, moments)
    return found


def _states_at(recording: Recording, times_ns: Integers) -> npt.NDArray[np.str_]:
    words = ["", *_STATE_WORDS.values()]
    codes = [words.index(_STATE_WORDS.get(state.name, "")) for state in recording.states]
    steps = Steps(np.array([state.time_ns for state in recording.states], np.int64), np.array(codes, np.int64))
    found: npt.NDArray[np.str_] = np.array(words)[steps.at(times_ns, 0)]
    return found


def _ends_at(ends_ns: Integers, moments_ns: Integers) -> Booleans:
    """Return which ends follow one of some moments within the time of a trigger."""
    if not len(moments_ns):
        return np.zeros(len(ends_ns), np.bool_)
    place = np.searchsorted(moments_ns, ends_ns + TRIGGER_NS, side="right") - 1
    last = np.where(place >= 0, moments_ns[np.maximum(place, 0)], -NEVER)
    return np.asarray(ends_ns - last <= TRIGGER_NS, np.bool_)


def _within(begins_ns: Integers, ends_ns: Integers, moments_ns: Integers) -> Booleans:
    """Return which half-open intervals (begin, end] hold one of some moments, which ascend; a begin counts too."""
    first = np.searchsorted(moments_ns, begins_ns, side="left")
    last = np.searchsorted(moments_ns, ends_ns, side="right")
    found: Booleans = last > first
    return found


def _union(begins_ns: Integers, ends_ns: Integers) -> tuple[Integers, Integers]:
    """Return the same intervals without overlaps, in order."""
    if not len(begins_ns):
        return begins_ns, ends_ns
    order = np.argsort(begins_ns, kind="stable")
    begins, furthest = begins_ns[order], np.maximum.accumulate(ends_ns[order])
    new = np.ones(len(begins), np.bool_)
    new[1:] = begins[1:] > furthest[:-1]
    first = np.flatnonzero(new)
    return begins[first], furthest[np.append(first[1:], len(begins)) - 1]


def _covered(times_ns: Integers, begins_ns: Integers, ends_ns: Integers) -> Booleans:
    """Return which times lie in one of some intervals, which are in order and do not overlap."""
    place = np.searchsorted(begins_ns, times_ns, side="right") - 1
    if not len(begins_ns):
        return np.zeros(len(times_ns), np.bool_)
    found: Booleans = (place >= 0) & (times_ns < ends_ns[np.maximum(place, 0)])
    return found
