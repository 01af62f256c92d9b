"""The part of `judge` about live sources: every frame is accounted for, and the whole ones have the right bytes. Pure.

A frame that never came whole, or late, is a result: the trial is ok.
"""

from collections.abc import Iterator, Sequence

from longlook.core import CARRIER, CARRIERS, QUIC_LIVE, TLS_LIVE, LiveSource, Outcome, live
from longlook.lab.judge_lines import MOST
from longlook.lab.observations import FlowCase, Judgement, Line, bounded

_HINT = "see client.jsonl and server.jsonl; adapters/CONTRACT.md (Live) has what they hold"
_STREAMS, _ONE, _DATAGRAMS = CARRIERS


def carrier_of(case: FlowCase) -> str:
    """Return how the frames of a case were to travel."""
    if case.trial.protocol == QUIC_LIVE.name:
        return str(case.trial.client.knobs.get(CARRIER, _STREAMS))
    return _ONE if case.trial.protocol == TLS_LIVE.name else _DATAGRAMS


def viewed(case: FlowCase, source: LiveSource) -> Judgement | None:
    """Check that both ends account for all frames of a source, and that what the client has are their bytes."""
    wrong = next(_wrong(case, source), None)
    return None if wrong is None else Judgement(Outcome.FAILED, bounded(wrong), _HINT)


def _wrong(case: FlowCase, source: LiveSource) -> Iterator[str]:
    """Yield what is wrong with the lines of both ends; behind the first reason others mean nothing."""
    reported, said = case.client.events("live"), case.server.events("source")
    if len(reported) != 1 or len(said) != 1:
        yield f"the client reported the source {len(reported)} times and the server {len(said)} times, not once"
        return
    (client,), (server,) = reported, said
    latencies = _latencies(case, source)
    if latencies is None:
        yield f"the client's lines `frames` do not have each of {source.frames} frames once, in order"
        return
    whole = [frame for frame, latency_ns in enumerate(latencies) if latency_ns is not None]
    size = sum(source.size_bytes(frame) for frame in whole)
    wanted = carrier_of(case)
    for who, line in (("client", client), ("server", server)):
        if line.get("frames") != source.frames or line.get("carrier") != wanted:
            is_that = f"{line.get('frames')} frames by {str(line.get('carrier'))[:40]}"
            yield f"the {who} reported {is_that}, asked for {source.frames} by {wanted}"
    fates = sum(server[name] for name in ("sent", "reset", "dropped"))
    if fates != source.frames:
        yield f"the server says what became of {fates} frames, and had {source.frames}"
    if client["t_source_ns"] != server["t_start_ns"]:
        yield "the ends disagree on when the first frame was produced"
    if (client["completed"], client["bytes"]) != (len(whole), size):
        has = f"{client['completed']} frames of {client['bytes']} bytes"
        yield f"the client says that it has {has}, and lists {len(whole)} of {size}"
    if client.get("digest") != (expected := live.digest_of(source, whole)):
        yield f"wrong frames: {str(client.get('digest'))[:80]}, expected {expected}"


def whole_frames(case: FlowCase) -> Sequence[Line]:
    """Return the frames that the client has whole as if each were an object of its own, begun with the connection."""
    reported = case.client.events("live")
    if case.content.live is None or not reported:
        return ()
    begun_ns = reported[0]["t_start_ns"]
    return [
        {
            "t_start_ns": begun_ns,
            "t_end_ns": line["t_first_ns"] + offset * line["interval_ns"] + latency_ns,
            "bytes": case.content.live.size_bytes(line["first"] + offset),
            "path": f"frame {line['first'] + offset}",
        }
        for line in case.client.events("frames")
        for offset, latency_ns in enumerate(line["latency_ns"])
        if latency_ns is not None
    ]


def live_errors(case: FlowCase) -> str:
    """Return why a live source was not seen to its end, to be put behind a reason; "" if nothing says so."""
    found = [
        f"{who}: {str(line['error'])[:200]}"
        for who, lines in (("client", case.client.events("live")), ("server", case.server.events("source")))
        for line in lines
        if line.get("error") is not None
    ]
    return f"; {'; '.join(found)}" if found else ""


def _latencies(case: FlowCase, source: LiveSource) -> list[int | None] | None:
    """Return the latency of each frame in ns, None for one that never was whole; None if the lines do not have all."""
    found: list[int | None] = []
    (client,) = case.client.events("live")
    for line in case.client.events("frames"):
        some = line.get("latency_ns")
        begins_ns = client["t_source_ns"] + len(found) * source.interval_ns
        facts = (line["first"], line["t_first_ns"], line["interval_ns"])
        if not isinstance(some, list) or facts != (len(found), begins_ns, source.interval_ns):
            return None
        if any(each is not None and (type(each) is not int or not 0 <= each < MOST) for each in some):
            return None
        if line["bytes"] != sum(source.size_bytes(len(found) + at) for at, each in enumerate(some) if each is not None):
            return None
        found += some
    return found if len(found) == source.frames else None
