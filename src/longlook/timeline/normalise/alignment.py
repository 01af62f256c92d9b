"""Align two sequences of the same packets, one of which has gaps that the other has not. Pure.

Both are in the order of sending. Sizes and times show the gaps: a run of pairs goes on while sizes agree and each lag
(time in the second − time in the first) is possible. If it breaks, the smallest shift that makes the next pairs agree
begins the next run, at the place at which the lags fit best.
"""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from longlook.timeline.normalise.rows import NULL, Integers, Mask

_FURTHEST = 48  # how many packets either side may lack at one place, to be found by sizes
_AGREEING = 6  # so many pairs in a row must agree to begin a new run
_MOST_GAPS = 512  # that one run is searched for
_MOST_BREAKS = 5_000  # beyond, the two are not the same packets
_AGAIN = 8  # so many gaps before a break are placed anew with its own,
_MOST_CELLS = 1 << 22  # or fewer, if these are packets times shifts
_IMPOSSIBLE = 1 << 38  # ns: 5 minutes; the sum over all packets fits into 64 bits
_NEVER = 1 << 62


@dataclass(frozen=True)
class AlignedSequence:
    """One of the two sequences: arrays of one length. A size of NULL agrees with every size."""

    time_ns: Integers
    size_bytes: Integers

    def __len__(self) -> int:
        """Return the number of packets."""
        return len(self.time_ns)


@dataclass(frozen=True)
class _Level:
    """From packet `begin` of the first on, its partners are `shift` further on in the second."""

    begin: int
    shift: int


@dataclass(frozen=True)
class Lags:
    """The lags that are possible."""

    least_ns: int
    most_ns: int


def align(first: AlignedSequence, second: AlignedSequence, lags: Lags) -> Integers:
    """Return for each packet of `first` its index in `second`, NULL if it is missing there; strictly increasing."""
    path = [_Level(0, 0)]
    at = other = 0
    for _ in range(_MOST_BREAKS):
        agree = _agree(first, second, slice(at, len(first)), other - at, lags)
        length = len(agree) if agree.all() else int(np.argmin(agree))
        at, other = at + length, other + length
        ended = at == len(first) or other == len(second)
        skip = (len(first) - at, len(second) - other) if ended else _resume(first, second, at, other, lags)
        at, other = at + skip[0], other + skip[1]
        _lengthen(path, first, second, at, other - at, lags)
        if ended:
            break
    return _pairs(path, first, second, at, lags)


def _agree(first: AlignedSequence, second: AlignedSequence, members: slice, shift: int, lags: Lags) -> Mask:
    """Return which packets of `first` may be the packets of `second` that are `shift` further on, up to the end."""
    stop = max(members.start, min(members.stop, len(second) - shift))
    one, two = slice(members.start, stop), slice(members.start + shift, stop + shift)
    lag_ns = second.time_ns[two] - first.time_ns[one]
    sizes = first.size_bytes[one], second.size_bytes[two]
    same = (sizes[0] == sizes[1]) | (sizes[0] == NULL) | (sizes[1] == NULL)
    agree: Mask = same & (lag_ns >= lags.least_ns) & (lag_ns <= lags.most_ns)
    return agree


def _resume(first: AlignedSequence, second: AlignedSequence, at: int, other: int, lags: Lags) -> tuple[int, int]:
    """Return how many packets to leave out on each side so that the next agree; by time alone if no shift helps.

    The way that leaves out the fewest packets is taken; among several, the way with the least lags, and among equals
    the way that leaves out most of `first`. If another gap follows at once, fewer pairs must do, provided that their
    lags are like the lags before.
    """
    found = _fewest(_run_costs(first, second, at, other, lags, _AGREEING))
    usual = _usual(first, second, at, other, lags)
    if usual is not None and (found is None or sum(found) > 1):
        near = _fewest(_run_costs(first, second, at, other, usual, _AGREEING // 2))
        if near is not None and (found is None or sum(near) < sum(found)):
            return near
    if found is not None:
        return found
    following = first.time_ns[min(at + 1, len(first) - 1)] + lags.least_ns
    return 1, int(np.searchsorted(second.time_ns[other:], following))


def _usual(first: AlignedSequence, second: AlignedSequence, at: int, other: int, lags: Lags) -> Lags | None:
    """Return the lags of the last pairs before a break, and twice as long ones; None if there are none."""
    count = min(at, other, _FURTHEST)
    agree = _agree(first, second, slice(at - count, at), other - at, lags)
    lag_ns = (second.time_ns[other - count : other] - first.time_ns[at - count : at])[agree]
    if not len(lag_ns):
        return None
    longest = 2 * int(np.abs(lag_ns).max())
    return Lags(max(lags.least_ns, -longest), min(lags.most_ns, longest))


def _fewest(costs: Integers) -> tuple[int, int] | None:
    """Return the skips with the fewest packets among all that cost less than _IMPOSSIBLE; None if all cost more."""
    skips, other_skips = np.nonzero(costs < _IMPOSSIBLE)
    totals = skips + other_skips
    possible = (totals > 0) & (totals < 2 * _FURTHEST)
    if not possible.any():
        return None
    skips, other_skips, totals = skips[possible], other_skips[possible], totals[possible]
    best = np.lexsort((-skips, costs[skips, other_skips], totals))[0]
    return int(skips[best]), int(other_skips[best])


def _run_costs(
    first: AlignedSequence, second: AlignedSequence, at: int, other: int, lags: Lags, pairs: int
) -> Integers:
    """Return the cost of the next pairs after each two skips, shape (skips of first, skips of second).

    It is the sum over the next pairs, or over the pairs that are left, and _IMPOSSIBLE or more if one does not agree.
    """
    rows, columns = (min(_FURTHEST + _AGREEING, len(side) - begin) for side, begin in ((first, at), (second, other)))
    lag_ns = second.time_ns[None, other : other + columns] - first.time_ns[at : at + rows, None]
    sizes = first.size_bytes[at : at + rows, None], second.size_bytes[None, other : other + columns]
    agree = (sizes[0] == sizes[1]) | (sizes[0] == NULL) | (sizes[1] == NULL)
    agree &= (lag_ns >= lags.least_ns) & (lag_ns <= lags.most_ns)
    single = np.where(agree, np.minimum(np.abs(lag_ns), _IMPOSSIBLE - 1), _IMPOSSIBLE)
    padded = np.zeros((rows + _AGREEING, columns + _AGREEING), np.int64)
    padded[:rows, :columns] = single
    kept = min(rows, _FURTHEST + 1), min(columns, _FURTHEST + 1)
    runs: Integers = sum(
        (padded[step : step + kept[0], step : step + kept[1]] for step in range(pairs)),
        start=np.zeros(kept, np.int64),
    )
    return runs


def _lengthen(
    path: list[_Level], first: AlignedSequence, second: AlignedSequence, end: int, shift: int, lags: Lags
) -> None:
    """Go on with a path to another shift, which holds from `end` at the latest.

    Among packets of one size a missing one shows only later, at the next other size: from the missing one on the pairs
    are off by one, which their lags show. A break may therefore be explained with too few gaps, and the rest found at a
    later one; so the last gaps before it are placed anew, all together.
    """
    missing = path[-1].shift - shift
    if missing == 0:
        return
    step = missing if abs(missing) > _MOST_GAPS else 1 if missing > 0 else -1
    steps = [path[-1].shift - gone for gone in range(step, missing + step, step)]
    kept = max(0, len(path) - 1 - _AGAIN)
    while kept < len(path) - 1 and (end - path[kept].begin) * (len(path) - kept + len(steps)) > _MOST_CELLS:
        kept += 1
    began, shifts = path[kept].begin, [*(level.shift for level in path[kept:]), *steps]
    begins = _place(first, second, slice(began, end), shifts, lags)
    path[kept:] = [_Level(begin, shift) for begin, shift in zip(begins, shifts, strict=True)]


def _place(first: AlignedSequence, second: AlignedSequence, members: slice, shifts: list[int], lags: Lags) -> list[int]:
    """Return from which packet on each of some shifts holds, one after the other, so that the sum of costs is least.

    `best[i]` is the least cost of the first i packets whose last shift is the one at hand. One bit for each packet
    keeps whether entering the shift there is better than anywhere before.
    """
    count = members.stop - members.start
    best = _sums(first, second, members, shifts[0], lags)
    entries = []
    for last, shift in pairwise(shifts):
        sums = _sums(first, second, members, shift, lags)
        gap = max(0, last - shift)
        enter = best[: count + 1 - gap] - sums[gap:]
        lowest = np.minimum.accumulate(enter)
        entries.append((gap, np.packbits(np.append(True, enter[1:] < lowest[:-1]))))
        best = np.append(np.full(gap, _NEVER), lowest + sums[gap:])
    begins, until = [members.start], count
    for gap, bits in reversed(entries):
        entered = gap + int(np.flatnonzero(np.unpackbits(bits, count=until + 1 - gap))[-1])
        begins.insert(1, members.start + entered)
        until = entered - gap
    return begins


def _sums(first: AlignedSequence, second: AlignedSequence, members: slice, shift: int, lags: Lags) -> Integers:
    return np.append(0, np.cumsum(_costs(first, second, members, shift, lags)))


def _pairs(path: list[_Level], first: AlignedSequence, second: AlignedSequence, end: int, lags: Lags) -> Integers:
    """Return the pairs along a path up to `end`; between two shifts are the packets that the second lacks."""
    pairs = np.full(len(first), NULL, np.int64)
    for level, following in pairwise([*path, _Level(end, path[-1].shift)]):
        members = slice(level.begin, following.begin - max(0, level.shift - following.shift))
        possible = _costs(first, second, members, level.shift, lags) < _IMPOSSIBLE
        pairs[members] = np.where(possible, np.arange(members.start, members.stop) + level.shift, NULL)
    return pairs


def _costs(first: AlignedSequence, second: AlignedSequence, members: slice, shift: int, lags: Lags) -> Integers:
    """Return how badly packets of `first` fit those `shift` further on in `second`: the lag, or _IMPOSSIBLE."""
    costs = np.full(members.stop - members.start, _IMPOSSIBLE, np.int64)
    begin = max(members.start, -shift)
    agree = _agree(first, second, slice(begin, max(begin, members.stop)), shift, lags)
    inside = slice(begin - members.start, begin - members.start + len(agree))
    indices = np.arange(begin, begin + len(agree))
    lag_ns = np.abs(second.time_ns[indices + shift] - first.time_ns[indices])
    costs[inside] = np.where(agree, np.minimum(lag_ns, _IMPOSSIBLE - 1), _IMPOSSIBLE)
    return costs
