"""The part of `judge` about knobs of programs whose effect the link's log or the programs' lines show. Pure.

A program that was given a knob may ignore it. A single trial that contradicts a knob has failed; a trial that shows
nothing either way contradicts nothing.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from longlook.core import ConnectionState, Endpoint, Link, Outcome, Scalar, Stage
from longlook.lab.link_log import CORRUPTED, DELIVERED, DOWN, SYN, TCP, UDP, UP
from longlook.lab.observations import FlowCase, Judgement, Line

_FASTER = frozenset({"jitter", "reorder"})
"""Stages by which a packet may take less than the fixed delays."""
_SHARE = 0.95  # of the round trip: packets may wait a little for their link
_HEADERS, _HANDSHAKE_BYTES = 1.08, 16_384
"""Bytes that a window of data does not count: headers of packets and frames, and the handshake's certificates."""
_PACKET_BYTES = 1_472
_RETRY, _INITIAL = 5, 2  # of `quic_form`
_ENOUGH_DATAGRAMS = 5
"""The datagrams of an end, all without an ECN codepoint, from which on the lack counts: single packets may be without
one.
"""
_LATE_NS = 1_000_000_000
"""So much longer than `move_at` a load may last before its client has moved."""
_ENOUGH_PACKETS = 20
"""Data worth this number of packets fill some of them."""
_HINT = "the program ignored its knob, or the other end does not agree: longlook stacks check proves it alone"


def exceeded_bytes(case: FlowCase, wanted_bytes: float) -> int | None:
    """Return the most bytes of UDP that the server sent within a round trip, if a window of data would let less pass;
    else None. The log does not show it, and the result is None, with proxies, second links, losses and varying delays.
    """
    trial = case.trial
    rtt_ns = _shortest_ns(trial.link)
    if case.log is None or trial.proxy is not None or trial.further or not rtt_ns:
        return None
    sent: list[tuple[int, int]] = []
    for log in case.log.logs:
        names = ("arrival_ns", "payload_bytes", "direction", "ip_protocol", "verdict", "copy")
        for arrival_ns, payload, direction, protocol, verdict, copy in log.rows(*names):
            if direction == DOWN and protocol == UDP:
                if verdict != DELIVERED or copy:
                    return None
                sent.append((arrival_ns, payload))
    most = most_within(sorted(sent), round(_SHARE * rtt_ns))
    return most if most > wanted_bytes * _HEADERS + _HANDSHAKE_BYTES else None


def of_stream(case: FlowCase, value: Scalar) -> int | None:
    """Return the same of a window of one stream, which bounds a load of one object at a time alone."""
    alone = case.content.connections == 1 and all(len(phase) == 1 for phase in case.content.phases)
    return exceeded_bytes(case, float(value)) if alone and case.content.phases else None


def of_connection(case: FlowCase, value: Scalar) -> int | None:
    """Return the same of a window, or a buffer, of each connection, in bytes."""
    return exceeded_bytes(case, float(value) * max(1, case.connections))


def of_packets(case: FlowCase, value: Scalar) -> int | None:
    """Return the same of a congestion window in packets."""
    return of_connection(case, float(value) * _PACKET_BYTES)


def _shortest_ns(link: Link) -> int | None:
    """Return the fixed round trip of a link, without queues; None if it has none."""
    stages: tuple[Stage, ...] = (*link.up, *link.down)
    delays = [stage.parameters.get("delay_ns") for stage in stages if stage.kind == "delay"]
    if any(stage.kind in _FASTER for stage in stages) or not all(isinstance(delay, int) for delay in delays):
        return None
    return sum(int(delay) for delay in delays if delay is not None)


def most_within(sent: Iterable[tuple[int, int]], span_ns: int) -> int:
    """Return the most bytes of packets, (time in ns, bytes) in order of time, within any span of that length."""
    inside: deque[tuple[int, int]] = deque()
    total = most = 0
    for time_ns, size_bytes in sent:
        inside.append((time_ns, size_bytes))
        total += size_bytes
        while time_ns - inside[0][0] > span_ns:
            total -= inside.popleft()[1]
        most = max(most, total)
    return most


@dataclass(frozen=True)
class _End:
    """One end of a flow: what it was set to, what it reported, and the direction in which it sends."""

    case: FlowCase
    role: str
    endpoint: Endpoint
    other: Endpoint
    lines: tuple[Line, ...]  # of its connections
    direction: int

    def packets(self, protocol: int, *names: str) -> Iterator[tuple[int, ...]]:
        """Yield fields of the packets that it sent over a transport."""
        for log in self.case.log.logs if self.case.log is not None else ():
            for direction, transport, *row in log.rows("direction", "ip_protocol", *names):
                if direction == self.direction and transport == protocol:
                    yield tuple(row)


def _largest(end: _End, value: Scalar) -> str | None:
    largest = max((payload for (payload,) in end.packets(UDP, "payload_bytes")), default=0)
    return f"it sent a datagram of {largest} bytes" if largest > int(value) else None


def _fills(end: _End, value: Scalar) -> str | None:
    payloads = [payload for (payload,) in end.packets(UDP, "payload_bytes")]
    if sum(payloads) < _ENOUGH_PACKETS * int(value) or max(payloads) >= int(value):
        return None
    return f"its largest datagram has {max(payloads)} bytes"


def _exactly(end: _End, value: Scalar) -> str | None:
    others = {payload for (payload,) in end.packets(UDP, "payload_bytes")} - {int(value)}
    return f"it sent a datagram of {min(others)} bytes" if others else None


def _ecn(end: _End, value: Scalar) -> str | None:
    codepoints = [codepoint for (codepoint,) in end.packets(UDP, "ecn")]
    if value and len(codepoints) >= _ENOUGH_DATAGRAMS and not any(codepoints):
        return f"none of its {len(codepoints)} datagrams carries a codepoint"
    if not value and any(codepoints):
        return f"{sum(map(bool, codepoints))} of its datagrams carry a codepoint"
    return None


def _retry(end: _End, value: Scalar) -> str | None:
    forms = [form for (form,) in end.packets(UDP, "quic_form")]
    if value and _INITIAL in forms and _RETRY not in forms:
        return "it began connections without a Retry"
    return "it sent a Retry" if not value and _RETRY in forms else None


def _reported(name: str) -> Callable[[_End, Scalar], str | None]:
    """Return a check that every connection that an end reports has what the knob says."""

    def check(end: _End, value: Scalar) -> str | None:
        others = [line[name] for line in end.lines if line.get(name) is not None and line[name] != value]
        return f"it reports {str(others[0]).lower()[:40]}" if others else None

    return check


def _fast_open(end: _End, value: Scalar) -> str | None:
    carried = [payload for flags, payload in end.packets(TCP, "tcp_flags", "payload_bytes") if flags & SYN]
    if end.role != "client" or not carried:  # a server's SYN has no data, and the client's shows both
        return None
    if not value and any(carried):
        return "its SYN carries data"
    known = end.case.trial.connection is not ConnectionState.COLD and end.other.knobs.get("fast_open") is True
    if not value or not known or any(carried) or not _all_opened_at_once(end.case):
        return None
    return "no SYN of its carries data"


def _all_opened_at_once(case: FlowCase) -> bool:
    """Return whether every SYN of both ends came over whole and once: one that is sent again asks for no cookie, and
    brings none.
    """
    for log in case.log.logs if case.log is not None else ():
        names = ("flow", "direction", "ip_protocol", "tcp_flags", "verdict", "edits", "copy")
        opened: set[tuple[int, int]] = set()
        for flow, direction, protocol, flags, verdict, edits, copy in log.rows(*names):
            if protocol != TCP or not flags & SYN or copy:
                continue
            if verdict != DELIVERED or edits & CORRUPTED or (flow, direction) in opened:
                return False
            opened.add((flow, direction))
    return True


def _moved(end: _End, value: Scalar) -> str | None:
    moves = end.case.client.events("move")
    times = [(line.get("t_start_ns"), line.get("t_end_ns")) for line in end.case.client.events("object")]
    whole = [(start, stop) for start, stop in times if isinstance(start, int) and isinstance(stop, int)]
    measured = [line for line in end.lines if line.get("primes") is not True]
    if moves or len(measured) > end.case.connections or not whole:
        return None
    took_ns = max(stop for _, stop in whole) - min(start for start, _ in whole)
    late = took_ns > float(value) * 1e9 + _LATE_NS
    return f"it never moved in a load of {took_ns / 1e9:.3g} s" if late else None


def _bounded(check: Callable[[FlowCase, Scalar], int | None]) -> Callable[[_End, Scalar], str | None]:
    """Return a check of what the server sends within a round trip."""

    def within(end: _End, value: Scalar) -> str | None:
        most = check(end.case, value)
        return None if most is None else f"the server sent {most} bytes within a round trip"

    return within


@dataclass(frozen=True)
class KnobCheck:
    """How a trial shows a knob's effect: `check` returns the contradiction to a value, `shows` names the evidence.

    `first` names the knob of the value with which the end begins, if that value may be larger although the knob holds.
    If the knob `first` is not set, the value is not known, and nothing is judged.
    """

    check: Callable[[_End, Scalar], str | None]
    shows: str
    roles: tuple[str, ...] = ("server", "client")
    first: str = ""

    def judged(self, value: Scalar, knobs: Mapping[str, Scalar]) -> Scalar | None:
        """Return the value that a trial can contradict if an end has these knobs; None: it can contradict none."""
        if not self.first:
            return value
        return None if self.first not in knobs else max(float(value), float(knobs[self.first]))


_ROUND_TRIP = "no round trip without losses carries more"
MEASURED: Mapping[str, KnobCheck] = {
    "max_udp_payload": KnobCheck(_largest, "no datagram of that end is larger"),
    "initial_packet_size": KnobCheck(_fills, "some datagram of that end is as large, if it sends data"),
    "packet_size": KnobCheck(_exactly, "every datagram has that payload", ("server",)),
    "ecn": KnobCheck(_ecn, "codepoints of that end's datagrams"),
    "retry": KnobCheck(_retry, "Retry packets", ("server",)),
    "gso": KnobCheck(_reported("gso"), "its `connection` lines"),
    "http2_stream_window": KnobCheck(_reported("http2_stream_window"), "its `connection` lines", ("client",)),
    "http2_connection_window": KnobCheck(_reported("http2_connection_window"), "its `connection` lines", ("client",)),
    "fast_open": KnobCheck(_fast_open, "data in the client's SYN, unless one was sent again"),
    "max_window": KnobCheck(_bounded(of_packets), _ROUND_TRIP, ("server",)),
    "send_buffer": KnobCheck(_bounded(of_connection), _ROUND_TRIP, ("server",)),
    "stream_send_buffer": KnobCheck(_bounded(of_stream), f"{_ROUND_TRIP}, of one object at a time", ("server",)),
    "max_stream_window": KnobCheck(
        _bounded(of_stream),
        f"{_ROUND_TRIP} than it or `initial_stream_window`, if both are set, of one object at a time",
        ("client",),
        "initial_stream_window",
    ),
    "max_connection_window": KnobCheck(
        _bounded(of_connection),
        f"{_ROUND_TRIP} than it or `initial_connection_window`, if both are set",
        ("client",),
        "initial_connection_window",
    ),
    "move_at": KnobCheck(_moved, "its `move` line, if the load lasts a second longer", ("client",)),
}
"""Knob → its check, in the roles in which it has one."""


def knobs(case: FlowCase) -> Judgement | None:
    """Check what the knobs of both ends were to bring about, as far as packets and lines show it."""
    for end in _ends(case):
        for name, of in MEASURED.items():
            value: Any = end.endpoint.knobs.get(name)
            judged = None if value is None or end.role not in of.roles else of.judged(value, end.endpoint.knobs)
            if judged is not None and (seen := of.check(end, judged)) is not None:
                text = str(value).lower() if isinstance(value, bool) else str(value)
                reason = f"{end.role} knob {name} = {text} was not brought about: {seen}"
                return Judgement(Outcome.FAILED, reason, _HINT, complete=True)
    return None


def _ends(case: FlowCase) -> Iterator[_End]:
    """Yield the ends whose own packets the links to the client carry: not a server behind a proxy, nor a client whose
    packets are a relay's.
    """
    client, server = case.trial.client, case.trial.server
    if not case.relayed:
        yield _End(case, "client", client, server, tuple(case.client.events("connection")), UP)
    if case.trial.proxy is None:
        yield _End(case, "server", server, client, tuple(case.server.events("connection")), DOWN)
