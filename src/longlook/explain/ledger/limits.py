"""The limits of the senders at given moments, from their logs, else from the link's. Pure.

Frames of HTTP/2 are encrypted, so its flow control is known by the bytes in flight: a sender that stops with as much as
the client's windows allow has no more credit. A client may open its windows again only once half of them has arrived,
so that TCP can have acknowledged half of a window that is not yet open again.
"""

from dataclasses import dataclass, field

import numpy as np

from longlook.explain.facts.columns import NEVER, Booleans, Integers
from longlook.explain.facts.credits import FirstCredits, configured_buffer_bytes
from longlook.explain.facts.link import LinkFacts
from longlook.explain.facts.sender import SenderFacts
from longlook.explain.ledger.classes import LedgerClass
from longlook.explain.ledger.load import Load
from longlook.explain.ledger.moments import Moments
from longlook.timeline import State


@dataclass(frozen=True)
class TcpFlight:
    """New segments as they reached the link, and acknowledgements as they left it towards the sender.

    `ends` and `acked` count bytes from the first one, and ascend; shapes (segments,) and (acknowledgements,).
    """

    sent_ns: Integers
    ends: Integers
    returned_ns: Integers
    acked: Integers

    @classmethod
    def of(cls, data: LinkFacts, back: LinkFacts, flow: str) -> "TcpFlight":
        """Return the flight of one flow; empty if the link saw no data or no acknowledgement of it."""
        own = np.flatnonzero(data.of_flow(flow) & (data.payload_bytes > 0))
        acks = np.flatnonzero(back.of_flow(flow) & back.delivered & (back.acknowledgement > 0))
        if len(own) == 0 or len(acks) == 0:
            return cls(*(np.zeros(0, np.int64) for _ in range(4)))
        origin = int(data.transport_sequence[own[0]])
        ends = _unwrapped(data.transport_sequence[own], origin) + data.payload_bytes[own]
        new = ends > np.concatenate([[-1], np.maximum.accumulate(ends)[:-1]])
        acks = acks[np.argsort(back.departure_ns[acks], kind="stable")]
        acked = np.maximum.accumulate(_unwrapped(back.acknowledgement[acks], origin))
        return cls(data.arrival_ns[own[new]], ends[new], back.departure_ns[acks], acked)

    def segments(self, times_ns: Integers) -> Integers:
        """Return the number of new segments in flight, which the kernel's window counts, however small they are."""
        so_far = np.concatenate([[0], np.searchsorted(self.ends, self.acked, side="right")])
        return np.asarray(np.maximum(0, self._sent(times_ns) - so_far[self._returned(times_ns)]), np.int64)

    def bytes(self, times_ns: Integers) -> Integers:
        """Return how many bytes were sent and not acknowledged."""
        sent = np.concatenate([[0], self.ends])[self._sent(times_ns)]
        acked = np.concatenate([[0], self.acked])[self._returned(times_ns)]
        return np.asarray(np.maximum(0, sent - acked), np.int64)

    def _sent(self, times_ns: Integers) -> Integers:
        return np.searchsorted(self.sent_ns, times_ns, side="right")

    def _returned(self, times_ns: Integers) -> Integers:
        return np.searchsorted(self.returned_ns, times_ns, side="right")


def _unwrapped(numbers: Integers, origin: int) -> Integers:
    """Return 32-bit numbers in order of time as offsets from the first; neighbours lie within half of their range."""
    steps = np.diff(numbers, prepend=origin).astype(np.uint32).astype(np.int32).astype(np.int64)
    return np.cumsum(steps)


_OVERHEAD = 16
"""Headers of frames and TLS records, which flow control does not count, add at most the reciprocal of this."""


def http2_credit(
    load: Load, flow: str, stopped_ns: Integers, flight: TcpFlight, segment: int
) -> dict[LedgerClass, Booleans]:
    """Return at which idle moments a connection's sender had used up the credit that its client offers.

    The smaller credit counts: the connection's window, or the sum of the windows of streams with an answer under way.
    Empty if the client's windows are not known. `segment` is the usual payload of a packet in bytes.
    """
    windows = load.http2.get(flow)
    if windows is None or (windows.stream_bytes is None and windows.connection_bytes is None):
        return {}
    in_flight = flight.bytes(stopped_ns)
    streams = _under_way(load, stopped_ns)
    of_stream = NEVER if windows.stream_bytes is None else windows.stream_bytes
    connection = NEVER if windows.connection_bytes is None else windows.connection_bytes
    by_stream = of_stream <= connection // streams

    def used_up(least: int, most: Integers) -> Booleans:
        room = most // _OVERHEAD + 2 * segment
        found: Booleans = (in_flight >= least // 2 - 2 * segment) & (in_flight - room <= most) & (in_flight > 0)
        return found

    return {
        LedgerClass.HTTP2_STREAM_CREDIT: by_stream & used_up(of_stream, np.where(by_stream, streams * of_stream, 0)),
        LedgerClass.HTTP2_CONNECTION_CREDIT: ~by_stream & used_up(connection, np.full(len(streams), connection)),
    }


def _under_way(load: Load, times_ns: Integers) -> Integers:
    """Return how many answers had begun to leave the server and not arrived whole at each time, at least one."""
    begun = np.searchsorted(np.sort(load.objects.answered_ns), times_ns, side="right")
    ended = np.searchsorted(np.sort(load.objects.done_ns), times_ns, side="right")
    return np.asarray(np.maximum(1, begun - ended), np.int64)


_STAMP_NS = 1_000_000
"""The coarsest stamps of logs (ngtcp2)."""
_DEFERRED_SEGMENTS = 3
"""The segments of its window that the kernel leaves free, to send more at once later; docs/reference/timeline.md#states
has the same number.
"""
_BURST_PACKETS = 10
"""The packets that a pacer lets go at once; it then waits for all of them (RFC 9002, 7.7)."""
_DEFAULT_RTT_NS = 100_000_000
"""The round trip time that is assumed if no log has one."""

Named = dict[str | None, Booleans]
"""The moments at which something holds, by its text in a ledger's detail."""

CREDIT_BY_RULE = "rule: with room in the window it waits for the client"
"""The detail of `stream_credit`, `connection_credit`, HTTP/2's credits and `send_buffer` if no event says so."""
PACED_BY_RULE = "rule: the window has room"
"""The detail of `pacing` if the sender logs no rate, and of `application` if its log does not say it."""

BLOCKED_CLASSES = {
    "stream": LedgerClass.STREAM_CREDIT,
    "connection": LedgerClass.CONNECTION_CREDIT,
    "receive_window": LedgerClass.CONNECTION_CREDIT,
    "send_buffer": LedgerClass.SEND_BUFFER,
}
"""The class of each limit that events of kind `blocked` name."""


@dataclass(frozen=True)
class Limits:
    """The limits of the next packet's sender at each of some moments; arrays of shape (moments,)."""

    full: Booleans  # no room for a datagram in the congestion window
    unlogged: Booleans  # no log of the sender has its window
    application: Booleans  # the sender logged that it had nothing to send
    all_sent: Booleans  # what comes after is no more than what was dropped before
    dropped: Booleans  # a packet with data was dropped in the last two round trips before the silence
    fired: Booleans  # a timer that was logged sent the next packet
    roomy: Booleans  # the window is logged and has room
    blocked: dict[LedgerClass, Booleans] = field(default_factory=dict)
    credit: dict[LedgerClass, Booleans] = field(default_factory=dict)  # by a rule, where no event says so
    timers: Named = field(default_factory=dict)  # by the timer's name
    states: Named = field(default_factory=dict)  # by what made the window small; one holds always
    paced: Named = field(default_factory=dict)  # by rule, None: the stack logs its pacing rate

    @classmethod
    def of(cls, load: Load, moments: Moments) -> "Limits":
        """Return the limits at some moments of a load."""
        seen_ns, previous_ns, flow = moments.seen_ns, moments.previous_ns, moments.next_flow
        count = len(seen_ns)
        none = np.zeros(count, np.bool_)
        found = cls(none.copy(), ~none, none.copy(), none.copy(), none.copy(), none.copy(), none.copy())
        rtt_ns = np.full(count, _DEFAULT_RTT_NS)
        for sender in load.senders:
            code = load.data.flows.index(sender.flow) if sender.flow in load.data.flows else -2
            mine = np.flatnonzero(flow == code)
            if len(mine) == 0 or sender.window is None:
                continue
            one = _Sender(load, sender, moments.at(mine))
            rtt_ns[mine] = one.rtt_ns
            found.unlogged[mine] = ~one.known
            found.full[mine] = one.full
            found.application[mine] = one.application
            found.fired[mine] = one.fired
            found.roomy[mine] = one.known & ~one.full
            for limits, by_class in ((found.blocked, one.blocked()), (found.credit, one.credit())):
                for name, where in by_class.items():
                    limits.setdefault(name, none.copy())[mine] = where
            for target, values in (
                (found.timers, one.timers()),
                (found.states, one.states()),
                (found.paced, one.paced()),
            ):
                for text, where in values.items():
                    target.setdefault(text, none.copy())[mine] = where
        dropped_bytes = _dropped_bytes(load, seen_ns, np.maximum(previous_ns, 0) - 2 * rtt_ns)
        found.dropped[:] = dropped_bytes > 0
        found.all_sent[:] = found.dropped & (
            _remaining_bytes(load, seen_ns) <= dropped_bytes + _datagram(load.data) // 2
        )
        return found


def _datagram(data: LinkFacts) -> int:
    """Return the usual payload of a packet with data."""
    sizes = data.payload_bytes[data.ours & data.carries_data]
    return int(np.median(sizes)) if len(sizes) else 0


def _dropped_bytes(load: Load, until_ns: Integers, since_ns: Integers) -> Integers:
    data = load.data
    dropped = np.flatnonzero(data.ours & ~data.delivered & data.carries_data & ~data.copy)
    sums = np.concatenate([[0], np.cumsum((data.size_bytes - data.overhead_bytes)[dropped])])
    arrivals = data.arrival_ns[dropped]
    place = [np.searchsorted(arrivals, moment, side="right") for moment in (until_ns, since_ns)]
    return np.asarray(sums[place[0]] - sums[place[1]], np.int64)


def _remaining_bytes(load: Load, after_ns: Integers) -> Integers:
    """Return the useful bytes that reached the bottleneck later, until it had served all that was asked for then."""
    data = load.data
    own = np.flatnonzero(data.ours & data.delivered)
    arrivals, sums = data.arrival_ns[own], np.concatenate([[0], np.cumsum(data.useful_bytes[own])])
    ends = _ends_of_answers(load, after_ns)
    until, since = (np.searchsorted(arrivals, moment, side="right") for moment in (ends, after_ns))
    return np.asarray(sums[until] - sums[since], np.int64)


def _ends_of_answers(load: Load, times_ns: Integers) -> Integers:
    """Return when the bottleneck will have served all answers that overlap the one at each time."""
    begins, ends = load.objects.answered_ns, load.objects.served_ns
    if len(begins) == 0:
        return np.full(len(times_ns), load.end_ns)
    order = np.argsort(begins, kind="stable")
    begins, latest = begins[order], np.maximum.accumulate(ends[order])
    last = np.append(begins[1:] > latest[:-1], True)
    place = np.searchsorted(begins, times_ns, side="right") - 1
    group_end = np.minimum.accumulate(np.where(last, latest, NEVER)[::-1])[::-1]
    return np.asarray(group_end[np.maximum(place, 0)], np.int64)


class _Sender:
    """One sender's limits at those moments whose next packet is its own."""

    def __init__(self, load: Load, sender: SenderFacts, moments: Moments) -> None:
        self._load, self._sender, self._moments = load, sender, moments
        seen_ns = self._seen_ns = moments.seen_ns
        self._next_ns, self._previous_ns = moments.next_ns, moments.previous_ns
        self._tcp = sender.source == "tcp"
        rtt = sender.smoothed_rtt
        self.rtt_ns = np.full(len(seen_ns), _DEFAULT_RTT_NS) if rtt is None else rtt.at(seen_ns, _DEFAULT_RTT_NS)
        own = load.data.of_flow(sender.flow) & load.data.carries_data
        sizes = load.data.payload_bytes[own]
        self._datagram = int(np.median(sizes)) if len(sizes) else 0
        self._window = sender.window.at(seen_ns, -1) if sender.window is not None else np.full(len(seen_ns), -1)
        self._state = sender.state.at(seen_ns, -1) if sender.state is not None else np.full(len(seen_ns), -1)
        if self._tcp:
            self._flight = TcpFlight.of(load.data, load.back, sender.flow)
            segment = max(1, int(sizes.max(initial=1)))
            self.known = self._window >= 0
            used = (self._flight.segments(seen_ns) + _DEFERRED_SEGMENTS) * segment
            self.full = self.known & (used >= self._window)
            # In recovery the kernel sends a segment for each that leaves the path (RFC 6937).
            self.full |= self.known & self._in_state(State.RECOVERY, State.TIMEOUT)
        else:
            in_flight = np.full(len(seen_ns), -1) if sender.in_flight is None else sender.in_flight.at(seen_ns, -1)
            self.known = (self._window >= 0) & (in_flight >= 0)
            # quinn stops where a datagram would fill the window exactly, others where it would exceed it.
            self.full = self.known & (self._window - in_flight <= self._datagram)
        self._pause_ns = self._pauses_ns()
        self.application = self._application()
        self.fired = np.zeros(len(seen_ns), np.bool_)
        for where in self.timers().values():
            self.fired |= where

    def _in_state(self, *states: State) -> Booleans:
        chosen = np.array([name in states for name in self._sender.states] + [False], np.bool_)
        return np.asarray(chosen[self._state], np.bool_)

    def _application(self) -> Booleans:
        """Return where the sender logged that it had nothing to send, for longer than a pacer explains.

        quic-go logs so while it is paced, and withdraws it late: if its window is full, that is what it waits for.
        """
        sender, found = self._sender, np.zeros(len(self._seen_ns), np.bool_)
        if sender.app_limited is not None:
            found |= sender.app_limited.at(self._seen_ns, 0) == 1
        if sender.state_logged is not None and not self._tcp:
            logged = sender.state_logged.at(self._seen_ns, 0) == 1
            found |= logged & self._in_state(State.APPLICATION_LIMITED)
        return np.asarray(found & ~self.full & (self._next_ns - self._previous_ns > self._pause_ns), np.bool_)

    def blocked(self) -> dict[LedgerClass, Booleans]:
        """Return where the sender ran into a limit of the receiver or its buffer after its last packet with data.

        The kernel logs when such a time began and ended: in between, it is where each packet waits for one from the
        client with room in the window.
        """
        marks = self._sender.blocked
        found: dict[LedgerClass, Booleans] = {}
        for name, ledger_class in BLOCKED_CLASSES.items():
            times = np.sort(np.concatenate([marks.time_ns[marks.named(name)], self._reported(name)]))
            last = np.append(times, -1)[np.searchsorted(times, self._seen_ns, side="right") - 1]
            held = last >= self._previous_ns - _STAMP_NS
            if self._tcp:
                ends = np.append(-1, np.sort(self._sender.unblocked.time_ns[self._sender.unblocked.named(name)]))
                ended = ends[np.searchsorted(ends, self._seen_ns, side="right") - 1]
                held = self._moments.triggered & (last >= ended)
            found[ledger_class] = found.get(ledger_class, np.zeros_like(held)) | ((last >= 0) & held)
        return found

    def credit(self) -> dict[LedgerClass, Booleans]:
        """Return at which moments, with room in the window, the next packet waited for a packet from the client, and
        not for a pacer.

        An acknowledgement was not needed then, so it was credit. Over TCP it is HTTP/2's, or room in the kernel's
        buffer, as the kernel logs the receiver's window. Over QUIC it is the smaller of the client's credits, if a
        round trip held a quarter of it, or if the sender stopped with as much in flight. The latter shows a buffer of
        configured size as well.
        """
        held = self.known & ~self.full & self._moments.triggered
        waited = self._next_ns - self._previous_ns > self._pause_ns
        if self._tcp:
            sender, previous_ns = self._sender, self._previous_ns
            http2 = http2_credit(self._load, sender.flow, previous_ns, self._flight, self._datagram)
            return {**{name: held & where for name, where in http2.items()}, LedgerClass.SEND_BUFFER: held & waited}
        first = FirstCredits.of(self._load.trial, self._sender, self._load.client)
        offered = {
            LedgerClass.STREAM_CREDIT: NEVER if first.stream_bytes is None else first.stream_bytes,
            LedgerClass.CONNECTION_CREDIT: NEVER if first.connection_bytes is None else first.connection_bytes,
        }
        ledger_class = min(offered, key=lambda each: offered[each])
        buffer_bytes = configured_buffer_bytes(self._load.trial)
        data = self._load.data
        own = np.flatnonzero(data.of_flow(self._sender.flow) & data.carries_data)
        sums = np.concatenate([[0], np.cumsum((data.size_bytes - data.overhead_bytes)[own])])
        recent = [np.searchsorted(data.arrival_ns[own], moment, side="right") for moment in
                  (self._previous_ns, self._previous_ns - self.rtt_ns)]  # fmt: skip
        much = 4 * (sums[recent[0]] - sums[recent[1]]) >= offered[ledger_class]
        found = {ledger_class: held & (waited & much | self._stopped_at(offered[ledger_class]))}
        if buffer_bytes is not None:
            found[LedgerClass.SEND_BUFFER] = held & self._stopped_at(buffer_bytes)
        return found

    def _stopped_at(self, limit_bytes: int) -> Booleans:
        """Return where a sender that logs no limits stopped with as many bytes in flight as a limit allows.

        The bytes in flight count the packets' own overhead as well, and the last packet need not fit.
        """
        sender = self._sender
        if limit_bytes == NEVER or sender.in_flight is None or len(sender.blocked.time_ns):
            return np.zeros(len(self._seen_ns), np.bool_)
        stopped = sender.in_flight.at(self._previous_ns, 0)
        least, most = limit_bytes - 2 * self._datagram, limit_bytes + limit_bytes // 10 + self._datagram
        return np.asarray((stopped >= least) & (stopped <= most), np.bool_)

    def _reported(self, name: str) -> Integers:
        """Return when the sender sent those frames that the client's log received and its own does not name."""
        if len(self._sender.blocked.time_ns):
            return np.zeros(0, np.int64)
        data = self._load.data
        own = np.flatnonzero(data.of_flow(self._sender.flow) & data.delivered)
        own = own[np.argsort(data.departure_ns[own], kind="stable")]
        times = [
            one.blocked.time_ns[one.blocked.named(name)] for one in self._load.client if one.flow == self._sender.flow
        ]
        received = np.concatenate(times) if times else np.zeros(0, np.int64)
        place = np.searchsorted(data.departure_ns[own], received, side="right") - 1
        return data.arrival_ns[own[place[place >= 0]]]

    def timers(self) -> Named:
        """Return where the next packet was sent by a timer that the sender logged."""
        sender = self._sender
        expired = sender.timers.time_ns[sender.timers.named("expired")]
        found: Named = {}
        for text, times in (("probe or retransmission timeout", sender.timeouts.time_ns), ("loss timer", expired)):
            place = np.searchsorted(np.sort(times), self._moments.next_any_ns - 2 * _STAMP_NS, side="left")
            fired = np.append(np.sort(times), NEVER)[place]
            where = (fired <= self._moments.next_any_ns + _STAMP_NS) & (fired >= self._previous_ns)
            if where.any():
                found[text] = where
        return found

    def states(self) -> Named:
        """Return by state what made the window as small as it is."""
        lost = np.sort(self._sender.lost.time_ns)
        after_loss = np.searchsorted(lost, self._seen_ns, side="right") > 0
        smallest = (self._window <= 4 * self._datagram) & after_loss
        avoidance = self._in_state(State.CONGESTION_AVOIDANCE, State.APPLICATION_LIMITED)
        named: Named = {
            "minimum": smallest,
            "cap": self._in_state(State.CONGESTION_AVOIDANCE_MAXED),
            "recovery": self._in_state(State.RECOVERY),
            "timeout": self._in_state(State.LOSS_PROBE, State.TIMEOUT),
            "slow start": self._in_state(State.SLOW_START, State.INIT),
            "congestion avoidance after a loss": avoidance & after_loss,
            "congestion avoidance": avoidance,
        }
        named |= {str(name): self._in_state(State(name)) for name in self._sender.states if name.startswith("bbr_")}
        return {**named, "state unknown": np.ones(len(self._seen_ns), np.bool_)}

    def paced(self) -> Named:
        """Return where the window had room and the next packet came no later than a pacer lets it come."""
        bbr = any(name.startswith("bbr_") for name in self._sender.states)
        if self._tcp and not bbr and not self._load.paced_kernel:
            return {}  # the kernel logs a rate for every controller, and only BBR and the queue fq keep to it
        soon = self._next_ns - self._previous_ns <= self._pause_ns
        return {None if self._sender.pacing is not None else PACED_BY_RULE: self.known & ~self.full & soon}

    def _pauses_ns(self) -> Integers:
        """Return the longest pause of a pacer: after a burst, at the logged rate, else at a window a round trip.

        A pacer keeps exactly to a logged rate, so the lateness of its timer and of the log's stamps is added.
        """
        burst = _BURST_PACKETS * max(1, self._datagram)
        by_window = burst * self.rtt_ns // np.maximum(1, self._window)
        if self._sender.pacing is None:
            return np.asarray(by_window, np.int64)
        rate_bps = self._sender.pacing.at(self._seen_ns, 0)
        return np.where(rate_bps > 0, burst * 8 * 10**9 // np.maximum(1, rate_bps) + _STAMP_NS, by_window)
