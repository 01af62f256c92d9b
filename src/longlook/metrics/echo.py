"""Which sizes of packets a path carries there and back."""

from dataclasses import dataclass
from statistics import median

from longlook.core import OF_PACKETS, OF_SHARES, Better, Margin, Quantity
from longlook.metrics import Metric
from longlook.timeline import Kind, Timeline

_DERIVED = "echoes"


@dataclass(frozen=True)
class Tried:
    """One size of a trial's sweep."""

    payload_bytes: int  # of UDP
    answer_after_ns: int | None  # since its first try; None: no answer


def tried(timeline: Timeline) -> tuple[Tried, ...]:
    """Return the sizes in ascending order, computed once per timeline; empty if the trial is no echo."""
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


def _answered(timeline: Timeline) -> float | None:
    """Return the share in %; None if nothing was tried."""
    sizes = tried(timeline)
    if not sizes:
        return None
    return 100.0 * sum(each.answer_after_ns is not None for each in sizes) / len(sizes)


def _usable_payload(timeline: Timeline) -> float | None:
    """Return the largest UDP payload in bytes up to which every size was answered; None if the smallest was not."""
    usable: float | None = None
    for each in tried(timeline):
        if each.answer_after_ns is None:
            break
        usable = float(each.payload_bytes)
    return usable


def _echo_gaps(timeline: Timeline) -> float | None:
    """Return how many sizes were answered beyond the first that was not; None if nothing was tried."""
    sizes = tried(timeline)
    if not sizes:
        return None
    passed = [each.answer_after_ns is not None for each in sizes]
    return float(sum(passed[passed.index(False) :])) if False in passed else 0.0


def _first_answer_time(timeline: Timeline) -> float | None:
    """Return the median over the answered sizes in s; None if none was."""
    times_ns = [each.answer_after_ns for each in tried(timeline) if each.answer_after_ns is not None]
    return median(times_ns) / 1e9 if times_ns else None


METRICS = (
    Metric(
        name="answered",
        label="Sizes answered",
        unit="%",
        better=Better.HIGHER,
        quantity=Quantity.SHARE,
        margin=OF_SHARES,
        needs=(Kind.ECHO_STARTED, Kind.ECHO_ANSWERED),
        measure=_answered,
        summary="Echo: share of the sizes tried to which at least one of the tries brought an answer. A size that the "
        "kernel refuses to send is one without an answer.",
    ),
    Metric(
        name="usable_payload",
        label="Usable payload",
        unit="B",
        better=Better.HIGHER,
        margin=OF_PACKETS,
        needs=(Kind.ECHO_STARTED, Kind.ECHO_ANSWERED),
        measure=_usable_payload,
        summary="Echo: the largest UDP payload that was answered, with every smaller one of the sweep answered, too. "
        "None if the smallest was not. `echo_gaps` counts larger ones that were answered all the same.",
    ),
    Metric(
        name="echo_gaps",
        label="Sizes answered beyond the first that was not",
        unit="sizes",
        better=Better.LOWER,
        quantity=Quantity.COUNT,
        margin=Margin(0.1, "a size in ten sweeps"),
        needs=(Kind.ECHO_STARTED, Kind.ECHO_ANSWERED),
        measure=_echo_gaps,
        summary="Echo: how many sizes were answered although a smaller one was not: 0 if a path has one largest "
        "size, so that `usable_payload` says everything.",
    ),
    Metric(
        name="first_answer_time",
        label="Time to the first answer",
        unit="s",
        better=Better.LOWER,
        needs=(Kind.ECHO_STARTED, Kind.ECHO_ANSWERED),
        measure=_first_answer_time,
        summary="Echo: time from the first try of a size to its first answer, the median over the sizes that had one. "
        "Over QUIC it includes the handshake.",
    ),
)
