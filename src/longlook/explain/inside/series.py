"""Series, marks and bands over time, thinned in such a way that every picture of them stays the same. Pure.

The method is M4 (Jugel, Jerzak, Hackenbroich, Markl: M4, VLDB 2014): of each bucket of time its first, least, greatest
and last value stay. A line drawn through them is the line through all values, as long as a pixel is at least as wide as
a bucket.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from longlook.explain.facts.columns import Integers

KEPT_PER_BUCKET = 4


@dataclass(frozen=True)
class Series:
    """Values over time, in order: bytes, or ns for round trip times.

    `count` is the number of values before thinning, `bucket_ns` the bucket's width, 0 if every value is here.
    """

    time_ns: Integers  # since the first request, (N,)
    value: Integers  # (N,)
    count: int
    bucket_ns: int = 0

    @classmethod
    def of(cls, time_ns: Integers, value: Integers) -> "Series":
        """Return a series of every value, in order of time (stable for equal times)."""
        order = np.argsort(time_ns, kind="stable")
        return cls(time_ns[order].astype(np.int64), value[order].astype(np.int64), len(order))


@dataclass(frozen=True)
class Marks:
    """Moments, in order; `count` is their number before thinning, larger than the length if buckets hold several."""

    time_ns: Integers  # (N,)
    weight: Integers  # how many moments each stands for, (N,)
    count: int
    bucket_ns: int = 0

    @classmethod
    def of(cls, time_ns: Integers, weight: Integers | None = None) -> "Marks":
        """Return marks of every moment; `weight` is given if one stands for several."""
        order = np.argsort(time_ns, kind="stable")
        weights = np.ones(len(order), np.int64) if weight is None else weight[order].astype(np.int64)
        return cls(time_ns[order].astype(np.int64), weights, int(weights.sum()))


@dataclass(frozen=True)
class Bands:
    """Stretches of time, in order, each with a name and its source (`derived` for a stated rule).

    If `bucket_ns` is not 0, the stretches of each bucket stand side by side in it, one of each kind.
    """

    start_ns: Integers  # (N,)
    end_ns: Integers  # (N,)
    name: tuple[str, ...]
    source: tuple[str, ...]
    bucket_ns: int = 0


def changes(series: Series) -> Series:
    """Return the series without values that repeat the one before."""
    if len(series.value) == 0:
        return series
    keep = np.concatenate([[True], np.diff(series.value) != 0])
    return Series(series.time_ns[keep], series.value[keep], int(keep.sum()))


def thin_series(series: Series, most: int) -> Series:
    """Return at most `most` values by M4, with buckets of one width; a series that has no more is returned as it is."""
    if len(series.time_ns) <= most:
        return series
    bucket_ns, starts = _buckets(series.time_ns, max(1, most // KEPT_PER_BUCKET))
    ends = np.concatenate([starts[1:], [len(series.time_ns)]])
    kept = [starts, ends - 1]
    kept += [
        _where_first(series.value, how.reduceat(series.value, starts), starts, ends) for how in (np.minimum, np.maximum)
    ]
    index = np.unique(np.concatenate(kept))
    return replace(series, time_ns=series.time_ns[index], value=series.value[index], bucket_ns=bucket_ns)


def thin_marks(marks: Marks, most: int) -> Marks:
    """Return at most `most` marks: all marks of a bucket become one at the first, with their number as its weight."""
    if len(marks.time_ns) <= most:
        return marks
    bucket_ns, starts = _buckets(marks.time_ns, most)
    weights = np.add.reduceat(marks.weight, starts)
    return replace(marks, time_ns=marks.time_ns[starts], weight=weights, bucket_ns=bucket_ns)


def thin_bands(bands: Bands, most: int) -> Bands:
    """Return at most `most` bands, with the time of each name and source in each bucket of one width as it was.

    The bands of a bucket that have one name and source become one, and all of it stand side by side from its begin.
    """
    if len(bands.name) <= most:
        return bands
    kinds = sorted(set(zip(bands.name, bands.source, strict=True)))
    place = {kind: number for number, kind in enumerate(kinds)}
    which = np.array([place[kind] for kind in zip(bands.name, bands.source, strict=True)], np.int64)
    first_ns, last_ns = int(bands.start_ns[0]), int(bands.end_ns[-1])
    bucket_ns = -(-(last_ns - first_ns) // max(1, most // len(kinds)))
    edges_ns = np.unique(np.concatenate([bands.start_ns, bands.end_ns, np.arange(first_ns, last_ns, bucket_ns)]))
    owner = np.searchsorted(bands.start_ns, edges_ns[:-1], side="right") - 1
    held = edges_ns[:-1] < bands.end_ns[owner]
    cell = (edges_ns[:-1][held] - first_ns) // bucket_ns * len(kinds) + which[owner[held]]
    lasted = np.bincount(cell, weights=np.diff(edges_ns)[held]).astype(np.int64)
    cells = np.flatnonzero(lasted)
    lengths, bucket = lasted[cells], cells // len(kinds)
    before = np.cumsum(lengths) - lengths
    opens = np.concatenate([[True], np.diff(bucket) != 0])
    starts_ns = first_ns + bucket * bucket_ns + before - np.maximum.accumulate(np.where(opens, before, 0))
    names, sources = zip(*(kinds[number] for number in (cells % len(kinds)).tolist()), strict=True)
    return Bands(starts_ns, starts_ns + lengths, names, sources, bucket_ns)


def share_out(lengths: Sequence[int], total: int) -> int:
    """Return how many values each series may keep so that all together keep about `total`; short series stay whole."""
    left, waiting = total, sorted(lengths)
    for position, length in enumerate(waiting):
        share = left // (len(waiting) - position)
        if length > share:
            return max(KEPT_PER_BUCKET, share)
        left -= length
    return max(waiting, default=KEPT_PER_BUCKET)


def _buckets(time_ns: Integers, count: int) -> tuple[int, Integers]:
    """Return the width of at most `count` buckets over all times, and the start of each that is not empty."""
    bucket_ns = -(-int(time_ns[-1] - time_ns[0] + 1) // count)
    bucket = (time_ns - time_ns[0]) // bucket_ns
    return bucket_ns, np.concatenate([[0], np.flatnonzero(np.diff(bucket)) + 1])


def _where_first(values: Integers, extreme: Integers, starts: Integers, ends: Integers) -> Integers:
    """Return the first position of the extreme of each bucket."""
    lengths = ends - starts
    hits = np.flatnonzero(values == np.repeat(extreme, lengths))
    owner = np.repeat(np.arange(len(starts)), lengths)[hits]
    _, first = np.unique(owner, return_index=True)
    found: Integers = hits[first]
    return found
