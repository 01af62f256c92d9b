"""The part of `judge` about connections: what they spoke, how they began and what controlled their congestion.

Pure, as `judge` is.
"""

from collections.abc import Iterator, Sequence

from longlook.core import EITHER, ConnectionState, Outcome, find_protocol, moves
from longlook.lab.link_log import TCP, UP
from longlook.lab.observations import FlowCase, FlowKind, Judgement, Line, LoadSeen

_MOST_OF_A_BROWSER = 10
"""Chromium closes the slower of two connections and may need it later. Firefox falls back over one connection. For the
objects that the page names it opens six more over TCP, as many as a host may have over HTTP/1.1. When it then learns
that the host speaks HTTP/2, one of them carries all.
"""


def protocols(case: FlowCase) -> Judgement | None:
    """Check that every connection and object has the protocol that was declared."""
    wanted = find_protocol(case.trial.protocol).spoken
    for line in (*case.client.events("object"), *case.client.events("connection"), *case.server.events("connection")):
        if (used := line.get("protocol")) not in wanted:
            what = line.get("path") or "a connection"
            return Judgement(
                Outcome.FAILED,
                f"{what} used {used}, not {' or '.join(wanted)}",
                "an end refused the protocol, or the client raced two: see client.jsonl and server.stderr",
                complete=True,
            )
    return None


def states(case: FlowCase) -> Judgement | None:
    """Check that as many connections as declared carried the transfer, each in the state that was declared."""
    if case.kind is FlowKind.CROSS or case.content.echo is not None:  # an echo has one for each size that is answered
        return None
    measured, wanted = list(_measured_connections(case)), case.connections
    if not measured:
        return _unreported(case)
    most = _most_opened(case) * wanted
    if not wanted <= len(measured) <= most:
        return Judgement(
            Outcome.FAILED,
            f"the measured transfer used {len(measured)} connections, not {'one' if wanted == 1 else wanted}",
            f"see {_reporter(case)}.jsonl; the client must send all requests over the connections of its job",
            complete=True,
        )
    for line in measured:
        if not isinstance(line.get("resumed"), bool):
            return Judgement(
                Outcome.INVALID,
                f"the {_reporter(case)} does not report whether the connection was resumed, so its state is not proven",
                "one endpoint must report `resumed` in its connection lines: docs/reference/stacks.md lists which do",
            )
        resumed, early = line.get("resumed") is True, line.get("used_0rtt") is True
        state = ConnectionState.ZERO_RTT if early else ConnectionState.RESUMED if resumed else ConnectionState.COLD
        if state is not case.trial.connection:
            return _other_state(case, state)
    return _carried(case, measured) if case.trial.protocol == EITHER.name else _carriers(case, measured)


def _unreported(case: FlowCase) -> Judgement | None:
    """Return the outcome if neither end reports the measured connections: the link's log may prove them."""
    if case.load is not None and case.load.flows:
        return _by_the_link(case, case.load)
    return Judgement(
        Outcome.INVALID,
        f"the {_reporter(case)} reported no measured connection, so its state is not proven",
        f"see {_reporter(case)}.jsonl; one endpoint must report its connections (adapters/CONTRACT.md)",
    )


def _by_the_link(case: FlowCase, load: LoadSeen) -> Judgement | None:
    """Check the same by the link's log, if neither end reports a connection.

    A client whose proof is its files begins each trial in a new root, without a ticket: its only connection is cold.
    The log does not show whether a later one was resumed, and whether early data was accepted.
    """
    if case.trial.connection is not ConnectionState.COLD:
        return Judgement(
            Outcome.INVALID,
            "neither end reports its connections, so nothing proves that one was resumed",
            "use a server that reports its connections (docs/reference/stacks.md lists which do), or a cold connection",
        )
    opened = len(load.measured)
    seen = {
        f"the link saw the client open {opened} connections, not {case.connections}": opened != case.connections,
        "the client sent packets of early data, declared cold": any(flow.early for flow in load.measured),
        "the client used TCP, too": any(
            (direction, protocol) == (UP, TCP)
            for log in (case.log.logs if case.log is not None else ())
            for direction, protocol in log.rows("direction", "ip_protocol")
        ),
    }
    for reason, holds in seen.items():
        if holds:
            hint = "see link.bin; a server that reports its connections would say more (docs/reference/stacks.md)"
            return Judgement(Outcome.INVALID, f"{reason}, and neither end reports its connections", hint)
    return None


def _most_opened(case: FlowCase) -> int:
    """Return how many connections a client may open for each that it is asked for. If it moves there may be a second
    one; if it chooses its protocol, one of each; a browser may open _MOST_OF_A_BROWSER.
    """
    if case.trial.protocol != EITHER.name:
        return 2 if moves(case.trial) else 1
    return _MOST_OF_A_BROWSER if _page_began_ns(case) else 2


def _other_state(case: FlowCase, state: ConnectionState) -> Judgement:
    """Return the outcome of a connection in another state than declared.

    An end that gives, keeps or accepts no ticket, or refuses early data, does less than it was asked: it has failed. If
    there is a ticket although none should be, it was left behind, so the trial did not begin as declared: it is
    invalid.
    """
    reason = f"the connection was {state}, declared {case.trial.connection}, as the {_reporter(case)} reports"
    order = (ConnectionState.COLD, ConnectionState.RESUMED, ConnectionState.ZERO_RTT)
    if order.index(state) < order.index(case.trial.connection):
        hint = f"see {_reporter(case)}.jsonl; the ticket was not given, not kept or not accepted"
        return Judgement(Outcome.FAILED, reason, hint, complete=True)
    return Judgement(
        Outcome.INVALID, reason, f"see {_reporter(case)}.jsonl; a ticket was kept or used that should not be"
    )


def _carriers(case: FlowCase, measured: Sequence[Line]) -> Judgement | None:
    """Check that each of several connections carried every object; return None if each did.

    The client reports the port over which an object came, and `measured` are the connections' lines.
    """
    if case.content.connections == 1 or case.content.video:  # a player asks for a part over each
        return None
    own = "remote" if _reporter(case) == "server" else "local"
    ports = sorted(_port(line.get(own)) for line in measured)
    for path in case.content.expected:
        lines = [line for line in case.client.events("object") if line.get("path") == path]
        carried = sorted(_port(line.get("local")) for line in lines)
        if carried != ports:
            proven = all(line.get("local") is not None for line in lines)
            return Judgement(
                Outcome.FAILED if proven else Outcome.INVALID,
                f"{path} came over client ports {', '.join(carried)}, but the connections have {', '.join(ports)}",
                "see client.jsonl: `local` of an object is the address of the connection that carried it",
                complete=proven,
            )
    return None


def _carried(case: FlowCase, measured: Sequence[Line]) -> Judgement | None:
    """Check that as many connections as declared carried each object, among the client's connections over either
    protocol.
    """
    own = "remote" if _reporter(case) == "server" else "local"
    opened = {(line.get("protocol"), _port(line.get(own))) for line in measured}
    for path in case.content.expected:
        lines = [line for line in case.client.events("object") if line.get("path") == path]
        carriers = {(line.get("protocol"), _port(line.get("local"))) for line in lines}
        if len(lines) != case.connections or len(carriers) != case.connections:
            reason = f"{path} was reported {len(lines)} times, over {len(carriers)} connections, not {case.connections}"
            return Judgement(Outcome.FAILED, reason, "see client.jsonl", complete=True)
        if unknown := sorted(f"{protocol} from port {port}" for protocol, port in carriers - opened):
            return Judgement(
                Outcome.INVALID,
                f"{path} came over {unknown[0]}, a connection that the {_reporter(case)} never reported",
                f"see {_reporter(case)}.jsonl, and `local` of objects in client.jsonl (adapters/CONTRACT.md)",
            )
    return None


def _measured_connections(case: FlowCase) -> Iterator[Line]:
    """Yield the lines of the measured connections: the server's, or the client's if the server reports none.

    Priming connections, which only obtain a session ticket, are left out. A client that reports its connections marks
    the priming ones, and the ports identify them at the server; else the first connection counts as the priming one.
    """
    reported = case.client.events("connection")
    if _reporter(case) == "client":
        yield from (line for line in reported if line.get("primes") is not True)
        return
    priming_ports = {_port(line.get("local")) for line in reported if line.get("primes") is True}
    begun_ns = _page_began_ns(case) if case.trial.protocol == EITHER.name else 0
    unnamed = 0 if reported or case.trial.connection is ConnectionState.COLD else 1
    for number, line in enumerate(case.server.events("connection")):
        before = begun_ns > 0 and (line.get("t_handshake_ns") or begun_ns) < begun_ns
        if number >= unnamed and not before and _port(line.get("remote")) not in priming_ports:
            yield line


def _page_began_ns(case: FlowCase) -> int:
    """Return when a browser began the measured page; 0 if the client reports no page.

    A browser that chooses may open connections for earlier loads that carry nothing, and does not report those.
    """
    return max((int(line.get("t_start_ns") or 0) for line in case.client.events("page")), default=0)


def congestion_control(case: FlowCase) -> Judgement | None:
    """Check that the congestion control of every connection over TCP is the declared one."""
    declared = case.trial.congestion_control
    if declared is None:
        return None
    if case.kind is FlowKind.CROSS and not case.client.events("connection"):
        return None  # it was not yet connected when all stopped
    lines = (*case.server.events("connection"), *case.client.events("connection"))
    reported = {str(name) for line in lines if (name := line.get("congestion_control")) is not None}
    seen = reported | case.seen_congestion_controls
    if not seen and case.trial.protocol == EITHER.name and not _over_tcp(case):
        return None
    if not seen:
        return Judgement(
            Outcome.INVALID,
            f"nothing proves that {declared} controlled congestion: the connection was over before it could be seen",
            "use a server that reports `congestion_control` in its connection lines",
        )
    if seen != {declared}:
        return Judgement(
            Outcome.FAILED,
            f"congestion control was {', '.join(sorted(seen))}, declared {declared}",
            "a program may have chosen its own: see its knobs",
            complete=True,
        )
    return None


def _over_tcp(case: FlowCase) -> bool:
    """Return whether anything of a trial with two protocols was carried by TCP."""
    lines = (*case.client.events("object"), *case.client.events("connection"), *case.server.events("connection"))
    return any(line.get("protocol") == "h2" for line in lines)


def _reporter(case: FlowCase) -> str:
    """Return the endpoint whose lines prove a connection's state.

    It is the client if the server reports no state, or if the server sees a proxy's connections. Some servers report a
    connection when it is closed, and an endless connection is never closed. A server that declares no reports may still
    write them if it gives no tickets, and then its lines count: a browser that visited the server before does not know
    that nothing was resumed.
    """
    reported = bool(case.server.events("connection"))
    reports = (case.server_reports_state and case.kind is not FlowKind.BULK) or reported
    return "server" if reports and case.trial.proxy is None else "client"


def _port(address: object) -> str:
    return str(address).rpartition(":")[2]
