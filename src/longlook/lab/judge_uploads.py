"""The part of `judge` about uploads: both ends say what arrived, and the link must have carried it. Pure."""

from longlook.core import ExpectedAnswer, Outcome
from longlook.lab.judge_lines import clock_bound_ns
from longlook.lab.link_log import DELIVERED, UP
from longlook.lab.observations import FlowCase, FlowKind, Judgement, Line

_HINT = "see client.jsonl and server.jsonl"
_REFUSALS = {413: "the server refused it as too large", 417: "the server refused its Expect"}
_OK = 200


def wrong_upload(line: Line, expected: ExpectedAnswer, method: str) -> str | None:
    """Return what is wrong with a client's line about an upload, by the server's answer; None if all arrived."""
    if line.get("method") != method:
        return f"the client sent it with {line.get('method')!r}, not {method}"
    status = line.get("status")
    if status in _REFUSALS:
        return f"HTTP status {status}: {_REFUSALS[status]}"
    if line.get("error") is not None:
        return f"the upload broke off: {line['error']}"
    if status != _OK:
        return f"HTTP status {status}"
    return _wrong_body("the server answered", line.get("uploaded_bytes"), line.get("uploaded_digest"), expected)


def uploads(case: FlowCase) -> Judgement | None:
    """Check that the server reports each upload whole, once, and that the link had delivered as much by then."""
    if case.kind is not FlowKind.FINITE:
        return None
    taken = _whole(case)
    for path, upload in case.content.uploads.items():
        lines = [line for line in taken if line.get("path") == path]
        if len(lines) != 1:
            return _failed(f"{path}: the server reported it whole {len(lines)} times, not once")
        (line,), expected = lines, case.content.expected[path]
        if line.get("method") != upload.method:
            return _failed(f"{path}: the server got it with {line.get('method')!r}, not {upload.method}")
        if wrong := _wrong_body("the server received", line.get("bytes"), line.get("digest"), expected):
            return _failed(f"{path}: {wrong}")
    if unknown := sorted({str(line.get("path")) for line in taken} - {*case.content.uploads}):
        return _failed(f"the server reported an upload of {unknown[0][:80]!r}, which nobody was asked for")
    return None


def not_carried(case: FlowCase) -> str | None:
    """Return in words which upload the server cannot have had by the time that it reports; None if it can have all.

    Every byte of payload that the link delivered to the server counts, also handshakes and repeats, so that the bound
    holds for any protocol.
    """
    if case.log is None or not case.content.uploads:
        return None
    came = sorted(
        (left_ns + log.unix_minus_monotonic_ns, payload)
        for log in case.log.logs
        for direction, verdict, left_ns, payload in log.rows("direction", "verdict", "departure_ns", "payload_bytes")
        if (direction, verdict) == (UP, DELIVERED)
    )
    ended = sorted((line["t_end_ns"], line["bytes"], line["path"]) for line in _whole(case))
    needed = had = at = 0
    bound_ns = clock_bound_ns(case)
    for end_ns, size, path in ended:
        needed += size
        while at < len(came) and came[at][0] <= end_ns + bound_ns:
            had, at = had + came[at][1], at + 1
        if had < needed:
            return f"{path} is complete at the server with {needed} bytes in all, of which the link had delivered {had}"
    return None


def server_says(case: FlowCase) -> str:
    """Return why the server took an upload not whole, to be put behind a reason; "" if it says nothing."""
    for line in case.server.events("upload"):
        if (error := line.get("error")) is not None:
            path, wanted = str(line.get("path")), case.content.expected.get(str(line.get("path")))
            of = "" if wanted is None else f" of {wanted.bytes}"
            return f"; the server, of {path[:80]}: {str(error)[:200]}, after {line.get('bytes')}{of} bytes"
    return ""


def _whole(case: FlowCase) -> list[Line]:
    return [line for line in case.server.events("upload") if line.get("error") is None]


def _wrong_body(who: str, size: object, digest: object, expected: ExpectedAnswer) -> str | None:
    if size != expected.bytes:
        early = isinstance(size, int) and size < expected.bytes
        why = " before it had read the whole body" if early else ""
        return f"{who}{why}: {size} bytes, expected {expected.bytes}"
    return None if digest == expected.digest else f"{who}: {digest}, expected {expected.digest}"


def _failed(reason: str) -> Judgement:
    return Judgement(Outcome.FAILED, reason, _HINT)
