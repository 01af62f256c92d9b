"""Why a video stood still: the segment that came late, and what the time of its load went on. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from longlook.explain.ledger import Ledger, LedgerClass
from longlook.timeline.playback import Playback, Segment


@dataclass(frozen=True)
class Stall:
    """One stall. Times are ns since the first request of the load."""

    start_ns: int
    end_ns: int
    late: Segment | None  # the segment with which playing went on; None: the stall lasted to the end
    position_ns: tuple[int, int] | None  # when that segment was asked for and came
    spent_ns: Mapping[LedgerClass, int]  # what the time of its load went on, most first; empty without a ledger


def stalls_of(play: Playback, ledger: Ledger | None, start_ns: int) -> tuple[Stall, ...]:
    """Return the stalls of a play in order.

    The segment that came late is the one with whose arrival playing went on. Where going on takes several, earlier ones
    came late, too, and are not looked at.
    """
    arrived = {segment.arrived_ns: segment for segment in play.segments}
    found = []
    for begin_ns, end_ns in play.stalls_ns:
        late = arrived.get(end_ns)
        found.append(
            Stall(
                begin_ns - start_ns,
                end_ns - start_ns,
                late,
                None if late is None else (late.requested_ns - start_ns, late.arrived_ns - start_ns),
                {} if late is None or ledger is None else spent(ledger, late.requested_ns, late.arrived_ns),
            )
        )
    return tuple(found)


def spent(ledger: Ledger, begin_ns: int, end_ns: int) -> dict[LedgerClass, int]:
    """Return what a part of a load's time went on, most first; what lies outside of the load is left out."""
    starts, ends = (ledger.table[name].to_numpy() for name in ("start_ns", "end_ns"))
    inside = np.minimum(ends, end_ns) - np.maximum(starts, begin_ns)
    sums: dict[LedgerClass, int] = {}
    for name, time_ns in zip(ledger.table["class"].to_pylist(), inside.tolist(), strict=True):
        if time_ns > 0:
            sums[LedgerClass(name)] = sums.get(LedgerClass(name), 0) + time_ns
    return dict(sorted(sums.items(), key=lambda item: -item[1]))
