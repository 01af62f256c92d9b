"""The time before the first request, and what it was spent on. Pure."""

import numpy as np

from longlook.explain.facts.columns import NEVER, Booleans, Integers, between
from longlook.explain.facts.link import ACKNOWLEDGEMENT_BYTES, LinkFacts
from longlook.explain.ledger.classes import Decisions, LedgerClass
from longlook.explain.ledger.load import Load

ROUND_TRIPS, LOSS, AMPLIFICATION, SERVER, CLIENT = (
    "round trips",
    "loss of a packet",
    "amplification limit",
    "server's computing",
    "client's computing",
)
"""The details of `handshake`."""

_AMPLIFICATION = 3
"""A QUIC server may send this multiple of the bytes received before the client's address is validated (RFC 9000, 8.1).
"""
_DATAGRAM_BYTES = 1200
_FLIGHT_NS = 1_000_000
"""Packets of one sender that follow each other sooner are of one flight."""


def decide_handshake(decisions: Decisions, times_ns: Integers, load: Load) -> None:
    """Decide the intervals from the opening of the first connection until the client can send its first request."""
    inside = (times_ns >= load.connecting_ns) & (times_ns < load.connected_ns)
    if not inside.any():
        return
    flying, lost = _in_air(times_ns, load), _lost(times_ns, load)
    from_client = _last(load.back.departure_ns[load.back.ours & load.back.delivered], times_ns)
    from_server = _last(load.data.departure_ns[load.data.ours & load.data.delivered], times_ns)
    for where, detail in (
        (amplification_limited(times_ns, load), AMPLIFICATION),
        (flying, ROUND_TRIPS),
        (lost, LOSS),
        (from_client > from_server, SERVER),
        (np.ones(len(times_ns), np.bool_), CLIENT),
    ):
        decisions.decide(inside & where, LedgerClass.HANDSHAKE, detail)


def _directions(load: Load) -> tuple[LinkFacts, ...]:
    """Return both directions of every link that a packet of the handshake may cross; a proxy may pass TLS through."""
    behind = () if load.behind is None or load.beyond else (load.behind.data, load.behind.back)
    return load.data, load.back, *load.beyond, *behind


def _in_air(times_ns: Integers, load: Load) -> Booleans:
    found = np.zeros(len(times_ns), np.bool_)
    for facts in _directions(load):
        own = facts.ours & facts.delivered
        found |= between(times_ns, facts.arrival_ns[own], facts.departure_ns[own])
    return found


def _lost(times_ns: Integers, load: Load) -> Booleans:
    """Return at which times a packet of the last flight of its sender was dropped; acknowledgements are no flight."""
    found = np.zeros(len(times_ns), np.bool_)
    for facts in _directions(load):
        own = facts.ours & (facts.is_tcp | (facts.payload_bytes >= ACKNOWLEDGEMENT_BYTES))
        arrivals = facts.arrival_ns[own]
        dropped = arrivals[~facts.delivered[own]]
        following = np.searchsorted(arrivals, dropped + _FLIGHT_NS, side="right")
        found |= between(times_ns, dropped, np.append(arrivals, NEVER)[following])
    return found


def _last(departures_ns: Integers, times_ns: Integers) -> Integers:
    """Return the last departure at or before each time, -1 for none."""
    ordered = np.sort(departures_ns)
    place = np.searchsorted(ordered, times_ns, side="right") - 1
    return np.where(place >= 0, np.append(ordered, -1)[place], -1)


def amplification_limited(times_ns: Integers, load: Load) -> Booleans:
    """Return at which times a QUIC server had no room for another datagram and had more to send.

    It had more if it sent within a millisecond of the client's next datagram. The limit ends with the first datagram
    that the client sent after one from the server had reached it, as that proves the client's address. Servers that
    check the limit before a datagram exceed it by a part of one.
    """
    data, back = load.data, load.back
    server = np.flatnonzero(data.ours & ~data.is_tcp)
    client = np.flatnonzero(back.ours & ~back.is_tcp & back.delivered & (back.payload_bytes > 0))
    opened = times_ns >= load.connecting_ns
    if len(server) == 0 or not (back.ours & back.handshake).any() or not opened.any():
        return np.zeros(len(times_ns), np.bool_)
    reached = int(data.departure_ns[server].min())
    proven = int(back.departure_ns[client][back.arrival_ns[client] >= reached].min(initial=NEVER))
    sent = _so_far(data.arrival_ns[server], data.payload_bytes[server], times_ns)
    received_at = np.sort(back.departure_ns[client])
    room = _AMPLIFICATION * _so_far(received_at, back.payload_bytes[client], times_ns) - sent
    following = np.append(received_at, NEVER)[np.searchsorted(received_at, times_ns, side="right")]
    arrivals = np.sort(data.arrival_ns[server])
    answer = np.append(arrivals, NEVER)[np.searchsorted(arrivals, following, side="left")]
    more = (answer < NEVER) & (answer - np.minimum(following, answer) < 1_000_000)
    return np.asarray(opened & (times_ns < proven) & (sent > 0) & (np.abs(room) < _DATAGRAM_BYTES) & more, np.bool_)


def _so_far(moments_ns: Integers, sizes: Integers, times_ns: Integers) -> Integers:
    sums = np.concatenate([[0], np.cumsum(sizes)])
    return np.asarray(sums[np.searchsorted(moments_ns, times_ns, side="right")], np.int64)
