"""The time of a transfer by the record of the end that receives: why did the next packet not arrive sooner? Pure.

Its sender's window and pacer are not in this record. The rules look at the pauses between packets with data, and at
what this end had sent a round trip before a pause ended (docs/guide/your-trace.md).
"""

import numpy as np

from longlook.explain import NEVER, Booleans, Integers
from longlook.instruments.transfer.classes import Intervals, Rules, TimeClass
from longlook.instruments.transfer.path import PathFacts, holes_before
from longlook.instruments.transfer.recording import APPLICATION, UNKNOWN, Packets, Recording
from longlook.instruments.transfer.sender import LIMITS, handshake_end_ns

_PACKETS = 8
"""Data that comes with pauses of up to this number of packets at the steady rate arrives steadily."""
_ROUND_TRIP = (0.75, 1.5)
"""A packet that arrives at this multiple of the shortest round trip after one of this end answers it."""
_LONG = 1.5
"""A pause is longer than a round trip from this multiple of the shortest on."""


def arriving_data(recording: Recording) -> Packets:
    """Return the packets with data that arrived after the handshake."""
    received = recording.received
    return received.take(received.carries_data & (received.space == APPLICATION))


def receiver_time(recording: Recording, path: PathFacts) -> Intervals | None:
    """Return the classes of time of a receiver's record, None if fewer than two packets with data arrived."""
    data = arriving_data(recording)
    if len(data) < 2:
        return None
    opened_ns = min(handshake_end_ns(recording), int(data.time_ns[0]))
    asked_ns = _requests(recording)[:1] if not recording.is_quic else data.time_ns[:0]
    bounds = np.unique(np.concatenate([[0, opened_ns], data.time_ns, asked_ns]))
    rules = Rules(bounds)
    start, end = rules.start_ns, rules.end_ns
    rules.decide(start < opened_ns, TimeClass.HANDSHAKE)
    following = np.searchsorted(data.time_ns, end, side="left")  # the packet that ends each interval
    rtt = path.shortest_rtt_ns or 0
    length = end - start
    window = [each.time_ns for each in recording.blocked if each.by_peer and each.limit == "receive_window"]
    filled = _follows(start, np.array(window, np.int64), rtt)
    rules.decide(filled, TimeClass.CONNECTION_CREDIT, "rule: data arrived up to the end of the window")
    rules.decide(length <= _steady_ns(data, path, rtt), TimeClass.ARRIVING)
    for limit, name in LIMITS.items():
        said = np.array([each.time_ns for each in recording.blocked if each.by_peer and each.limit == limit], np.int64)
        # The peer says so at the begin of its pause, a part of a round trip before this end sees the pause.
        near = np.searchsorted(said, end, side="right") > np.searchsorted(said, start - max(rtt // 4, 1), side="left")
        rules.decide(near, name, "rule: its credit is used up")
    _decide_requests(rules, recording, following, rtt)
    holes = holes_before(data)[following] | np.append(holes_before(data)[1:], False)[np.maximum(following - 1, 0)]
    rules.decide(holes & (length > _LONG * rtt), TimeClass.TIMER, "rule: packets before the pause are missing")
    answered = _answered(end, recording.sent.time_ns, start, rtt)
    rules.decide(answered, TimeClass.CONGESTION_WINDOW, "rule: it sends a round trip after an acknowledgement")
    rules.decide(length <= rtt, TimeClass.PACING, "rule: it sends unasked")
    rules.decide(length > rtt, TimeClass.APPLICATION, "rule: it sends unasked after more than a round trip")
    return rules.decided()


def _requests(recording: Recording) -> Integers:
    """Return when data of this end left after the handshake, over TCP."""
    sent = recording.sent
    found: Integers = sent.time_ns[(sent.space == APPLICATION) & (sent.number != UNKNOWN)]
    return found


def _follows(starts_ns: Integers, moments_ns: Integers, rtt_ns: int) -> Booleans:
    """Return which starts come less than a quarter of a round trip after one of some moments, which ascend."""
    place = np.searchsorted(moments_ns, starts_ns, side="right") - 1
    last = np.append(moments_ns, -NEVER)[place] if len(moments_ns) else np.full(len(starts_ns), -NEVER)
    return np.asarray((place >= 0) & (starts_ns - last <= max(rtt_ns // 4, 1)), np.bool_)


def _steady_ns(data: Packets, path: PathFacts, rtt_ns: int) -> int:
    """Return how long a pause within data that arrives steadily may be."""
    usual = int(np.percentile(np.maximum(data.size_bytes, 1), 90))
    at_rate = _PACKETS * usual * 8e9 / path.rate_bps if path.rate_bps else 0.0
    return int(min(at_rate, max(rtt_ns, 1)) if rtt_ns else at_rate)


def _decide_requests(rules: Rules, recording: Recording, following: Integers, rtt_ns: int) -> None:
    """Decide pauses that end with the first data of a stream: a round trip for the request, the rest for the server."""
    streams = recording.streams
    _, first = np.unique(streams.stream, return_index=True)
    opened = np.sort(streams.time_ns[first])
    sent = recording.sent.take(recording.sent.space == APPLICATION)
    usual = float(np.median(sent.size_bytes)) if len(sent) else 0.0
    asking = sent.time_ns[sent.size_bytes > 1.25 * usual] if usual > 0 else sent.time_ns
    if not recording.is_quic:  # one stream has all answers: each begins with the first data after a request
        asking = _requests(recording)
        answers = np.searchsorted(streams.time_ns, asking, side="right")
        opened = streams.time_ns[np.unique(answers[answers < len(streams.time_ns)])]
    start, end = rules.start_ns, rules.end_ns
    begins = np.searchsorted(opened, end, side="right") > np.searchsorted(opened, end, side="left")
    place = np.searchsorted(asking, end - int(_ROUND_TRIP[0] * rtt_ns), side="right") - 1
    asked = np.where(place >= 0, np.append(asking, -1)[place], -1)
    known = begins & (asked >= 0) & ((following > 0) | (not recording.is_quic))
    thinking = known & (end - asked > 2 * rtt_ns)
    rules.decide(known & ~thinking, TimeClass.REQUEST, "rule: a new stream begins a round trip after a packet")
    rules.decide(thinking & (asked <= start), TimeClass.SERVER_THINK, "rule: a new stream begins later than that")
    rules.decide(thinking, TimeClass.PEER_IDLE, "rule: no request was under way")
    rules.decide(begins, TimeClass.REQUEST)


def _answered(ends_ns: Integers, sent_ns: Integers, starts_ns: Integers, rtt_ns: int) -> Booleans:
    """Return which pauses end about a round trip after this end sent something, and last no longer than two."""
    if not rtt_ns or not len(sent_ns):
        return np.zeros(len(ends_ns), np.bool_)
    low, high = (int(share * rtt_ns) for share in _ROUND_TRIP)
    first = np.searchsorted(sent_ns, ends_ns - high, side="left")
    last = np.searchsorted(sent_ns, ends_ns - low, side="right")
    found: Booleans = (last > first) & (ends_ns - starts_ns <= 2 * rtt_ns)
    return found
