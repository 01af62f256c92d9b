"""Queue depths against theory: the depth that each packet met follows from the arrivals and departures before it."""

import numpy as np
from numpy.typing import NDArray


def mismatches(
    arrival_ns: NDArray[np.uint64],
    size_bytes: NDArray[np.uint32],
    queue_bytes: NDArray[np.uint32],
    due_ns: NDArray[np.uint64],
    accepted: NDArray[np.bool_],
) -> int:
    """Return how many packets of a drop-tail bottleneck met another depth than theory demands.

    The queue of a packet that arrives at t holds the accepted packets before it that have not left by t, the one in
    transmission included. The bottleneck must be the only stage: packets then leave at their due times.
    """
    sizes = np.where(accepted, size_bytes, 0).astype(np.int64)
    came = np.concatenate(([0], np.cumsum(sizes)[:-1]))
    left_at = due_ns[accepted].astype(np.int64)
    left = np.concatenate(([0], np.cumsum(sizes[accepted])))
    gone = left[np.searchsorted(left_at, arrival_ns.astype(np.int64), side="right")]
    return int(np.sum(came - gone != queue_bytes.astype(np.int64)))
