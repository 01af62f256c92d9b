"""How soon the frames of a live source are whole, and how many never are."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from longlook.core import OF_SHARES, Better, Margin, Quantity
from longlook.metrics import Metric
from longlook.timeline import Kind, Timeline

_NEEDS = (Kind.FRAME_ARRIVED, Kind.FRAME_MISSED)
_DERIVED = "frames of a live source"
_MOST_OF_HUNDRED = 99


@dataclass(frozen=True)
class Frames:
    """The frames of a source: latencies of the whole ones in s, and how many there are in all."""

    latencies_s: np.ndarray[tuple[int], np.dtype[np.float64]]
    produced: int


def frames_of(timeline: Timeline) -> Frames | None:
    """Return the frames of a trial, read once per timeline; None if it has no live source."""
    if _DERIVED not in timeline.derived:
        arrived, missed = (timeline.select(kind) for kind in _NEEDS)
        latencies_s = arrived["value"].to_numpy()
        produced = arrived.num_rows + missed.num_rows
        timeline.derived[_DERIVED] = Frames(latencies_s, produced) if produced else None
    found: Frames | None = timeline.derived[_DERIVED]
    return found


def _quantile(timeline: Timeline, of_hundred: int) -> float | None:
    """Return the latency in s within which `of_hundred` of a hundred frames are whole; None if no frame was whole.

    It is the latency of a frame, the first that reaches the share, and none between two.
    """
    frames = frames_of(timeline)
    if frames is None or not len(frames.latencies_s):
        return None
    return float(np.percentile(frames.latencies_s, of_hundred, method="inverted_cdf"))


def _frame_latency(timeline: Timeline) -> float | None:
    """Return the median in s; None if no frame was whole."""
    return _quantile(timeline, 50)


def _frame_latency_p99(timeline: Timeline) -> float | None:
    """Return the 99th percentile in s; None if no frame was whole."""
    return _quantile(timeline, _MOST_OF_HUNDRED)


def _late_frames(timeline: Timeline) -> float | None:
    """Return the share in % of all frames; None if there is no live source, or no deadline is known."""
    frames, live = frames_of(timeline), timeline.metadata.get("live")
    if frames is None or live is None:
        return None
    late = int(np.count_nonzero(np.round(frames.latencies_s * 1e9) > live["deadline_ns"]))
    return 100.0 * late / frames.produced


def _overdue_frames(timeline: Timeline) -> float | None:
    """Return the share in % of all frames; None if there is no live source, or no deadline is known."""
    late, dropped = _late_frames(timeline), _dropped_frames(timeline)
    return None if late is None or dropped is None else late + dropped


def _dropped_frames(timeline: Timeline) -> float | None:
    """Return the share in % of all frames; None if there is no live source."""
    frames = frames_of(timeline)
    return None if frames is None else 100.0 * (frames.produced - len(frames.latencies_s)) / frames.produced


def _dropped_at_sender(timeline: Timeline) -> float | None:
    """Return the share in % of all frames; None if the server does not say what became of its frames."""
    fates = {row["name"]: row["value"] for row in timeline.select(Kind.FRAMES_HANDLED).to_pylist()}
    produced = sum(fates.values())
    return 100.0 * (produced - fates.get("sent", 0.0)) / produced if produced else None


def _frames(timeline: Timeline) -> float | None:
    """Return how many; None if there is no live source."""
    frames = frames_of(timeline)
    return None if frames is None else float(frames.produced)


def _share(
    name: str, label: str, measure: Callable[[Timeline], float | None], summary: str, needs: tuple[Kind, ...] = _NEEDS
) -> Metric:
    return Metric(
        name=name,
        label=label,
        unit="%",
        better=Better.LOWER,
        quantity=Quantity.SHARE,
        margin=OF_SHARES,
        needs=needs,
        measure=measure,
        summary=summary,
    )


METRICS = (
    Metric(
        name="frame_latency",
        label="Frame latency",
        unit="s",
        better=Better.LOWER,
        needs=_NEEDS,
        measure=_frame_latency,
        summary="Live source: time from the production of a frame at the server to its last byte at the client, the "
        "median of the frames that became whole. Both ends read one clock. Read it with `dropped_frames`: "
        "frames that never became whole are not in it.",
    ),
    Metric(
        name="frame_latency_p99",
        label="Frame latency, 99 %",
        unit="s",
        better=Better.LOWER,
        needs=_NEEDS,
        measure=_frame_latency_p99,
        summary="Live source: the latency within which 99 of 100 frames that became whole are so.",
    ),
    _share(
        "late_frames",
        "Late frames",
        _late_frames,
        "Live source: share of all frames that became whole later than the workload's `deadline`.",
    ),
    _share(
        "dropped_frames",
        "Dropped frames",
        _dropped_frames,
        "Live source: share of all frames that never became whole at the client: given up at the sender, lost in the "
        "network, or not there when both ends gave up.",
    ),
    _share(
        "overdue_frames",
        "Overdue frames",
        _overdue_frames,
        "Live source: share of all frames that were not whole by the workload's `deadline`: `late_frames` and "
        "`dropped_frames` together, so that an arm gains nothing by dropping what would have come late.",
    ),
    _share(
        "dropped_at_sender",
        "Dropped at the sender",
        _dropped_at_sender,
        "Live source: share of all frames that the server gave up, before anything of them left or in the middle.",
        (Kind.FRAMES_HANDLED,),
    ),
    Metric(
        name="frames",
        label="Frames",
        unit="frames",
        better=Better.HIGHER,
        quantity=Quantity.COUNT,
        margin=Margin(0.5, "a source produces the same number in every trial"),
        needs=_NEEDS,
        measure=_frames,
        summary="Live source: how many frames it produced. It is the same in all arms, and says what a share is of.",
    ),
)
