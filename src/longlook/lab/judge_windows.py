"""The part of `judge_knobs` about windows: how much the server may send in a round trip. Pure.

Data that are sent within less than the shortest round trip have no answer yet: at its end all of them are on their way.
No window, credit or buffer that bounds the data on their way can then be smaller. The link's fixed delays are that
round trip.
"""

from collections import deque
from collections.abc import Iterable

from longlook.core import Link, Scalar, Stage
from longlook.lab.link_log import DELIVERED, DOWN, UDP
from longlook.lab.observations import FlowCase

_FASTER = frozenset({"jitter", "reorder"})
"""Stages by which a packet may take less than the fixed delays."""
_SHARE = 0.95  # of the round trip: packets may wait a little for their link
_HEADERS, _HANDSHAKE_BYTES = 1.08, 16_384
"""Bytes that a window of data does not count: headers of packets and frames, and the handshake's certificates."""
_PACKET_BYTES = 1_472


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
