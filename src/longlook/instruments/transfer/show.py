"""An answer about a trace on a terminal and as JSON."""

from collections.abc import Iterator, Sequence
from typing import Any

from rich.console import RenderableType
from rich.table import Table

from longlook.instruments.transfer.answer import TransferAnswer
from longlook.instruments.transfer.classes import MEANINGS
from longlook.instruments.transfer.recording import Recording
from longlook.instruments.transfer.run import TransferAnswers
from longlook.instruments.transfer.suspicion import Seen, Suspicion
from longlook.report import wording
from longlook.terminal import Prose, Renderings


def answers_of_traces(answers: TransferAnswers, files: Sequence[str]) -> Renderings:
    """Return everything that was found, and the files that were written."""
    return Renderings(
        people=lambda: [
            *(part for answer in answers.each for part in _parts(answer)),
            *_both_ends(answers),
            *(f"{file}: the picture" for file in files),
        ],
        lines=lambda: [
            *(_data(answer) for answer in answers.each),
            *([_both_ends_data(answers)] if len(answers.each) > 1 else []),
            *({"event": "picture", "path": file} for file in files),
        ],
    )


def _both_ends(answers: TransferAnswers) -> Iterator[RenderableType | Prose]:
    if answers.why_not_joined:
        yield Prose(f"The traces are explained one by one: {answers.why_not_joined}.", "yellow")
    if answers.joined is None:
        return
    yield Prose(f"Both ends together: the shortest way there and back is {_seconds(answers.joined.rtt_ns)}.")
    columns = ("sent by", "packets", "never arrived", "declared lost", "lost, yet arrived", "overtaken", "longest wait")
    table = Table(*columns, box=None)
    for way in answers.joined.ways:
        counts = (way.sent, way.never_arrived, way.declared_lost, way.spurious, way.overtaken)
        table.add_row(f"the {way.sender}", *map(str, counts), _seconds(int(way.waits_ns.max(initial=0))))
    yield table
    if all(answer.recording.end == "unknown" for answer in answers.each):
        yield Prose("Neither trace names its end: the data is taken to come from the server.", "dim")
    for way in answers.joined.ways:
        if way.spurious:
            numbers = ", ".join(map(str, way.spurious_numbers))
            said = f"The {way.sender} declared {way.spurious} packets lost that arrived; the first are {numbers}."
            yield Prose(said)
        if way.outside:
            said = (
                f"Packets of the {way.sender} before or after what the other trace covers: {way.outside}, not counted."
            )
            yield Prose(said, "dim")
        if way.clocks_drift:
            said = f"The shortest way from the {way.sender} changes by {_seconds(abs(way.drift_ns))} from begin to end:"
            yield Prose(f"{said} a queue stands there, or the clocks drift.", "dim")


def _both_ends_data(answers: TransferAnswers) -> dict[str, Any]:
    found: dict[str, Any] = {"event": "both_ends", "why_not_joined": answers.why_not_joined or None}
    if answers.joined is None:
        return found
    found["rtt_ns"] = answers.joined.rtt_ns
    found["ways"] = [
        {
            "sender": way.sender,
            "sent": way.sent,
            "outside": way.outside,
            "never_arrived": way.never_arrived,
            "declared_lost": way.declared_lost,
            "spurious": way.spurious,
            "spurious_numbers": list(way.spurious_numbers),
            "overtaken": way.overtaken,
            "longest_wait_ns": int(way.waits_ns.max(initial=0)),
            "drift_ns": way.drift_ns,
            "clocks_drift": way.clocks_drift,
        }
        for way in answers.joined.ways
    ]
    return found


def _seconds(ns: float | None) -> str:
    return wording.quantity(None if ns is None else ns / 1e9, "s")


def _parts(answer: TransferAnswer) -> Iterator[RenderableType | Prose]:
    recording, path = answer.recording, answer.path
    role = "sends" if recording.sends else "receives"
    head = f"{recording.name}: {recording.protocol} by {recording.producer}; {recording.end} end, which {role} the data"
    yield Prose(head)
    yield Prose(summary(answer), "bold")
    facts = {
        "shortest round trip": _seconds(path.shortest_rtt_ns),
        "median": _seconds(path.median_rtt_ns),
        "highest steady rate": wording.quantity(path.rate_bps, "bit/s"),
        "mean rate": wording.quantity(path.mean_rate_bps, "bit/s"),
        "longest wait in queues": _seconds(path.queue_ns),
        "lost": wording.DASH if path.lost_share is None else f"{path.lost_packets} packets, {path.lost_share:.2%}",
    }
    yield Prose("the path, as this end saw it: " + ", ".join(f"{name} {value}" for name, value in facts.items()))
    table = Table("class of time", "time", "share", "it holds while", box=None)
    for (name, detail), spent in sorted(answer.intervals.sums().items(), key=lambda item: -item[1]):
        meaning = MEANINGS[name] + (f" ({detail})" if detail else "")
        table.add_row(name, _seconds(spent), _share(spent, answer.intervals.total_ns), meaning)
    yield table
    limits = Table("from", "to", "limited by", "share", "rate", box=None)
    for phase in answer.phases:
        times = (_seconds(phase.start_ns), _seconds(phase.end_ns))
        limits.add_row(*times, phase.name, _share(phase.share, 1), wording.quantity(phase.rate_bps, "bit/s"))
    yield limits
    if not answer.suspicions:
        yield Prose("no cause is suspected: no class that a known cause explains has 5 % of the time")
    for suspicion in answer.suspicions:
        yield from _suspicion(suspicion, answer)
    yield from (Prose(sentence, "dim") for sentence in answer.rests_on)
    yield from (Prose(problem, "yellow") for problem in recording.problems)


def summary(answer: TransferAnswer) -> str:
    """Return the answer in a sentence."""
    spent = answer.intervals.spent_ns(answer.limit)
    total = answer.intervals.total_ns
    size = wording.quantity(answer.path.data_bytes, "B")
    return f"{size} in {_seconds(total)}; {_share(spent, total)} of the time {MEANINGS[answer.limit]} ({answer.limit})."


def _share(part: float, whole: float) -> str:
    return f"{wording.points(100 * part / max(whole, 1e-9))} %"


def _suspicion(suspicion: Suspicion, answer: TransferAnswer) -> Iterator[Prose]:
    most = _share(suspicion.at_most_ns, answer.intervals.total_ns)
    yield Prose(f"suspected: {suspicion.cause} (at work in at most {most}): {suspicion.says}")
    for seen in suspicion.evidence:
        yield Prose(f"  at {_seconds(seen.time_ns)}: {_packet(seen, answer.recording)}{seen.what}")
    yield Prose(f"  to confirm it: {suspicion.confirm}{_settings(suspicion)}")


def _packet(seen: Seen, recording: Recording) -> str:
    """Return the name of an observation's packet: of a capture with the frame's number, by which Wireshark finds it."""
    if seen.packet is None:
        return ""
    frame = recording.frame_of(seen.packet)
    found = "" if frame is None else f" (frame {frame})"
    return f"{'segment' if recording.protocol == 'TCP' else 'packet'} {seen.packet}{found}: "


def _settings(suspicion: Suspicion) -> str:
    shown = ", ".join(f"{key} = {value}" for key, value in suspicion.settings.items())
    return f" ({shown})" if shown else ""


def _data(answer: TransferAnswer) -> dict[str, Any]:
    recording, path = answer.recording, answer.path
    return {
        "event": "transfer",
        "trace": recording.name,
        "protocol": recording.protocol,
        "producer": recording.producer,
        "end": recording.end,
        "role": "sender" if recording.sends else "receiver",
        "summary": summary(answer),
        "total_ns": answer.intervals.total_ns,
        "path": {
            "shortest_rtt_ns": path.shortest_rtt_ns,
            "median_rtt_ns": path.median_rtt_ns,
            "rate_bps": path.rate_bps,
            "mean_rate_bps": path.mean_rate_bps,
            "queue_ns": path.queue_ns,
            "lost_packets": path.lost_packets,
            "lost_share": path.lost_share,
            "data_bytes": path.data_bytes,
        },
        "classes": [
            {"class": str(name), "detail": detail or None, "ns": spent}
            for (name, detail), spent in answer.intervals.sums().items()
        ],
        "phases": [
            {
                "start_ns": each.start_ns,
                "end_ns": each.end_ns,
                "class": str(each.name),
                "share": each.share,
                "rate_bps": each.rate_bps,
            }
            for each in answer.phases
        ],
        "suspicions": [
            {
                "cause": each.cause,
                "says": each.says,
                "at_most_ns": each.at_most_ns,
                "evidence": [
                    {
                        "time_ns": seen.time_ns,
                        "packet": seen.packet,
                        "frame": None if seen.packet is None else recording.frame_of(seen.packet),
                        "what": seen.what,
                    }
                    for seen in each.evidence
                ],
                "confirm": each.confirm,
                "settings": dict(each.settings),
            }
            for each in answer.suspicions
        ],
        "rests_on": list(answer.rests_on),
        "problems": list(recording.problems),
    }
