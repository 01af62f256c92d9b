"""Two records of the same packets, put side by side."""

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st

from longlook.timeline.normalise import alignment
from longlook.timeline.normalise.alignment import AlignedSequence, Lags, align
from longlook.timeline.normalise.rows import NULL

LAGS = Lags(0, 50_000_000)


def side(times: list[int], sizes: list[int]) -> AlignedSequence:
    return AlignedSequence(np.array(times, np.int64), np.array(sizes, np.int64))


def test_the_same_packets_are_paired_one_by_one() -> None:
    first = side([0, 10, 20], [100, 200, 100])
    second = side([1, 11, 21], [100, 200, 100])
    assert align(first, second, LAGS).tolist() == [0, 1, 2]


def test_a_packet_missing_among_packets_of_one_size_is_found_by_the_lags() -> None:
    times = list(range(0, 20_000_000, 1_000_000))
    sizes = [1200] * 15 + [70] + [1200] * 4
    first = side(times, sizes)
    second = side([t + 5_000 for i, t in enumerate(times) if i != 4], [s for i, s in enumerate(sizes) if i != 4])
    assert align(first, second, LAGS).tolist() == [0, 1, 2, 3, NULL, *range(4, 19)]


def test_a_packet_missing_at_the_very_end_is_found_by_the_lags() -> None:
    times = list(range(0, 20_000_000, 1_000_000))
    first = side(times, [1200] * 20)
    second = side([t + 5_000 for i, t in enumerate(times) if i != 7], [1200] * 19)
    assert align(first, second, LAGS).tolist() == [*range(7), NULL, *range(7, 19)]


def test_packets_that_only_the_second_has_are_left_out() -> None:
    times = list(range(0, 20_000_000, 1_000_000))
    first = side([t for i, t in enumerate(times) if i not in (3, 4)], [1200] * 18)
    second = side([t + 2_000 for t in times], [1200] * 20)
    assert align(first, second, LAGS).tolist() == [0, 1, 2, *range(5, 20)]


def test_nothing_is_paired_with_nothing() -> None:
    assert align(side([], []), side([1], [1]), LAGS).tolist() == []
    assert align(side([1], [1]), side([], []), LAGS).tolist() == [NULL]


@settings(max_examples=60)
@given(st.integers(100, 300), st.integers(0, 2**32), st.floats(0, 0.5), st.integers(0, 3), st.booleans())
@example(102, 102, 0.0625, 3, True)  # two packets are missing in one run, the second of them where it breaks
def test_random_gaps_on_either_side_are_found(count: int, seed: int, share: float, gaps: int, is_lost: bool) -> None:
    random = np.random.default_rng(seed)
    times = np.cumsum(random.integers(100_000, 2_000_000, count))
    sizes = np.where(random.random(count) < share, random.integers(30, 1200, count), 1252)
    lags_ns = random.integers(500, 40_000, count)
    missing = np.zeros(count, np.bool_)
    missing[random.choice(count, gaps, replace=False)] = True
    lost, unlogged = (missing, np.zeros_like(missing)) if is_lost else (np.zeros_like(missing), missing)
    first = AlignedSequence(times[~unlogged], sizes[~unlogged])
    second = AlignedSequence((times + lags_ns)[~lost], sizes[~lost])
    pairs = align(first, second, LAGS)
    position = np.where(lost, NULL, np.cumsum(~lost) - 1)
    expected = position[~unlogged]
    paired = pairs[pairs != NULL]
    assert (np.diff(paired) > 0).all()
    assert np.count_nonzero(pairs == expected) >= 0.9 * len(expected)


def test_a_million_packets_take_no_time() -> None:
    import time

    times = np.arange(1_000_000) * 100_000
    lost = np.random.default_rng(1).random(len(times)) < 0.00002
    began = time.process_time()
    pairs = align(
        AlignedSequence(times, np.full(len(times), 1252)),
        AlignedSequence(times[~lost] + 700, np.full((~lost).sum(), 1252)),
        LAGS,
    )
    assert time.process_time() - began < 10
    assert np.count_nonzero(pairs != NULL) == (~lost).sum()


def one_by_one(first: AlignedSequence, second: AlignedSequence, lags: Lags) -> tuple[int, int] | None:
    """The rule of how many packets are left out on each side, tried one by one."""
    for total in range(1, 2 * alignment._FURTHEST):
        found = {}
        for skip in range(max(0, total - alignment._FURTHEST), min(total, alignment._FURTHEST) + 1):
            pairs = list(zip(range(skip, len(first)), range(total - skip, len(second)), strict=False))
            if pairs:
                lag_ns = [int(second.time_ns[b] - first.time_ns[a]) for a, b in pairs[: alignment._AGREEING]]
                same = [first.size_bytes[a] == second.size_bytes[b] for a, b in pairs[: alignment._AGREEING]]
                if all(same) and all(lags.least_ns <= lag <= lags.most_ns for lag in lag_ns):
                    found[sum(map(abs, lag_ns))] = skip, total - skip
        if found:
            return found[min(found)]
    return None


@settings(max_examples=100)
@given(st.integers(1, 70), st.integers(1, 70), st.integers(1, 4), st.integers(0, 2**32))
def test_the_next_run_begins_where_trying_one_by_one_finds_it(one: int, two: int, kinds: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    first, second = (
        AlignedSequence(np.sort(random.integers(0, 40_000_000, count)), random.integers(100, 100 + kinds, count))
        for count in (one, two)
    )
    expected = one_by_one(first, second, LAGS)
    found = alignment._resume(first, second, 0, 0, LAGS)
    if expected is not None:
        assert found == expected
    else:
        assert found[0] == 1
