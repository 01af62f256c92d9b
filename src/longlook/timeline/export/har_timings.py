"""The phases of each request of a load, by the rules of HAR 1.2. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass

from longlook.timeline.export.har_loads import Connection, PageLoad, Request


@dataclass(frozen=True)
class Timings:
    """The phases of one request in ns, one after the other; None where a phase does not apply or is not known.

    `ssl_ns` is part of `connect_ns`; the others add up to the request's whole time.
    """

    blocked_ns: int | None
    connect_ns: int | None
    ssl_ns: int | None
    wait_ns: int
    receive_ns: int
    comment: str = ""
    dns_ns: int | None = None  # names are not looked up
    send_ns: int = 0  # no client reports it: it is part of the wait


def timings_of(load: PageLoad) -> Iterator[tuple[Request, Timings]]:
    """Yield each request of a load with its phases, in the order of the load.

    The first request of a connection has `connect`, from the connection's beginning until it is secure. Others that
    were asked for before that were blocked for so long; early data (0-RTT) waits for no handshake.
    """
    opened: set[str] = set()
    for request in load.requests:
        connection = load.connections.get(request.flow) if request.flow is not None else None
        if connection is None or not _meets_handshake(request, connection):
            yield request, _rest(request, request.asked_ns)
        elif connection.flow in opened:
            ready_ns = request.asked_ns if connection.state == "0rtt" else _ready_ns(request, connection)
            blocked_ns = ready_ns - request.asked_ns
            yield request, _rest(request, ready_ns, blocked_ns=blocked_ns if blocked_ns else None)
        else:
            opened.add(connection.flow)
            yield request, _opening(request, connection)


def _meets_handshake(request: Request, connection: Connection) -> bool:
    return connection.ready_ns is None or request.asked_ns < connection.ready_ns


def _opening(request: Request, connection: Connection) -> Timings:
    began_ns = min(max(connection.began_ns, request.asked_ns), request.ended_ns)
    blocked_ns = began_ns - request.asked_ns
    if connection.state == "0rtt":
        took = "" if connection.ready_ns is None else f", which took {(connection.ready_ns - began_ns) / 1e6:.3f} ms"
        comment = f"0-RTT: the request did not wait for the handshake{took}"
        return _rest(request, began_ns, blocked_ns=blocked_ns, connect_ns=0, ssl_ns=0, comment=comment)
    ready_ns = _ready_ns(request, connection)
    connect_ns = ready_ns - began_ns
    ssl_ns: int | None = connect_ns  # QUIC's handshake is that of TLS
    if connection.is_tcp:
        accepted_ns = connection.accepted_ns
        ssl_ns = None if accepted_ns is None or accepted_ns > ready_ns else ready_ns - max(accepted_ns, began_ns)
    comment = f"connection: {connection.state}" if connection.state else ""
    return _rest(request, ready_ns, blocked_ns=blocked_ns, connect_ns=connect_ns, ssl_ns=ssl_ns, comment=comment)


def _ready_ns(request: Request, connection: Connection) -> int:
    """Return when the connection let the request go; its answer's beginning or its failure if nothing says when."""
    known = (connection.ready_ns, request.first_byte_ns, request.ended_ns)
    return max(min(time_ns for time_ns in known if time_ns is not None), request.asked_ns)


def _rest(
    request: Request,
    sent_ns: int,
    *,
    blocked_ns: int | None = None,
    connect_ns: int | None = None,
    ssl_ns: int | None = None,
    comment: str = "",
) -> Timings:
    """Return all phases of a request that could leave at a moment."""
    answered_ns = request.ended_ns if request.first_byte_ns is None else max(request.first_byte_ns, sent_ns)
    return Timings(
        blocked_ns=blocked_ns,
        connect_ns=connect_ns,
        ssl_ns=ssl_ns,
        wait_ns=answered_ns - sent_ns,
        receive_ns=request.ended_ns - answered_ns,
        comment=comment,
    )
