"""Which sizes of datagrams an echo got an answer to, and how soon. Pure."""

from dataclasses import dataclass

from longlook.timeline.timeline import Kind, Timeline

_DERIVED = "echoes"


@dataclass(frozen=True)
class Tried:
    """One size of a trial's sweep."""

    payload_bytes: int  # of UDP
    answer_after_ns: int | None  # since its first try; None: no answer


def tried(timeline: Timeline) -> tuple[Tried, ...]:
    """Return the sizes in ascending order, computed once per timeline; empty where the trial is no echo."""
    if _DERIVED not in timeline.derived:
        timeline.derived[_DERIVED] = _read(timeline)
    found: tuple[Tried, ...] = timeline.derived[_DERIVED]
    return found


def _read(timeline: Timeline) -> tuple[Tried, ...]:
    started = _times_ns(timeline, Kind.ECHO_STARTED)
    answered = _times_ns(timeline, Kind.ECHO_ANSWERED)
    return tuple(
        Tried(size, answered[size] - began_ns if size in answered else None)
        for size, began_ns in sorted(started.items())
    )


def _times_ns(timeline: Timeline, kind: Kind) -> dict[int, int]:
    rows = timeline.select(kind).select(["size_bytes", "time_ns"]).to_pylist()
    return {row["size_bytes"]: row["time_ns"] for row in rows}
