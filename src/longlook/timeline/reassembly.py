"""When data that had arrived could not be delivered, because an earlier byte of its sequence was missing. Pure."""

import heapq
from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

Wait = tuple[int, int]
"""From when to when, in ns."""

_FIRST = 10
"""The lowest byte of this many packets is taken for the first of a TCP connection: the very first may have been lost.
"""


def waits(arrivals: Iterable[tuple[int, int, int]], first: int = 0) -> list[Wait]:
    """Return the times in which bytes lay behind a gap, in order.

    `arrivals` has the time in ns, the offset and the length in bytes of each part, in order of time; `first` is the
    offset of the first byte. A gap that is never filled ends with the last arrival.
    """
    found: list[Wait] = []
    held: list[tuple[int, int]] = []
    expected, since, last = first, None, 0
    for time_ns, offset, length in arrivals:
        last = time_ns
        if length <= 0 or offset + length <= expected:
            continue
        heapq.heappush(held, (offset, offset + length))
        while held and held[0][0] <= expected:
            expected = max(expected, heapq.heappop(held)[1])
        if held and since is None:
            since = time_ns
        elif since is not None and not held:
            found.append((since, time_ns))
            since = None
    if since is not None:
        found.append((since, last))
    return found


def tcp_waits(
    times_ns: Sequence[int] | npt.NDArray[np.int64],
    sequences: Sequence[int] | npt.NDArray[np.int64],
    payloads_bytes: Sequence[int] | npt.NDArray[np.int64],
) -> list[Wait]:
    """Return the times in which data of a TCP connection lay behind a gap.

    The arguments are its packets with payload in one direction in order of arrival; sequence numbers are of 32 bits and
    wrap.
    """
    if len(sequences) == 0:
        return []
    numbers = np.asarray(sequences, np.int64)
    steps = (np.diff(numbers) + 2**31) % 2**32 - 2**31
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(steps)])
    arrivals = zip(np.asarray(times_ns).tolist(), offsets.tolist(), np.asarray(payloads_bytes).tolist(), strict=True)
    return waits(arrivals, first=int(offsets[:_FIRST].min()))


def overlap_ns(found: Sequence[Wait], begin_ns: int, end_ns: int) -> int:
    """Return how much of some waits lies within a time, in ns."""
    return sum(max(0, min(end, end_ns) - max(begin, begin_ns)) for begin, end in found)
