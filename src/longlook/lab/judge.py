"""Classifies a finished trial: what its programs printed and how they ended decide its outcome.

A program that is shown to do something else than it was asked (another protocol, refused early data, its own congestion
control) has failed: that is a result, and a study counts it. Where nothing shows what happened, or the laboratory is at
fault, the trial is invalid.

Pure: nothing here touches the machine or imports `lab.linux`.
"""

from collections.abc import Sequence
from dataclasses import replace

from longlook.core.model import Outcome
from longlook.lab import judge_connections as connections
from longlook.lab import judge_proxy
from longlook.lab.answers import wrong_answer
from longlook.lab.judge_echo import echoed
from longlook.lab.judge_knobs import knobs
from longlook.lab.judge_lines import lines
from longlook.lab.judge_settings import settings
from longlook.lab.judge_video import played
from longlook.lab.judge_witness import witnessed
from longlook.lab.judgement import Judgement
from longlook.lab.link_drops import link_drops
from longlook.lab.observations import FlowCase, FlowKind, Line, Observations, Stopped, bounded, signal_name
from longlook.lab.remote_faults import fault_elsewhere
from longlook.lab.vocabulary import vocabulary

UNSUPPORTED_EXIT = 127


def judge_all(cases: Sequence[FlowCase]) -> Judgement:
    """Return the outcome of a trial with several flows: that of the flow at fault, whose name begins the reason.

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
        lambda case: judge_proxy.running(case, _ending(case.proxy)),
        _client,
        vocabulary,
        lines,
        _objects,
        lambda case: judge_proxy.carried(case, case.middle_address),
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
    reason = fault_elsewhere(case)
    return None if reason is None else Judgement(Outcome.INVALID, reason, "see docs/guide/phones.md")


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
            reason = program.errors() or "it does not report what"
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
    if client.junk:
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
    if case.measure_s >= limit_s:
        wanted = len(case.content.expected) * case.content.connections
        return Judgement(
            Outcome.TIMED_OUT,
            f"the transfer hung: {arrived} of {wanted} objects had arrived after {limit_s:g} s"
            f"{link_drops(case.link)}{judge_proxy.never_reached(case)}",
            "raise the study's timeout if the link is this slow; see server.stderr",
        )
    reasons = [reason for reason in (client.errors(), _object_errors(client)) if reason]
    cause = f": {'; '.join(reasons)}" if reasons else client.cause()
    reason = f"the client failed ({_ending(client)}){cause}{link_drops(case.link)}{judge_proxy.never_reached(case)}"
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
    """Check that a competing flow that was stopped as planned had at least a connection; return None where it had."""
    if case.kind is FlowKind.CROSS or case.client.events("connection") or case.server.events("connection"):
        return None
    reason = f"it had no connection yet when all flows stopped{link_drops(case.link)}"
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
    if case.content.video or case.content.echo is not None:
        return played(case) if case.content.video else echoed(case)
    objects: dict[str, list[Line]] = {}
    for line in case.client.events("object"):
        objects.setdefault(str(line.get("path")), []).append(line)
    wanted = case.content.connections
    for path, expected in case.content.expected.items():
        found = objects.get(path, [{"error": "the client never reported it"}])
        for line in found:
            if (wrong := wrong_answer(line, expected)) is not None:
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
