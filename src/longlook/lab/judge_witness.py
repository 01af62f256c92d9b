"""The part of `judge` that asks the link: what a client reports must have crossed it by then. Pure.

The link's log is written by Longlook's own program, which no program under test can reach. Answers are served as they
are, so that a body takes at least its own bytes, after the request and before its end.
"""

from collections.abc import Iterator, Sequence
from itertools import accumulate

from longlook.core import EITHER, UDP_ECHO, UDP_LIVE, ConnectionState, Outcome, has_second_address
from longlook.lab.judge_lines import clock_bound_ns
from longlook.lab.judge_live import whole_frames
from longlook.lab.judge_uploads import not_carried
from longlook.lab.link_data import Delivered
from longlook.lab.link_log import TCP, UDP, LinkLog
from longlook.lab.observations import FlowCase, FlowKind, Judgement, Line, LoadSeen

_HINT = "see client.jsonl and the link's log: `longlook-link pcapng link.bin OUT` makes a capture of it"
_LATE_BYTES = {TCP: 512, UDP: 32_768}
"""Bytes that may reach the client of a flow behind the last object: frames and alarms that close, and over QUIC the
probes of a sender that waits for an acknowledgement, which look like data. Repeats over TCP bring nothing.
"""
_BARE = (UDP_ECHO.name, UDP_LIVE.name)
"""Protocols whose packets of UDP are not QUIC."""
_LATE_TICKETS_BYTES = 1024
"""The same over TCP behind early data, which is answered before session tickets are sent."""


def witnessed(case: FlowCase) -> Judgement | None:
    """Check every time that a client reports against what the link delivered by then."""
    if case.log is None or case.kind is not FlowKind.FINITE:
        return None
    if abs(case.clock_moved_ns) > clock_bound_ns(case):
        reason = f"this machine's clock was set by {case.clock_moved_ns / 1e9:+.6g} s while the client ran"
        return Judgement(
            Outcome.INVALID, reason, "let nothing set the clock (NTP, a suspended machine) while a run goes on"
        )
    if case.load is not None:
        return _load_witnessed(case, case.log, case.load)
    early = case.session or case.trial.connection is ConnectionState.ZERO_RTT
    came = Delivered(case.log, clock_bound_ns(case), early=early, framed=case.trial.protocol not in _BARE)
    for reason in _contradictions(case, came):
        return _contradicted(reason)
    return None


def _contradicted(reason: str) -> Judgement:
    return Judgement(Outcome.FAILED, f"the client reports what the link did not carry: {reason}", _HINT, complete=True)


def _load_witnessed(case: FlowCase, log: LinkLog, load: LoadSeen) -> Judgement | None:
    """Check that the link brought all that a client without lines left as files, in its measured connection."""
    needed, had = sum(answer.bytes for answer in case.content.expected.values()), 0
    if load.started_ns is not None and load.ended_ns is not None:
        early = case.trial.connection is ConnectionState.ZERO_RTT
        had = Delivered(log, early=early).data_bytes(load.started_ns, load.ended_ns, len(load.files))
    if had < needed:
        return _contradicted(f"its files have {needed} bytes, of which the link had delivered at most {had}")
    return None


def _contradictions(case: FlowCase, came: Delivered) -> Iterator[str]:
    """Yield in words what a client's lines say and the link's log denies."""
    arrived = [line for line in case.client.events("object") if line.get("error") is None]
    if arrived:
        yield from _beginning(case, came, arrived)
    yield from _bodies(case, came, arrived, "t_start_ns")
    segments = [line for line in case.client.events("segment") if line.get("t_end_ns") is not None]
    yield from _bodies(case, came, segments, "t_start_ns")
    yield from _bodies(case, came, whole_frames(case), "t_start_ns")
    if arrived:
        yield from _first_bytes(case, came, arrived)
        yield from _ending(case, came, arrived)
    yield from _pages(case, came, arrived)
    yield from _handshakes(case, came)
    yield from _echoes(case, came)
    if (unseen := not_carried(case)) is not None:
        yield unseen


def _bodies(case: FlowCase, came: Delivered, lines: Sequence[Line], start: str) -> Iterator[str]:
    """Check that the link had delivered each body by its end, and all that ended before it, since the first start."""
    bound_ns = clock_bound_ns(case)
    ended = sorted((line["t_end_ns"], line["bytes"], str(line.get("path"))) for line in lines)
    begins_ns = min((line[start] for line in lines), default=0)
    totals = accumulate(size for _, size, _ in ended)
    for count, ((end_ns, _, path), needed) in enumerate(zip(ended, totals, strict=True), 1):
        had = came.data_bytes(begins_ns - bound_ns, end_ns + bound_ns, count)
        if had < needed:
            yield (
                f"{path} ends {_s(end_ns - begins_ns)} after the first request with {needed} bytes in all, "
                f"of which the link had delivered at most {had}"
            )


def _first_bytes(case: FlowCase, came: Delivered, lines: Sequence[Line]) -> Iterator[str]:
    """Check that no answer began before the link delivered anything."""
    begins_ns = min(line["t_start_ns"] for line in lines)
    firsts = [line["t_first_byte_ns"] for line in lines if line.get("t_first_byte_ns") is not None]
    came_ns = came.first_data_ns(begins_ns - clock_bound_ns(case))
    if firsts and came_ns is not None and came_ns > min(firsts) + clock_bound_ns(case):
        yield (
            f"an answer begins {_s(min(firsts) - begins_ns)} after the first request, "
            f"and the first packet came {_s(came_ns - begins_ns)} after it"
        )


def _beginning(case: FlowCase, came: Delivered, lines: Sequence[Line]) -> Iterator[str]:
    """Check that the load begins before its connection is opened.

    Priming connections are opened before, and a load over a warm connection begins after. A browser's priming
    connections are not known well enough, and a relay opens its tunnel at any time.
    """
    primed = case.trial.connection is not ConnectionState.COLD or bool(case.trial.client.knobs.get("memory"))
    warm, relayed = any(case.content.waits_s[:1]), case.relayed
    if warm or relayed or (primed and case.session):
        return
    bound_ns = clock_bound_ns(case)
    pages = case.client.events("page")
    begins_ns = min(line["t_start_ns"] for line in pages or lines)
    priming = [line for line in case.client.events("connection") if line.get("primes") is True]
    if primed and not any(line.get("t_handshake_ns") for line in priming):
        return
    since_ns = max((line.get("t_handshake_ns") or 0 for line in priming), default=0)
    if (opened_ns := came.log.opening_ns(since_ns + bound_ns, begins_ns - bound_ns)) is not None:
        yield f"the load begins {_s(begins_ns - opened_ns)} after its connection was opened, not before"


def _ending(case: FlowCase, came: Delivered, lines: Sequence[Line]) -> Iterator[str]:
    """Check that little came behind the last object.

    A player gives up what is under way, and a client that chooses or moves leaves a connection that may go on.
    """
    leaves_one = case.trial.protocol == EITHER.name or has_second_address(case.trial) or case.trial.tcp.get("multipath")
    if case.content.video or case.session or leaves_one:
        return
    tickets = case.trial.connection is ConnectionState.ZERO_RTT
    most = {**_LATE_BYTES, TCP: _LATE_TICKETS_BYTES} if tickets else _LATE_BYTES
    last_ns = max(line["t_end_ns"] for line in lines)
    for protocol, late in came.late_bytes(last_ns + clock_bound_ns(case), most):
        yield (
            f"{late} bytes of TCP's streams came after the last object had ended"
            if protocol == TCP
            else f"packets of QUIC with room for {late} bytes came after the last object had ended"
        )


def _pages(case: FlowCase, came: Delivered, lines: Sequence[Line]) -> Iterator[str]:
    """Check that a page's load event came behind its objects, all of which are images in the page."""
    bound_ns = clock_bound_ns(case)
    for page in case.client.events("page"):
        begins_ns, loaded_ns, first_ns = (page.get(name) for name in ("t_start_ns", "t_loaded_ns", "t_first_byte_ns"))
        if begins_ns is None or loaded_ns is None:
            continue
        needed = sum(line["bytes"] for line in lines)
        had = came.data_bytes(begins_ns - bound_ns, loaded_ns + bound_ns, len(lines))
        if had < needed:
            yield (
                f"the page has loaded {_s(loaded_ns - begins_ns)} after its start with {needed} bytes, "
                f"of which the link had delivered at most {had}"
            )
        came_ns = came.first_data_ns(begins_ns - bound_ns)
        if first_ns is not None and came_ns is not None and came_ns > first_ns + bound_ns:
            yield f"the page's first byte is there {_s(came_ns - first_ns)} before the first packet"


def _handshakes(case: FlowCase, came: Delivered) -> Iterator[str]:
    """Check that no handshake was complete before anything had come; early data is sent before that."""
    if case.session or case.trial.connection is ConnectionState.ZERO_RTT or case.relayed:
        return
    for line in case.client.events("connection"):
        begins_ns, secure_ns = line.get("t_start_ns"), line.get("t_handshake_ns")
        if begins_ns is None or secure_ns is None:
            continue
        came_ns = came.first_packet_ns(begins_ns - clock_bound_ns(case))
        if came_ns is None or came_ns > secure_ns + clock_bound_ns(case):
            yield f"the handshake with {line.get('local')} is complete before the server's first packet came"


def _echoes(case: FlowCase, came: Delivered) -> Iterator[str]:
    """Check that each answer of an echo came over the link between its first try and its end."""
    bound_ns = clock_bound_ns(case)
    for line in case.client.events("echo"):
        if (answered_ns := line.get("t_answer_ns")) is None:
            continue
        came_ns = came.first_data_ns(line["t_start_ns"] - bound_ns)
        if came_ns is None or came_ns > answered_ns + bound_ns:
            yield f"the payload of {line.get('payload_bytes')} bytes is answered before the link delivered an answer"


def _s(time_ns: int) -> str:
    return f"{time_ns / 1e9:.6g} s"
