"""The limits of a transfer over time: its span in parts, each with the class that most of its time is in. Pure."""

from dataclasses import dataclass

import numpy as np

from longlook.explain import Integers
from longlook.instruments.transfer.classes import PLACES, Intervals, TimeClass
from longlook.instruments.transfer.recording import Packets

_PARTS = 24


@dataclass(frozen=True)
class Phase:
    """A part of a transfer, in ns, with the class that most of its time is in, that class's share, and the rate."""

    start_ns: int
    end_ns: int
    name: TimeClass
    share: float
    rate_bps: float


def phases(intervals: Intervals, data: Packets, rtt_ns: int | None) -> list[Phase]:
    """Return the phases of a transfer: equal parts of at least two round trips, of which like neighbours are one."""
    begin_ns, end_ns = int(intervals.start_ns[0]), int(intervals.end_ns[-1])
    count = int(np.clip((end_ns - begin_ns) / max(2 * (rtt_ns or 0), 1), 1, _PARTS))
    edges = np.linspace(begin_ns, end_ns, count + 1).astype(np.int64)
    spent = _spent(intervals, edges)
    carried = np.concatenate([[0], np.cumsum(np.maximum(data.size_bytes, 0))])[np.searchsorted(data.time_ns, edges)]
    carried[-1] = data.total_bytes
    strongest = spent.argmax(axis=0)
    found: list[Phase] = []
    first = 0
    for place in range(1, count + 1):
        if place < count and strongest[place] == strongest[first]:
            continue
        length = int(edges[place] - edges[first])
        own = int(spent[strongest[first], first:place].sum())
        rate = float(carried[place] - carried[first]) * 8e9 / max(length, 1)
        name = tuple(TimeClass)[int(strongest[first])]
        found.append(Phase(int(edges[first]), int(edges[place]), name, own / max(length, 1), rate))
        first = place
    return found


def _spent(intervals: Intervals, edges_ns: Integers) -> Integers:
    """Return the ns of each class in each part, shape (classes, parts)."""
    bounds = np.append(intervals.start_ns, intervals.end_ns[-1])
    found = np.zeros((len(PLACES), len(edges_ns) - 1), np.int64)
    for place in np.unique(intervals.place).tolist():
        so_far = np.concatenate([[0], np.cumsum(np.where(intervals.place == place, intervals.length_ns, 0))])
        found[place] = np.diff(np.interp(edges_ns, bounds, so_far)).astype(np.int64)
    return found
