"""Packets that a sender declared lost, or sent again, although they arrived. Pure.

The link's log proves it, else the peer's log. The kernel's TCP does not log which segment it sends again, but the
link's log shows it. A retransmission is spurious if every byte in it had been sent before in segments that left the
link whole.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from longlook.timeline.events import EventKind
from longlook.timeline.normalise.datagrams import Datagrams
from longlook.timeline.normalise.event_tables import event_table
from longlook.timeline.normalise.packet_join import Joined
from longlook.timeline.normalise.rows import NULL, Integers, Mask, Rows
from longlook.timeline.normalise.trace_files import TracePlace

NUMBER_SPACES = {"initial": 0, "handshake": 1, "0rtt": 2, "1rtt": 2}
"""The three spaces in which packets are numbered (RFC 9000, 12.3)."""
_NUMBER_BITS = 60  # enough for any packet that is ever sent
_NS_PER_S = 1e9


@dataclass(frozen=True)
class Sent:
    """The packets with a number that one end sent, each once, in order of their keys."""

    keys: Integers
    time_ns: Integers
    datagram: Integers
    """Index into the datagrams; NULL if the link's log could not be joined."""


@dataclass(frozen=True)
class Received:
    """The packets that the other end received, by key, each with the time of its first arrival.

    `discards` is how many others it logged that it threw away unread, because it had no room for them.
    """

    keys: Integers
    time_ns: Integers
    discards: int = 0

    def joined(self, others: "Sequence[Received]") -> "Received":
        """Return these packets together with further parts of the same log."""
        every = (self, *others)
        keys, times_ns = (np.concatenate([getattr(each, name) for each in every]) for name in ("keys", "time_ns"))
        order = np.lexsort((times_ns, keys))
        keys, first = np.unique(keys[order], return_index=True)
        return Received(keys, times_ns[order][first], sum(each.discards for each in every))


@dataclass(frozen=True)
class Losses:
    """`table` has rows of the kinds packet_spurious and packet_refused; `counts` goes to the metadata."""

    table: pa.Table
    counts: dict[str, Any]


def keys_of(rows: Rows) -> Integers:
    """Return one number for each packet's space and number; NULL if either is unknown."""
    spaces = np.array([*(NUMBER_SPACES.get(space, NULL) for space in rows.texts["space"]), NULL], np.int64)
    space, number = spaces[rows["space"]], rows["packet_number"]
    return np.where((space == NULL) | (number == NULL), NULL, (space << _NUMBER_BITS) | number)


def sent_of(rows: Rows, joined: Joined) -> Sent:
    """Return rows of kind packet_sent with the datagrams that they were in."""
    keys = keys_of(rows)
    unique, first = np.unique(keys, return_index=True)
    first = first[unique != NULL]
    return Sent(keys[first], rows["time_ns"][first], joined.datagram[first])


def received_of(rows: Rows, discards: int) -> Received:
    """Return rows of kind packet_received; `discards` as in Received."""
    keys = keys_of(rows)
    unique, first = np.unique(keys, return_index=True)
    first = first[unique != NULL]
    return Received(keys[first], rows["time_ns"][first], discards)


def by_number(received: Rows, sent: Sent) -> Joined:
    """Join received packets with the datagrams in which the other end sent them."""
    known, position = _look_up(keys_of(received), sent.keys)
    datagram = np.full(len(received), NULL, np.int64)
    datagram[known] = sent.datagram[position[known]]
    return Joined(datagram, float(np.mean(datagram != NULL)) if len(received) else None)


def find_spurious(
    vantage: str,
    place: TracePlace,
    lost: Rows,
    acked: Rows,
    sent: Sent,
    datagrams: Datagrams,
    received: Received | None,
) -> Losses:
    """Compare what a sender declared lost (`lost`, rows of kind packet_lost) with the fates of these packets.

    `acked` are its rows of kind packet_acked.
    """
    keys = keys_of(lost)
    lost_ns = lost["time_ns"]
    datagram = np.full(len(keys), NULL, np.int64)
    known, position = _look_up(keys, sent.keys)
    datagram[known] = sent.datagram[position[known]]
    joined = datagram != NULL
    arrived_ns = np.full(len(keys), NULL, np.int64)
    arrived_ns[joined] = datagrams.departure_ns[datagram[joined]]
    by_link = joined & (arrived_ns != NULL)
    by_peer, discarded = np.zeros(len(keys), np.bool_), np.zeros(len(keys), np.bool_)
    if received is not None:
        seen, place_in_peer = _look_up(keys, received.keys)
        if received.discards:
            missing = by_link & ~seen & (arrived_ns <= received.time_ns.max(initial=0))
            earliest = np.flatnonzero(missing)[np.argsort(arrived_ns[missing], kind="stable")][: received.discards]
            discarded[earliest] = True  # what is missing beyond that may have waited when the log ended
            by_link &= ~discarded
        by_peer = seen & ~joined
        arrived_ns[by_peer] = received.time_ns[place_in_peer[by_peer]]
    refused = by_link & _without_sign(keys, arrived_ns, keys_of(acked), sent, datagrams, received)
    by_link &= ~refused
    chosen = np.flatnonzero(by_link | by_peer | refused)
    late = refused[chosen]
    in_log = "peer" if received is not None else "acknowledgements"
    columns = {
        "time_ns": lost_ns[chosen],
        "source": "link" if not by_peer.any() else np.where(by_peer[chosen], "derived", "link").tolist(),
        "kind": np.where(late, EventKind.PACKET_REFUSED.value, EventKind.PACKET_SPURIOUS.value).tolist(),
        "name": np.where(late, in_log, np.where(by_link[chosen], "link", "peer")).tolist(),
        "space": [lost.text("space", index) for index in chosen.tolist()],
        "packet_number": lost["packet_number"][chosen],
        "size_bytes": pa.array(lost["size_bytes"][chosen], mask=lost["size_bytes"][chosen] == NULL),
        "value": (arrived_ns[chosen] - lost_ns[chosen]) / _NS_PER_S,
    }
    declared = int(np.count_nonzero(keys != NULL)) + int(np.nansum(lost.value()[keys == NULL]))
    counts = {
        "declared": declared,
        "spurious": int(np.count_nonzero(by_link | by_peer)),
        **({"refused": int(np.count_nonzero(refused))} if refused.any() else {}),
        **({"discarded": int(np.count_nonzero(discarded))} if discarded.any() else {}),
        "unresolved": declared - int(np.count_nonzero(joined | by_peer)),
        **_undeclared(sent, datagrams, np.unique(keys), counted_only=bool((keys == NULL).any())),
    }
    return Losses(event_table(vantage, place, len(chosen), columns), counts)


def _without_sign(
    keys: Integers, arrived_ns: Integers, acked: Integers, sent: Sent, datagrams: Datagrams, received: Received | None
) -> Mask:
    """Return which packets the other end had time to log or acknowledge, and did not.

    It had time once it logged a packet that left the link later, or, without its log, once such a packet was
    acknowledged. If the sender's log names no acknowledged packet, the other end's log decides alone. Without either,
    no packet is returned.
    """
    known = np.sort(acked[acked != NULL])
    signs = known if received is None else received.keys
    named, _ = _look_up(keys, known)
    if received is not None:
        named |= _look_up(keys, received.keys)[0]
    found, position = _look_up(signs, sent.keys)
    datagram = sent.datagram[position[found]]
    departures = datagrams.departure_ns[datagram[datagram != NULL]]
    last_ns = departures[departures != NULL].max(initial=NULL)
    without: Mask = ~named & (arrived_ns < last_ns)
    return without


def _undeclared(sent: Sent, datagrams: Datagrams, declared: Integers, *, counted_only: bool) -> dict[str, Any]:
    """Return the number of packets that the link lost, and how many of them their sender never declared lost."""
    joined = sent.datagram != NULL
    lost = np.zeros(len(joined), np.bool_)
    lost[joined] = ~datagrams.delivered[sent.datagram[joined]]
    undeclared = None if counted_only else int(np.count_nonzero(lost & ~np.isin(sent.keys, declared)))
    return {"lost_at_link": int(np.count_nonzero(lost)), "undeclared": undeclared}


def agreement(sent: Sent, datagrams: Datagrams, received: Received) -> dict[str, Any]:
    """Return how often the link's log and the other end's agree on a packet's arrival: the proof of the join.

    Only packets up to the last that the other end logged are compared: it may have been stopped before.
    """
    joined = np.flatnonzero(sent.datagram != NULL)
    if not len(joined) or not len(received.keys):
        return {"compared": 0, "share": None}
    delivered: Mask = datagrams.delivered[sent.datagram[joined]]
    departure_ns = datagrams.departure_ns[sent.datagram[joined]]
    seen, _ = _look_up(sent.keys[joined], received.keys)
    compared = (datagrams.arrival_ns[sent.datagram[joined]] <= received.time_ns.max()) & (
        departure_ns <= received.time_ns.max()
    )
    agree = (delivered == seen)[compared]
    return {"compared": len(agree), "share": float(agree.mean()) if len(agree) else None}


def _look_up(wanted: Integers, keys: Integers) -> tuple[Mask, Integers]:
    """Return which of some keys are among sorted ones, and at which places."""
    position = np.minimum(np.searchsorted(keys, wanted), max(0, len(keys) - 1))
    found: Mask = (keys[position] == wanted) & (wanted != NULL) if len(keys) else np.zeros(len(wanted), np.bool_)
    return found, position


_SEQUENCES = 1 << 32


def find_spurious_segments(vantage: str, place: TracePlace, rows: Rows, sent: Datagrams) -> Losses:
    """Return the segments that a sender declared lost and the link delivered.

    `rows` are one connection's at one end; `sent` is what that end sent. A retransmission belongs to the kernel's last
    one before it reached the link; tail loss probes declare nothing. Nothing is found without the tracepoint of
    retransmissions, as counters have no times.
    """
    again = rows.kind(EventKind.PACKET_RETRANSMITTED)
    again_ns = again["time_ns"][np.isnan(again.value())]
    declared_ns = np.intersect1d(again_ns, rows.kind(EventKind.PACKET_LOST)["time_ns"])
    data = sent.take(sent.size_bytes > 0)
    begins = _unwrapped(data.sequence)
    ends = begins + data.size_bytes
    highest = np.maximum.accumulate(np.append(begins[:1], ends))[:-1]
    times_ns, numbers, sizes, late_s = [], [], [], []
    resent = 0
    for index in np.flatnonzero(begins < highest).tolist():
        cause = int(np.searchsorted(again_ns, data.arrival_ns[index], side="right")) - 1
        if cause < 0 or again_ns[cause] not in declared_ns:
            continue
        resent += 1
        begin, end = int(begins[index]), int(min(ends[index], highest[index]))
        whole_ns = _delivered_ns(begins[:index], ends[:index], data.departure_ns[:index], begin, end)
        if whole_ns is not None:
            times_ns.append(int(again_ns[cause]))
            numbers.append(int(data.sequence[index]))
            sizes.append(end - begin)
            late_s.append((whole_ns - int(again_ns[cause])) / _NS_PER_S)
    columns = {
        "time_ns": times_ns,
        "source": "link",
        "kind": EventKind.PACKET_SPURIOUS.value,
        "name": "link",
        "packet_number": numbers,
        "size_bytes": sizes,
        "value": late_s,
    }
    counts = {
        "declared": resent,
        "spurious": len(times_ns),
        "lost_at_link": int(np.count_nonzero(~data.delivered)),
    }
    return Losses(event_table(vantage, place, len(times_ns), columns), counts)


def _unwrapped(sequence: Integers) -> Integers:
    """Return sequence numbers that go on after 32 bits, from 0; adjacent ones lie within 2 GiB of each other."""
    steps = np.diff(sequence, prepend=sequence[:1])
    return np.cumsum((steps + _SEQUENCES // 2) % _SEQUENCES - _SEQUENCES // 2)


def _delivered_ns(begins: Integers, ends: Integers, departure_ns: Integers, begin: int, end: int) -> int | None:
    """Return when the last byte of a range had left the link in one of these segments; None if some byte never did."""
    overlapping: Mask = (begins < end) & (ends > begin) & (departure_ns != NULL)
    found = np.flatnonzero(overlapping)
    missing = np.ones(end - begin, np.bool_)
    for index in found[np.argsort(departure_ns[found], kind="stable")].tolist():
        missing[max(0, int(begins[index]) - begin) : int(ends[index]) - begin] = False
        if not missing.any():
            return int(departure_ns[index])
    return None
