"""Series stay the same picture when they are thinned."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from longlook.explain.inside.series import Bands, Marks, Series, changes, share_out, thin_bands, thin_marks, thin_series

few = settings(max_examples=40)
VALUES = st.lists(st.tuples(st.integers(0, 10**6), st.integers(-(10**9), 10**9)), min_size=1, max_size=300)


def series(points: list[tuple[int, int]]) -> Series:
    times, values = zip(*points, strict=True)
    return Series.of(np.array(times, np.int64), np.array(values, np.int64))


def test_values_come_in_order_of_time_and_ties_keep_theirs() -> None:
    found = series([(5, 1), (2, 7), (5, 2)])
    assert found.time_ns.tolist() == [2, 5, 5]
    assert found.value.tolist() == [7, 1, 2]


def test_what_repeats_the_value_before_is_no_change() -> None:
    found = changes(series([(0, 4), (1, 4), (2, 5), (3, 5), (4, 4)]))
    assert found.time_ns.tolist() == [0, 2, 4]
    assert found.count == 3


@few
@given(VALUES, st.integers(4, 200))
def test_thinning_keeps_every_extreme_of_every_bucket(points: list[tuple[int, int]], most: int) -> None:
    whole = series(points)
    thin = thin_series(whole, most)
    assert len(thin.time_ns) <= max(most, 4)
    assert thin.count == len(points)
    if thin.bucket_ns == 0:
        assert len(thin.time_ns) == len(points)
        return
    first = whole.time_ns[0]
    for bucket in np.unique((whole.time_ns - first) // thin.bucket_ns):
        own = whole.value[(whole.time_ns - first) // thin.bucket_ns == bucket]
        kept = thin.value[(thin.time_ns - first) // thin.bucket_ns == bucket]
        assert (kept[0], kept[-1], kept.min(), kept.max()) == (own[0], own[-1], own.min(), own.max())


@few
@given(VALUES, st.integers(4, 50))
def test_thinning_keeps_pairs_of_time_and_value(points: list[tuple[int, int]], most: int) -> None:
    thin = thin_series(series(points), most)
    assert set(zip(thin.time_ns.tolist(), thin.value.tolist(), strict=True)) <= set(points)


STRETCHES = st.lists(
    st.tuples(st.integers(0, 50), st.integers(1, 1000), st.sampled_from(["window", "link", "timer"])),
    min_size=1,
    max_size=300,
)


def bands_of(stretches: list[tuple[int, int, str]]) -> Bands:
    """Stretches from their gap to the one before, their length and their name."""
    edges = np.cumsum([number for gap, length, _ in stretches for number in (gap, length)])
    names = tuple(name for _, _, name in stretches)
    return Bands(edges[0::2], edges[1::2], names, ("log",) * len(names))


def time_by_bucket(bands: Bands, first_ns: int, bucket_ns: int) -> dict[tuple[int, str], int]:
    """The time of each name in each bucket."""
    found: dict[tuple[int, str], int] = {}
    for start, end, name in zip(bands.start_ns.tolist(), bands.end_ns.tolist(), bands.name, strict=True):
        for bucket in range((start - first_ns) // bucket_ns, (end - 1 - first_ns) // bucket_ns + 1):
            edge = first_ns + bucket * bucket_ns
            found[bucket, name] = found.get((bucket, name), 0) + min(end, edge + bucket_ns) - max(start, edge)
    return found


@few
@given(STRETCHES, st.integers(3, 60))
def test_thin_bands_keep_the_time_of_each_kind_in_each_bucket(stretches: list[tuple[int, int, str]], most: int) -> None:
    whole = bands_of(stretches)
    thin = thin_bands(whole, most)
    assert len(thin.name) <= max(most, 3)
    assert (np.diff(thin.start_ns) > 0).all()
    assert (thin.start_ns[1:] >= thin.end_ns[:-1]).all()
    if thin.bucket_ns == 0:
        assert thin == whole
        return
    first_ns = int(whole.start_ns[0])
    assert time_by_bucket(thin, first_ns, thin.bucket_ns) == time_by_bucket(whole, first_ns, thin.bucket_ns)


def test_marks_of_a_bucket_become_one_with_their_weight() -> None:
    marks = Marks.of(np.array([0, 1, 2, 1000, 1001]), np.array([1, 1, 3, 1, 1]))
    thin = thin_marks(marks, 2)
    assert (thin.time_ns.tolist(), thin.weight.tolist()) == ([0, 1000], [5, 2])
    assert thin.count == 7


@pytest.mark.parametrize(
    ("lengths", "total", "each"),
    [([10, 10], 100, 10), ([10, 1000], 100, 90), ([1000, 1000], 100, 50), ([], 100, 4), ([5, 5, 1000], 20, 10)],
)
def test_short_series_stay_whole_and_long_ones_share_the_rest(lengths: list[int], total: int, each: int) -> None:
    assert share_out(lengths, total) == each
