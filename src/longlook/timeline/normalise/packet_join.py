"""Packets that an end logged ↔ datagrams that the link saw, and whether the clocks of both agree. Pure."""

from dataclasses import dataclass

import numpy as np

from longlook.timeline.normalise.alignment import AlignedSequence, Lags, align
from longlook.timeline.normalise.datagrams import SHORT, Datagrams
from longlook.timeline.normalise.rows import NULL, Integers, Mask, Rows

LONGEST_LAG_NS = 250_000_000
"""A packet that left an end reaches the link within this, whatever waits in the end's own queues."""
SLACK_NS = 50_000_000
"""The error of a trace's clock up to which it is distinguished from a gap."""
_SENT_TOGETHER_NS = 200_000  # packets of one datagram are logged within this as they are sent,
_RECEIVED_TOGETHER_NS = 5_000_000  # and within this as they are received: keys for the later may come of the earlier
_COARSEST_NS = 1_000_000_000
_LOOK_AHEAD = 8
_SAMPLE = 2_000

_FORMS = {"1rtt": SHORT}


@dataclass(frozen=True)
class Joined:
    """`datagram` is each packet's index into the datagrams, NULL if it has none, shape (packets,)."""

    datagram: Integers
    share: float | None
    """The share of packets that have a datagram; None without packets."""


def join(packets: Rows, datagrams: Datagrams, times_ns: Integers, *, forwards: bool) -> Joined:
    """Pair packets (rows of one end and direction, in order) with datagrams.

    `times_ns` are the datagrams' times at the link. With `forwards`, the packets were sent and then reached the link;
    without, they left the link and then were received, and only datagrams that left may be among them.
    """
    if not len(packets) or not len(datagrams):
        return Joined(np.full(len(packets), NULL, np.int64), 0.0 if len(packets) else None)
    spaces: list[str | None] = [_FORMS.get(space, space) for space in packets.texts["space"]]
    together_ns = max(resolution_ns(packets["time_ns"]), _SENT_TOGETHER_NS) if forwards else _RECEIVED_TOGETHER_NS
    matcher = _Handshake(packets, datagrams, spaces, together_ns)
    at, other = matcher.walk()
    pairs = matcher.pairs
    rest = slice(at, len(packets)), slice(other, len(datagrams))
    sizes = packets["size_bytes"][rest[0]]
    offset = _offset(sizes, datagrams.size_bytes[rest[1]])
    first = AlignedSequence(packets["time_ns"][rest[0]], np.where(sizes == NULL, NULL, sizes + offset))
    second = AlignedSequence(times_ns[rest[1]], datagrams.size_bytes[rest[1]])
    if forwards:
        found = align(first, second, Lags(-SLACK_NS, LONGEST_LAG_NS))
    else:
        found = align(first, second, Lags(-LONGEST_LAG_NS, SLACK_NS))
    pairs[at:] = np.where(found == NULL, NULL, found + other)
    return Joined(pairs, float(np.mean(pairs != NULL)))


def _offset(sizes: Integers, payloads: Integers) -> int:
    """Return the difference between the stack's sizes and the datagrams': mostly 0, else what the stack leaves out."""
    count = min(len(sizes), len(payloads), _SAMPLE)
    known = sizes[:count] != NULL
    differences, counts = np.unique((payloads[:count] - sizes[:count])[known], return_counts=True)
    return int(differences[np.argmax(counts)]) if len(differences) else 0


class _Handshake:
    """Walk both records one by one as long as there are long headers."""

    def __init__(self, packets: Rows, datagrams: Datagrams, spaces: list[str | None], together_ns: int) -> None:
        self._together_ns = together_ns
        self.pairs = np.full(len(packets), NULL, np.int64)
        self._datagrams = datagrams
        self._packets = packets
        is_short = np.isin(packets["space"], [code for code, space in enumerate(spaces) if space == SHORT])
        known = datagrams.form != NULL
        self._end = _last(~is_short & (packets["space"] != NULL)) + 1
        self._end_datagrams = _last(known & ~datagrams.is_form(SHORT)) + 1
        look = _LOOK_AHEAD + 1
        self._spaces = [
            spaces[code] if code != NULL else None for code in packets["space"][: self._end + look].tolist()
        ]
        self._forms = [
            datagrams.forms[code] if code != NULL else None
            for code in datagrams.form[: max(self._end, self._end_datagrams) + look].tolist()
        ]

    def walk(self) -> tuple[int, int]:
        """Pair what can be paired; return how many packets and datagrams were used up."""
        at = other = 0
        while at < self._end or other < self._end_datagrams:
            if at >= min(len(self._packets), len(self._spaces)) or other >= min(len(self._datagrams), len(self._forms)):
                break
            space, form = self._spaces[at], self._forms[other]
            if space == form or space is None or form is None:
                at = self._fill(at, other)
                other += 1
            else:
                ahead = _next(self._forms, other, space), _next(self._spaces, at, form)
                if ahead[0] <= ahead[1]:
                    other += ahead[0] if ahead[0] <= _LOOK_AHEAD else 1
                else:
                    at += ahead[1]
        return at, other

    def _fill(self, at: int, other: int) -> int:
        """Put packet `at` and what else fits into a datagram; return the next packet."""
        size_bytes, payload = self._packets["size_bytes"], int(self._datagrams.size_bytes[other])
        began_ns, total = int(self._packets["time_ns"][at]), int(size_bytes[at])
        self.pairs[at] = other
        while (
            self._spaces[at] != SHORT
            and at + 1 < min(len(self._packets), len(self._spaces))
            and total + int(size_bytes[at + 1]) <= payload
            and int(self._packets["time_ns"][at + 1]) - began_ns <= self._together_ns
            and not self._stands_alone(at + 1, other + 1, total + int(size_bytes[at + 1]) == payload)
        ):
            at += 1
            total += int(size_bytes[at])
            self.pairs[at] = other
        return at + 1

    def _stands_alone(self, at: int, other: int, fills: bool) -> bool:
        """Return whether a packet is rather the next datagram: it has its size and form, and would not fill this
        one.
        """
        if fills or other >= min(len(self._datagrams), len(self._forms)):
            return False
        alike = self._forms[other] == self._spaces[at]
        return alike and int(self._datagrams.size_bytes[other]) == int(self._packets["size_bytes"][at])


def resolution_ns(times_ns: Integers) -> int:
    """Return the largest power of ten that divides every time since the first one: the resolution of a trace's
    stamps.
    """
    since = np.diff(times_ns)
    step = _COARSEST_NS
    while step > 1 and (since % step).any():
        step //= 10
    return step if since.any() else 1


def _last(mask: Mask) -> int:
    found = np.flatnonzero(mask)
    return int(found[-1]) if len(found) else -1


def _next(texts: list[str | None], at: int, wanted: str | None) -> int:
    """Return the distance to the next occurrence of a text, beyond _LOOK_AHEAD if it is not near."""
    ahead = texts[at : at + _LOOK_AHEAD + 1]
    return ahead.index(wanted) if wanted in ahead else _LOOK_AHEAD + 1


TOLERANCE_NS = 20_000
"""The error of a stamp beyond its own resolution: it is taken some instructions before or after the event."""


@dataclass(frozen=True)
class Lag:
    """The lag from one record of packets to the other, in ns: minimum, median and maximum over `packets`."""

    packets: int
    least_ns: int
    median_ns: int
    most_ns: int


def lag_of(packets: Rows, joined: Joined, times_ns: Integers, *, forwards: bool) -> Lag | None:
    """Return the time of packets between the end and the link, by both clocks, or None if no pair is known.

    If there are any, only packets with a short header count: each is a datagram of its own and waits for no keys.
    """
    paired = joined.datagram != NULL
    short = paired & packets.matches("space", "1rtt")
    paired = np.flatnonzero(short if short.any() else paired)
    if not len(paired):
        return None
    lag_ns = times_ns[joined.datagram[paired]] - packets["time_ns"][paired]
    lag_ns = lag_ns if forwards else -lag_ns
    return Lag(len(paired), int(lag_ns.min()), int(np.median(lag_ns)), int(lag_ns.max()))


def skew_problems(sent: Lag | None, received: Lag | None, resolution: int) -> list[str]:
    """Return the contradictions between the clocks, one sentence each. Times are left as they were stamped."""
    problems = []
    allowed = resolution + TOLERANCE_NS
    if sent is not None and sent.least_ns < -allowed:
        problems.append(f"a packet reached the link {-sent.least_ns} ns before its sender's clock says it was sent")
    if received is not None and received.least_ns < -allowed:
        problems.append(f"a packet was received {-received.least_ns} ns before it left the link")
    return problems
