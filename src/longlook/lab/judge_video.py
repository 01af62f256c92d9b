"""The part of `judge` about a player: what it was given is the video, and it played to the end of its time. Pure."""

from longlook.core.model import Outcome
from longlook.lab.answers import wrong_answer, wrong_body, wrong_part
from longlook.lab.judgement import Judgement
from longlook.lab.observations import FlowCase, Line

_STARTED, _ENDED = "started", "ended"
_STATES = (_STARTED, "stalled", "resumed", _ENDED)
_LONGEST, _SHOWN = 40, 4  # characters of a state, and states, in a reason
_HINT = "see client.jsonl and server.stderr"


def played(case: FlowCase) -> Judgement | None:
    """Check that all that arrived are files of the video, whole, and that the player reports its end."""
    for line in case.client.events("object"):
        if (wrong := _wrong_object(case, line)) is not None:
            return Judgement(Outcome.FAILED, f"{line.get('path')}: {wrong}", _HINT)
    for line in case.client.events("segment"):
        if (wrong := _wrong_segment(case, line)) is not None:
            reason = f"segment {line.get('index')} of {line.get('rung')}: {wrong}"
            return Judgement(Outcome.FAILED, reason, _HINT)
    return _wrong_play(case)


def _wrong_play(case: FlowCase) -> Judgement | None:
    """Check that the play has states that are known, of which it has one start at most, and one end, the last."""
    states = [line.get("state") for line in case.client.events("play")]
    if unknown := [state for state in states if state not in _STATES]:
        return Judgement(Outcome.FAILED, f"the player reported the unknown state {str(unknown[0])[:_LONGEST]!r}", _HINT)
    if _ENDED not in states:
        return Judgement(Outcome.FAILED, "the player never reported the end of its play", "see client.jsonl")
    if states.count(_ENDED) > 1 or states[-1] != _ENDED or states.count(_STARTED) > 1:
        order = ", ".join(map(str, states[-_SHOWN:]))
        return Judgement(Outcome.FAILED, f"the player reported a play that ends in the states {order}", _HINT)
    return None


def _wrong_object(case: FlowCase, line: Line) -> str | None:
    path, _, query = str(line.get("path")).partition("?")
    expected = case.content.expected.get(path)
    if expected is None:
        return "it is no file of the video"
    return wrong_part(line, expected) if "part=" in query else wrong_answer(line, expected)


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
    return wrong_body(line, expected)
