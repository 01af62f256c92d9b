"""The load of a client that prints no lines: when it was, by the link's log alone, and the lines that say so. Pure.

It begins when the client's first packet of the measured connection comes to the link. It ends when the link delivers
the last packet of QUIC to the client that can carry bytes of a body, before the client has ended. A packet can do so
if it has a short header and at least SMALLEST_BYTES of payload. Smaller ones count only if the others have no room for
all bodies: mostly they acknowledge or close.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import compress
from typing import Any

from longlook.core import ConnectionState, Content, Trial
from longlook.lab.link_data import Delivered
from longlook.lab.link_log import OPENING_FORMS, UDP, UP, LinkLog
from longlook.lab.observations import LoadSeen, Observations, OpenedFlow

SMALLEST_BYTES = 100
"""Payload of UDP: a packet that acknowledges has about 40 bytes, and one that closes with a reason less than this."""
_SHORT, _EARLY = 1, 3  # of `quic_form`


def load_of(
    trial: Trial, content: Content, client: Observations, log: LinkLog | None, until_ns: int
) -> LoadSeen | None:
    """Return the load of a client that left files and printed no line about any; None of any other client.

    `until_ns` is when the client had ended, in ns since 1970.
    """
    if client.files is None or client.events("object"):
        return None
    load = LoadSeen(client.files)
    if log is None:
        return load
    load = replace(load, flows=_opened(log, primed=trial.connection is not ConnectionState.COLD))
    if not load.measured:
        return load
    started_ns = load.measured[0].started_ns
    delivered = Delivered(log, early=trial.connection is ConnectionState.ZERO_RTT)
    return replace(load, started_ns=started_ns, ended_ns=_end_ns(delivered, content, started_ns, until_ns))


def load_lines(load: LoadSeen, client: str, server: str, protocol: str) -> Iterator[Mapping[str, Any]]:
    """Yield a load's lines, as the laboratory writes them; `client` is an address, `server` one with its port."""
    for flow in load.flows:
        ends = {"local": f"{client}:{flow.client_port}", "remote": server}
        yield {"event": "flow", "protocol": protocol, **ends, "primes": flow.primes, "t_start_ns": flow.started_ns}
    for path, file in sorted(load.files.items()):
        yield {"event": "file", "path": path, "bytes": file.bytes, "digest": file.digest, "problem": file.problem}
    if load.started_ns is not None and load.ended_ns is not None:
        size = sum(file.bytes or 0 for file in load.files.values())
        yield {"event": "load", "t_start_ns": load.started_ns, "t_end_ns": load.ended_ns, "bytes": size}


def _opened(log: LinkLog, *, primed: bool) -> tuple[OpenedFlow, ...]:
    """Return the connections that a client began, of which the first primes the others if they are `primed`.

    A client that has packets of a connection with short headers sends no Initial of it any more (RFC 9001, 4.9.1). So
    the next one opens another connection, also from the same port; one from another port does so in any case. Two that
    begin at the same moment from one port count as one.
    """
    found: list[OpenedFlow] = []
    latest: dict[int, int] = {}  # port → place in `found`
    open_ports: set[int] = set()
    for time_ns, port, form in _sent(log):
        if form in OPENING_FORMS and (port not in latest or port in open_ports):
            latest[port] = len(found)
            found.append(OpenedFlow(port, time_ns, primes=primed and not found))
            open_ports.discard(port)
        if form == _SHORT:
            open_ports.add(port)
        elif form == _EARLY:
            found[latest[port]] = replace(found[latest[port]], early=True)
    return tuple(found)


def _sent(log: LinkLog) -> list[tuple[int, int, int]]:
    """Return time, port and form of each packet of UDP that came from the client, in order of time."""
    names = ("direction", "ip_protocol", "arrival_ns", "client_port", "quic_form")
    return sorted(
        (arrival_ns + each.unix_minus_monotonic_ns, port, form)
        for each in log.logs
        for direction, protocol, arrival_ns, port, form in each.rows(*names)
        if (direction, protocol) == (UP, UDP)
    )


def _end_ns(delivered: Delivered, content: Content, started_ns: int, until_ns: int) -> int | None:
    came = [each for each in _with_short_headers(delivered.log) if started_ns <= each[0] <= until_ns]
    needed = sum(answer.bytes for answer in content.expected.values())
    while len(came) > 1 and came[-1][1] < SMALLEST_BYTES:
        if delivered.data_bytes(started_ns, came[-2][0], len(content.expected)) < needed:
            break
        came.pop()
    return came[-1][0] if came else None


def _with_short_headers(log: LinkLog) -> Sequence[tuple[int, int]]:
    """Return time and payload of each packet with a short header that reached the client whole, in order of time."""
    found: list[tuple[int, int]] = []
    for each in log.logs:
        chosen = each.every(each.reached_client(), each.equal("ip_protocol", UDP), each.equal("quic_form", _SHORT))
        times_ns = (time_ns + each.unix_minus_monotonic_ns for time_ns in compress(each["departure_ns"], chosen))
        found += zip(times_ns, compress(each["payload_bytes"], chosen), strict=True)
    return sorted(found)
