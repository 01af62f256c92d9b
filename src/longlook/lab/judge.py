"""Classifies a finished trial: what its programs printed and how they ended decide its outcome.

A program that is shown to do something else than it was asked (another protocol, refused early data, its own congestion
control) has failed: that is a result, and a study counts it. If nothing shows what happened, or the laboratory is at
fault, the trial is invalid.

Pure: nothing here touches the machine or imports `lab.linux`.
"""

from collections.abc import Sequence
from dataclasses import replace

from longlook.core import UNKNOWN_ANSWER, ExpectedAnswer, Outcome, address_in
from longlook.lab import judge_connections as connections
from longlook.lab.judge_knobs import knobs
from longlook.lab.judge_lines import lines
from longlook.lab.judge_live import live_errors, viewed
from longlook.lab.judge_settings import settings
from longlook.lab.judge_site import site
from longlook.lab.judge_uploads import server_says, uploads, wrong_upload
from longlook.lab.judge_witness import witnessed
from longlook.lab.observations import (
    FlowCase,
    FlowKind,
    Judgement,
    Line,
    LoadSeen,
    Observations,
    Stopped,
    bounded,
    signal_name,
)
from longlook.lab.vocabulary import vocabulary

UNSUPPORTED_EXIT = 127


_STARTED, _ENDED = "started", "ended"
_STATES = (_STARTED, "stalled", "resumed", _ENDED)
_LONGEST, _SHOWN = 40, 4  # characters of a state, and states, in a reason
_SEE_PROGRAMS = "see client.jsonl and server.stderr"
_OK, _PARTIAL = 200, 206
_RULES = ("block", "police", "cutoff", "size_filter", "mtu", "nat", "nat_timeout")
_SENDERS = {"up": "client", "down": "server"}


def judge_all(cases: Sequence[FlowCase]) -> Judgement:
    """Return the outcome of a trial with several flows: the outcome of the flow at fault, whose name begins the reason.

    The outcome is ok when nothing went wrong in any flow.
    """
    for case in sorted(cases, key=_blame_order):
        if (found := judge(case)).outcome is not Outcome.OK:
            reason = bounded(found.reason or "")
            return replace(found, reason=f"flow {case.flow}: {reason}" if case.flow else reason)
    return Judgement(Outcome.OK)


def _blame_order(case: FlowCase) -> int:
    """Return a sort key: the flow most likely to have stopped the trial comes first.

    A flow that was stopped because another one ended has not failed itself.
    """
    if case.server.broke is not None or case.client.broke is not None:
        return -1
    late = case.stopped is Stopped.SERVER_STARTED_LATE and not case.server.events("ready")
    if case.server.exit_code is not None or late:
        return 0
    if case.client.exit_code is not None and not succeeded(case.client, session=case.session):
        return 1
    return 2 if case.client.exit_code is None else 3


def judge(case: FlowCase) -> Judgement:
    """Return the outcome of one flow: the first check that fails decides, in the order of how much it explains."""
    if not case.started and _blame_order(case) > 0:
        return Judgement(Outcome.OK)
    for check in (
        _limits,
        _support,
        _elsewhere,
        _link,
        _server,
        site,
        lambda case: _proxy_running(case, _ending(case.proxy)),
        _client,
        vocabulary,
        lines,
        _objects,
        uploads,
        lambda case: _proxy_carried(case, case.middle_address),
        connections.protocols,
        connections.states,
        connections.congestion_control,
        settings,
        knobs,
        witnessed,
    ):
        if (found := check(case)) is not None:
            return found
    return Judgement(Outcome.OK)


def _elsewhere(case: FlowCase) -> Judgement | None:
    reason = _fault_elsewhere(case)
    return None if reason is None else Judgement(Outcome.INVALID, reason, "see docs/guide/browsers.md")


def succeeded(client: Observations, *, session: bool) -> bool:
    """Return whether a client reports that all its objects arrived."""
    if session:
        return any(line.get("ok") is True for line in client.events("done"))
    return client.exit_code == 0


def _limits(case: FlowCase) -> Judgement | None:
    """Check that all programs kept their limits. One that broke a limit may have disturbed everything else."""
    for role, program in (("server", case.server), ("proxy", case.proxy), ("client", case.client)):
        if program.broke is not None:
            return Judgement(
                Outcome.FAILED,
                f"the {role} {program.broke}",
                f"see {role}.stderr; adapters/CONTRACT.md has the limits of programs",
            )
    return None


def _support(case: FlowCase) -> Judgement | None:
    for role, program, end in (
        ("server", case.server, case.trial.server),
        ("proxy", case.proxy, case.trial.proxy),
        ("client", case.client, case.trial.client),
    ):
        if end is None:
            continue
        reported = any(line.get("supported") is False for line in program.events("error"))
        if program.exit_code == UNSUPPORTED_EXIT or (reported and program.exit_code is None):
            reason = program.errors() or program.stderr or program.output or "it does not report what"
            return Judgement(
                Outcome.UNSUPPORTED,
                f"{role} {end.stack} {end.version} does not support this: {reason}",
                "leave this combination out of the study, or choose another stack or version",
            )
    return None


def _link(case: FlowCase) -> Judgement | None:
    if case.stopped is not Stopped.LINK_ENDED:
        return None
    reason = f"the link emulator stopped in the middle ({_ending(case.link)}){case.link.cause()}"
    return Judgement(Outcome.INVALID, reason, "see link.stderr")


def _server(case: FlowCase) -> Judgement | None:
    server = case.server
    if case.stopped is Stopped.SERVER_STARTED_LATE:
        return Judgement(Outcome.TIMED_OUT, "the server hung: it never printed its ready line", "see server.stderr")
    if case.stopped is not Stopped.SERVER_ENDED:
        return None
    when = "before the client was done" if server.events("ready") else "at its start"
    reason = f"the server ended {when} ({_ending(server)}){server.cause()}"
    return Judgement(Outcome.FAILED, reason, _crash_hint(case, "server", server))


def _client(case: FlowCase) -> Judgement | None:
    client = case.client
    if case.stopped is Stopped.CLIENT_STARTED_LATE:
        return Judgement(Outcome.TIMED_OUT, "the client hung: it never printed its ready line", "see client.stderr")
    if case.stopped is Stopped.CLIENT_HUNG:
        reason = f"the client hung: it did not end within its limit of {case.trial.timeout_s:g} s"
        return Judgement(Outcome.TIMED_OUT, reason, "see client.stderr")
    if client.junk and client.files is None:
        return Judgement(
            Outcome.FAILED,
            f"the client printed something that is not a JSON line: {client.junk[0]!r}",
            "standard output is for JSON lines only (adapters/CONTRACT.md)",
        )
    if case.kind is not FlowKind.FINITE and client.exit_code is None:
        return _unconnected(case)
    if succeeded(client, session=case.session):
        return None if case.kind is not FlowKind.BULK else _ended_early(case)
    return _failed(case)


def _failed(case: FlowCase) -> Judgement:
    """Return the outcome of a client that did not receive everything."""
    client, limit_s = case.client, case.trial.timeout_s
    arrived = sum(1 for line in client.events("object") if line.get("error") is None)
    if case.load is not None:
        arrived = sum(
            1 for path, answer in case.content.expected.items() if _wrong_file(case.load, path, answer) is None
        )
    if case.measure_s >= limit_s:
        wanted = len(case.content.expected) * case.content.connections
        return Judgement(
            Outcome.TIMED_OUT,
            f"the transfer hung: {arrived} of {wanted} objects had arrived after {limit_s:g} s"
            f"{_link_drops(case.link)}{_proxy_never_reached(case)}",
            "raise the study's timeout if the link is this slow; see server.stderr",
        )
    reasons = [reason for reason in (client.errors(), _object_errors(client)) if reason]
    cause = f": {'; '.join(reasons)}" if reasons else client.cause()
    cause += live_errors(case) + server_says(case)
    reason = f"the client failed ({_ending(client)}){cause}{_link_drops(case.link)}{_proxy_never_reached(case)}"
    return Judgement(Outcome.FAILED, reason, _crash_hint(case, "client", client))


def _crash_hint(case: FlowCase, role: str, program: Observations) -> str:
    """Return where to look, and for a crash in virtual time how to find out whether virtual time is its cause.

    A program may abort there because it measures the jitter of the CPU.
    """
    started = bool(program.events("ready") or program.events("connection") or program.events("object"))
    crashed = program.exit_code is not None and (program.exit_code < 0 or not started)
    if case.virtual and crashed:
        return f"see {role}.stderr; try the same with --engine live: virtual time may be why (docs/guide/debugging.md)"
    return f"see {role}.stderr"


def _unconnected(case: FlowCase) -> Judgement | None:
    """Check that a competing flow that was stopped as planned had at least a connection; return None if it had."""
    if case.kind is FlowKind.CROSS or case.client.events("connection") or case.server.events("connection"):
        return None
    reason = f"it had no connection yet when all flows stopped{_link_drops(case.link)}"
    return Judgement(Outcome.FAILED, reason, "see client.stderr; or let the flows run for longer")


def _ended_early(case: FlowCase) -> Judgement:
    return Judgement(
        Outcome.FAILED,
        f"it had received everything after {case.measure_s:.3g} s, before all flows stopped",
        "the endless file was too short for this link: please report it",
    )


def _objects(case: FlowCase) -> Judgement | None:
    if case.kind is not FlowKind.FINITE:
        return None
    content = case.content
    if case.load is not None or content.video or content.echo is not None or content.live is not None:
        return _done_without_objects(case)
    objects: dict[str, list[Line]] = {}
    for line in case.client.events("object"):
        objects.setdefault(str(line.get("path")), []).append(line)
    wanted = case.content.connections
    for path, expected in case.content.expected.items():
        found = objects.get(path, [{"error": "the client never reported it"}])
        for line in found:
            if (upload := case.content.uploads.get(path)) is not None:
                wrong = wrong_upload(line, expected, upload.method)
            else:
                wrong = _wrong_answer(line, expected) or _wrong_priority(line, case.content.priorities.get(path))
            if wrong is not None:
                return Judgement(Outcome.FAILED, f"{path}: {wrong}", "see client.jsonl and server.stderr")
        if len(found) != wanted:
            once = "once" if wanted == 1 else f"once for each of {wanted} connections"
            return Judgement(
                Outcome.FAILED,
                f"{path}: the client reported it {len(found)} times, not {once}",
                "see client.jsonl: every connection fetches every object once",
            )
    for page in case.client.events("page"):
        if page.get("t_loaded_ns") is None:
            return Judgement(Outcome.FAILED, f"the page {page.get('url')} never finished loading", "see client.jsonl")
    return None


def _wrong_priority(line: Line, asked: str | None) -> str | None:
    sent = line.get("priority")
    return None if sent == asked else f"the client asked with priority {str(sent)[:_LONGEST]!r}, not {asked!r}"


def _done_without_objects(case: FlowCase) -> Judgement | None:
    """Check what a client did whose lines `object` are not the proof."""
    if case.load is not None:
        return _left(case, case.load)
    if (source := case.content.live) is not None:
        return viewed(case, source)
    return _played(case) if case.content.video else _echoed(case)


def _left(case: FlowCase, load: LoadSeen) -> Judgement | None:
    """Check that a client that prints no lines left every file that it was asked for, with the right bytes."""
    for path, expected in case.content.expected.items():
        if (wrong := _wrong_file(load, path, expected)) is not None:
            return Judgement(Outcome.FAILED, f"{path}: {wrong}", "see client.stderr, client.jsonl and server.stderr")
    return None


def _wrong_file(load: LoadSeen, path: str, expected: ExpectedAnswer) -> str | None:
    file = load.files[path]
    return file.problem or _wrong_body({"bytes": file.bytes, "digest": file.digest}, expected)


def _object_errors(client: Observations) -> str:
    failed = [line for line in client.events("object") if line.get("error") is not None]
    if not failed:
        return ""
    first = f"{failed[0].get('path')}: {failed[0]['error']}"
    return first if len(failed) == 1 else f"{first} (and {len(failed) - 1} more)"


def _ending(program: Observations) -> str:
    if program.exit_code is None:
        return "by its own report"
    if program.exit_code >= 0:
        return f"exit code {program.exit_code}"
    return f"signal {-program.exit_code}, {signal_name(-program.exit_code)}"


def _played(case: FlowCase) -> Judgement | None:
    """Check that all that arrived are files of the video, whole, and that the player reports its end."""
    for line in case.client.events("object"):
        if (wrong := _wrong_object(case, line)) is not None:
            return Judgement(Outcome.FAILED, f"{line.get('path')}: {wrong}", _SEE_PROGRAMS)
    for line in case.client.events("segment"):
        if (wrong := _wrong_segment(case, line)) is not None:
            reason = f"segment {line.get('index')} of {line.get('rung')}: {wrong}"
            return Judgement(Outcome.FAILED, reason, _SEE_PROGRAMS)
    return _wrong_play(case)


def _wrong_play(case: FlowCase) -> Judgement | None:
    """Check that the play has states that are known, of which it has one start at most, and one end, the last."""
    states = [line.get("state") for line in case.client.events("play")]
    if unknown := [state for state in states if state not in _STATES]:
        return Judgement(
            Outcome.FAILED, f"the player reported the unknown state {str(unknown[0])[:_LONGEST]!r}", _SEE_PROGRAMS
        )
    if _ENDED not in states:
        return Judgement(Outcome.FAILED, "the player never reported the end of its play", "see client.jsonl")
    if states.count(_ENDED) > 1 or states[-1] != _ENDED or states.count(_STARTED) > 1:
        order = ", ".join(map(str, states[-_SHOWN:]))
        return Judgement(Outcome.FAILED, f"the player reported a play that ends in the states {order}", _SEE_PROGRAMS)
    return None


def _wrong_object(case: FlowCase, line: Line) -> str | None:
    path, _, query = str(line.get("path")).partition("?")
    expected = case.content.expected.get(path)
    if expected is None:
        return "it is no file of the video"
    return _wrong_part(line, expected) if "part=" in query else _wrong_answer(line, expected)


def _wrong_segment(case: FlowCase, line: Line) -> str | None:
    """Return what is wrong with a segment; one that was under way at the end is none that arrived."""
    if line.get("error") is not None:
        return str(line["error"])
    if line.get("t_end_ns") is None:
        return None
    expected = case.content.expected.get(str(line.get("path")))
    if expected is None:
        return f"{line.get('path')} is no file of the video"
    if line.get("digest") is None:
        return "the player does not report its digest"
    return _wrong_body(line, expected)


def _wrong_answer(line: Line, expected: ExpectedAnswer) -> str | None:
    """Return what is wrong with the answer of an `object` line, or None if it is the expected file."""
    if line.get("error") is not None:
        return str(line["error"])
    if line.get("status") != _OK:
        return f"HTTP status {line.get('status')}"
    return _wrong_body(line, expected)


def _wrong_part(line: Line, expected: ExpectedAnswer) -> str | None:
    """Return what is wrong with the answer to a request of a part of the file, as far as it is known."""
    if line.get("error") is not None:
        return str(line["error"])
    if line.get("status") != _PARTIAL:
        return f"HTTP status {line.get('status')}, not {_PARTIAL}"
    size = line.get("bytes")
    return None if isinstance(size, int) and 0 < size < expected.bytes else f"a part of {size} bytes"


def _wrong_body(line: Line, expected: ExpectedAnswer) -> str | None:
    """Return what is wrong with the bytes of a line; a digest that the client does not know is not checked.

    Nobody knows what a site answers: `judge_site` compares its answers.
    """
    if expected == UNKNOWN_ANSWER:
        return None
    if line.get("bytes") != expected.bytes:
        return f"wrong body: {line.get('bytes')} bytes, expected {expected.bytes}"
    if line.get("digest") not in (None, expected.digest):
        return f"wrong body: {line['digest']}, expected {expected.digest}"
    return None


def _echoed(case: FlowCase) -> Judgement | None:
    """Check that the client reports every size of its job once, and that no connection was resumed."""
    echo = case.content.echo
    wanted = () if echo is None else echo.payloads
    reported = [line.get("payload_bytes") for line in case.client.events("echo")]
    for payload in wanted:
        if (times := reported.count(payload)) != 1:
            reason = f"the client reported the payload of {payload} bytes {times} times, not once"
            return Judgement(Outcome.FAILED, reason, _SEE_PROGRAMS)
    if unknown := [payload for payload in reported if payload not in wanted]:
        return Judgement(
            Outcome.FAILED, f"the client was not asked for the payload of {unknown[0]} bytes", _SEE_PROGRAMS
        )
    for line in (*case.client.events("connection"), *case.server.events("connection")):
        if line.get("resumed") is not False:
            return Judgement(Outcome.INVALID, "a connection of the echo is not proven to be cold", _SEE_PROGRAMS)
    return None


def _proxy_never_reached(case: FlowCase) -> str:
    """Return that the server saw nothing of the proxy, to be put behind the reason why nothing arrived; "" if not."""
    if case.trial.proxy is None or case.server.events("connection") or not case.server_reports_state:
        return ""
    return "; the server saw no connection of the proxy"


def _proxy_running(case: FlowCase, ending: str) -> Judgement | None:
    """Check that the proxy was ready in time and ran until the client was done; `ending` says how it ended."""
    if case.stopped is Stopped.PROXY_STARTED_LATE:
        return Judgement(Outcome.TIMED_OUT, "the proxy hung: it never printed its ready line", "see proxy.stderr")
    if case.stopped is not Stopped.PROXY_ENDED:
        return None
    when = "before the client was done" if case.proxy.events("ready") else "at its start"
    return Judgement(Outcome.FAILED, f"the proxy ended {when} ({ending}){case.proxy.cause()}", "see proxy.stderr")


def _proxy_carried(case: FlowCase, address: str) -> Judgement | None:
    """Check that the load came to the server through the proxy, whose address is given."""
    if case.trial.proxy is None:
        return None
    remotes = [address_in(str(line.get("remote"))) for line in case.server.events("connection")]
    if not remotes:
        return Judgement(
            Outcome.INVALID if not case.server_reports_state else Outcome.FAILED,
            "the server reported no connection, so nothing proves that the proxy carried the load",
            "see proxy.jsonl and server.jsonl; use a server that reports its connections",
            complete=True,
        )
    if strangers := sorted({remote for remote in remotes if remote != address}):
        return Judgement(
            Outcome.FAILED,
            f"the server was reached from {', '.join(strangers)}, not from the proxy at {address} alone",
            "see server.jsonl: the client must send everything to the address of its job",
            complete=True,
        )
    return None


def _link_drops(link: Observations) -> str:
    """Return the drops of the link that explain why nothing arrived, to be put behind a reason; "" without any.

    These are drops by rules, and a direction in which nothing was delivered: the endpoints cannot know of either.
    There are no numbers in it, so that all rounds have the same reason and a report can count it.
    """
    found = []
    for summary in link.events("summary"):
        for direction, sender in _SENDERS.items():
            counters = summary.get(direction, {})
            dropped = [name for name, packets in counters.items() if name.startswith("dropped_") and packets]
            reasons = [name.removeprefix("dropped_") for name in dropped]
            if counters.get("delivered") == 0 and reasons:
                found.append(f"every packet of the {sender} ({', '.join(sorted(reasons))})")
            elif rules := [name for name in reasons if name in _RULES]:
                found.append(f"packets of the {sender} by rule ({', '.join(sorted(rules))})")
    return f"; the link dropped {' and '.join(found)}" if found else ""


def _fault_elsewhere(case: FlowCase) -> str | None:
    """Return in words why the client's machine is to blame, and nothing that was measured; None if it is not."""
    if not case.remote:
        return None
    for line in case.client.events("error"):
        if line.get("disturbed") is True:
            return f"the client's machine: {line.get('reason')}"
    summaries = case.link.events("summary")
    nothing_came = bool(summaries) and summaries[-1].get("up", {}).get("arrived") == 0
    if nothing_came and case.stopped in (Stopped.CLIENT_ENDED, Stopped.CLIENT_HUNG):
        return (
            "the client's machine: none of its packets came to this one; is this its gateway, and does no firewall "
            "here drop what is forwarded to ll-phone?"
        )
    return None
