"""Performance envelopes: the region of throughput and delay that a sender occupies, and the agreement of two. Pure.

After Mishra, Lim and Leong, "Understanding Speciation in QUIC Congestion Control" (IMC 2022). Points are throughput and
delay every ten round trips. The envelope is the convex hull of the 95 % of points nearest to their mean. Conformance is
the share of both senders' points that lie in the other's envelope.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from longlook.timeline.competition import Competition

Points = npt.NDArray[np.float64]
"""Throughput in Mbit/s and delay in ms, shape (points, 2)."""

SAMPLE_RTTS = 10
KEPT = 0.95
FEWEST = 8
"""The smallest number of points that make an envelope."""
_TOLERANCE = 1e-9


@dataclass(frozen=True)
class Envelope:
    """A convex hull; `points` are those kept, on axes of equal weight."""

    points: Points
    hull: Points  # corners in order, shape (corners, 2)
    equations: Points  # of the hull's sides: normal and offset, shape (sides, 3)

    def contains(self, points: Points) -> npt.NDArray[np.bool_]:
        """Return which points lie in the envelope."""
        beyond = points @ self.equations[:, :2].T + self.equations[:, 2]
        return np.asarray(beyond.max(axis=1) <= _TOLERANCE, np.bool_)


def points_of(competition: Competition) -> Points:
    """Return the first group's throughput and delay every ten round trips while all flows competed, shape (points, 2).

    Throughput in Mbit/s is the sum over its flows; delay in ms is the round trip without queues plus its packets' mean
    wait. There are no points if the round trip varies or is unknown.
    """
    if competition.window_ns is None or not competition.rtt_s or not competition.subject:
        return np.zeros((0, 2))
    begin_ns, end_ns = competition.window_ns
    step_ns = SAMPLE_RTTS * competition.rtt_s * 1e9
    count = int((end_ns - begin_ns) // step_ns)
    packets = competition.delivered
    chosen = np.isin(packets.flow, competition.subject) & (packets.time_ns >= begin_ns) & ~np.isnan(packets.wait_s)
    number = ((packets.time_ns[chosen] - begin_ns) // step_ns).astype(np.int64)
    inside = number < count
    number, size, wait_s = number[inside], packets.size_bytes[chosen][inside], packets.wait_s[chosen][inside]
    total = np.bincount(number, size, count) * 8 / step_ns * 1e3
    seen = np.bincount(number, minlength=count)
    waited_s = np.divide(np.bincount(number, wait_s, count), seen, out=np.full(count, np.nan), where=seen > 0)
    points = np.stack([total, (competition.rtt_s + waited_s) * 1e3], axis=1)
    return points[seen > 0]


def envelope(points: Points, scale: Sequence[float]) -> Envelope | None:
    """Return the envelope of some points, divided by `scale` so that both axes have equal weight.

    None if the points are too few or on a line.
    """
    if len(points) < FEWEST:
        return None
    from scipy.spatial import ConvexHull, QhullError  # not above: naming a study's metrics needs no scipy

    scaled = points / np.asarray(scale, np.float64)
    distance = ((scaled - scaled.mean(axis=0)) ** 2).sum(axis=1)
    kept = scaled[np.argsort(distance, kind="stable")[: max(FEWEST, int(len(scaled) * KEPT))]]
    try:
        hull = ConvexHull(kept)
    except QhullError:  # all on one line
        return None
    return Envelope(kept, kept[hull.vertices], hull.equations)


def conformance(one: Envelope, other: Envelope) -> float:
    """Return the share of both envelopes' points that lie in the other one; 1 if they cannot be distinguished."""
    inside = int(other.contains(one.points).sum()) + int(one.contains(other.points).sum())
    return inside / (len(one.points) + len(other.points))


def compare(own: Points, reference: Points) -> float | None:
    """Return the conformance of a sender's points to a reference's in %, or None if one of them has no envelope."""
    if len(reference) < FEWEST:
        return None
    scale = np.where(reference.std(axis=0) > 0, reference.std(axis=0), 1.0)
    one, other = envelope(own, scale.tolist()), envelope(reference, scale.tolist())
    return None if one is None or other is None else 100 * conformance(one, other)
