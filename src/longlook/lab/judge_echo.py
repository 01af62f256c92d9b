"""The part of `judge` about an echo: every size was tried, each connection began cold. Silence is a result. Pure."""

from longlook.core.model import Outcome
from longlook.lab.judgement import Judgement
from longlook.lab.observations import FlowCase

_HINT = "see client.jsonl and server.stderr"


def echoed(case: FlowCase) -> Judgement | None:
    """Check that the client reports every size of its job once, and that no connection was resumed."""
    echo = case.content.echo
    wanted = () if echo is None else echo.payloads
    reported = [line.get("payload_bytes") for line in case.client.events("echo")]
    for payload in wanted:
        if (times := reported.count(payload)) != 1:
            reason = f"the client reported the payload of {payload} bytes {times} times, not once"
            return Judgement(Outcome.FAILED, reason, _HINT)
    if unknown := [payload for payload in reported if payload not in wanted]:
        return Judgement(Outcome.FAILED, f"the client was not asked for the payload of {unknown[0]} bytes", _HINT)
    for line in (*case.client.events("connection"), *case.server.events("connection")):
        if line.get("resumed") is not False:
            return Judgement(Outcome.INVALID, "a connection of the echo is not proven to be cold", _HINT)
    return None
