"""Align two sequences of the same packets, one of which has gaps that the other has not. Pure.

Both are in the order of sending. Sizes and times show where one lacks a packet: a run of pairs goes on while sizes
agree and each lag (time in the second − time in the first) is possible. Where it breaks, the smallest shift that makes
the next pairs agree begins the next run, at the place where the lags fit best.
"""

from dataclasses import dataclass

import numpy as np

from longlook.timeline.normalise.rows import NULL, Integers, Mask

_FURTHEST = 48  # how many packets either side may lack at one place, to be found by sizes
_AGREEING = 6  # so many pairs in a row must agree to begin a new run
_MOST_GAPS = 512  # that one run is searched for
_MOST_BREAKS = 5_000  # beyond, the two are not the same packets
_IMPOSSIBLE = 1 << 40  # ns: 18 minutes


@dataclass(frozen=True)
class Side:
    """One of the two sequences: arrays of one length. A size of NULL agrees with every size."""

    time_ns: Integers
    size_bytes: Integers

    def __len__(self) -> int:
        """Return the number of packets."""
        return len(self.time_ns)


@dataclass(frozen=True)
class Lags:
    """The lags that are possible."""

    least_ns: int
    most_ns: int


def align(first: Side, second: Side, lags: Lags) -> Integers:
    """Return for each packet of `first` its index in `second`, NULL if it is missing there; strictly increasing."""
    pairs = np.full(len(first), NULL, np.int64)
    at = other = began = 0
    for _ in range(_MOST_BREAKS):
        agree = _agree(first, second, slice(at, len(first)), other - at, lags)
        length = len(agree) if agree.all() else int(np.argmin(agree))
        pairs[at : at + length] = np.arange(other, other + length)
        at, other = at + length, other + length
        ended = at == len(first) or other == len(second)
        skip = (len(first) - at, len(second) - other) if ended else _resume(first, second, at, other, lags)
        _settle(first, second, pairs, (began, at, other), skip, lags)
        if ended:
            break
        began = at = at + skip[0]
        other += skip[1]
    return pairs


def _agree(first: Side, second: Side, members: slice, shift: int, lags: Lags) -> Mask:
    """Return which of some packets of `first` may be those of `second` that are `shift` further on, up to the end."""
    stop = max(members.start, min(members.stop, len(second) - shift))
    one, two = slice(members.start, stop), slice(members.start + shift, stop + shift)
    lag_ns = second.time_ns[two] - first.time_ns[one]
    sizes = first.size_bytes[one], second.size_bytes[two]
    same = (sizes[0] == sizes[1]) | (sizes[0] == NULL) | (sizes[1] == NULL)
    agree: Mask = same & (lag_ns >= lags.least_ns) & (lag_ns <= lags.most_ns)
    return agree


def _resume(first: Side, second: Side, at: int, other: int, lags: Lags) -> tuple[int, int]:
    """Return how many packets to leave out on each side so that the next agree; by time alone if no shift helps.

    The fewest in all are left out, and of several ways the one whose lags are least; of equals the one that leaves out
    most of `first`.
    """
    costs = _run_costs(first, second, at, other, lags)
    skips, other_skips = np.nonzero(costs < _IMPOSSIBLE)
    totals = skips + other_skips
    possible = (totals > 0) & (totals < 2 * _FURTHEST)
    if possible.any():
        skips, other_skips, totals = skips[possible], other_skips[possible], totals[possible]
        best = np.lexsort((-skips, costs[skips, other_skips], totals))[0]
        return int(skips[best]), int(other_skips[best])
    following = first.time_ns[min(at + 1, len(first) - 1)] + lags.least_ns
    return 1, int(np.searchsorted(second.time_ns[other:], following))


def _run_costs(first: Side, second: Side, at: int, other: int, lags: Lags) -> Integers:
    """Return the cost of the next pairs after each two skips, shape (skips of first, skips of second).

    It is the sum over _AGREEING pairs, or over those that are left, and _IMPOSSIBLE or more where one does not agree.
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
        (padded[step : step + kept[0], step : step + kept[1]] for step in range(_AGREEING)),
        start=np.zeros(kept, np.int64),
    )
    return runs


def _settle(
    first: Side, second: Side, pairs: Integers, run: tuple[int, int, int], skip: tuple[int, int], lags: Lags
) -> None:
    """Put the gaps between a run and its successor where the lags fit best, one after the other.

    Among packets of one size a missing one shows only later, at the next other size: from the missing one on the pairs
    are off by one, which their lags show. `run` is its beginning and end in `first`, and its end in `second`.
    """
    began, at, other = run
    missing = skip[0] - skip[1]
    if missing == 0 or at == began:
        return
    end, shift = at + skip[0], other - at
    step = 1 if abs(missing) <= _MOST_GAPS else abs(missing)
    gap = step if missing > 0 else 0  # packets without a partner
    for _ in range(0, abs(missing), step):
        next_shift = shift - step if missing > 0 else shift + step
        before = np.cumsum(_costs(first, second, slice(began, end), shift, lags))
        after = np.cumsum(_costs(first, second, slice(began, end), next_shift, lags)[::-1])[::-1]
        split = int(np.argmin(np.append(0, before) + np.append(after, np.zeros(gap + 1, np.int64))[gap:]))
        _pair(first, second, pairs, slice(began, began + split), shift, lags)
        pairs[began + split : min(began + split + gap, end)] = NULL
        began, shift = min(began + split + gap, end), next_shift
    _pair(first, second, pairs, slice(began, end), shift, lags)


def _pair(first: Side, second: Side, pairs: Integers, members: slice, shift: int, lags: Lags) -> None:
    possible = _costs(first, second, members, shift, lags) < _IMPOSSIBLE
    pairs[members] = np.where(possible, np.arange(members.start, members.stop) + shift, NULL)


def _costs(first: Side, second: Side, members: slice, shift: int, lags: Lags) -> Integers:
    """Return how badly packets of `first` fit those `shift` further on in `second`: the lag, or _IMPOSSIBLE."""
    costs = np.full(members.stop - members.start, _IMPOSSIBLE, np.int64)
    begin = max(members.start, -shift)
    agree = _agree(first, second, slice(begin, max(begin, members.stop)), shift, lags)
    inside = slice(begin - members.start, begin - members.start + len(agree))
    indices = np.arange(begin, begin + len(agree))
    lag_ns = np.abs(second.time_ns[indices + shift] - first.time_ns[indices])
    costs[inside] = np.where(agree, np.minimum(lag_ns, _IMPOSSIBLE - 1), _IMPOSSIBLE)
    return costs
