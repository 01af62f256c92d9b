"""Waits of data behind gaps, on arrivals written by hand."""

import random

from longlook.timeline.reassembly import overlap_ns, tcp_waits, waits


def test_data_in_order_never_waits() -> None:
    assert waits([(1, 0, 10), (2, 10, 10), (3, 20, 5)]) == []
    assert waits([]) == []


def test_data_waits_from_its_arrival_until_the_gap_before_it_is_filled() -> None:
    assert waits([(1, 0, 10), (2, 20, 10), (3, 30, 10), (7, 10, 10), (8, 40, 10)]) == [(2, 7)]


def test_a_second_gap_behind_the_first_goes_on_with_the_wait() -> None:
    assert waits([(1, 10, 10), (2, 30, 10), (5, 0, 10), (9, 20, 10)]) == [(1, 9)]


def test_what_arrives_twice_or_in_other_parts_fills_a_gap_once() -> None:
    assert waits([(1, 0, 10), (2, 20, 10), (3, 20, 10), (4, 0, 10), (6, 5, 25), (7, 25, 5)]) == [(2, 6)]


def test_a_gap_that_is_never_filled_ends_with_the_last_arrival() -> None:
    assert waits([(1, 0, 10), (2, 20, 10), (5, 30, 10)]) == [(2, 5)]


def test_sequence_numbers_of_tcp_wrap() -> None:
    numbers = [(start + 2**32 - 15) % 2**32 for start in (0, 20, 10, 30)]
    assert tcp_waits([1, 2, 6, 7], numbers, [10, 10, 10, 10]) == [(2, 6)]
    assert tcp_waits([1, 4], [110, 100], [10, 10]) == [(1, 4)]  # the first packet was lost
    assert tcp_waits([], [], []) == []


def test_the_wait_is_that_of_a_receiver_that_marks_every_byte() -> None:
    drawn = random.Random(1)
    for _ in range(200):
        parts = [(start, 3) for start in range(0, 60, 3)]
        drawn.shuffle(parts)
        arrivals = [(time, *part) for time, part in enumerate(parts, 1)]
        there: set[int] = set()
        blocked = []
        for time, offset, length in arrivals:
            there |= set(range(offset, offset + length))
            delivered = next(byte for byte in range(61) if byte not in there)
            blocked.append((time, len(there) > delivered))
        expected = sum(1 for time, waiting in blocked if waiting)  # until the next arrival, one later
        assert sum(end - begin for begin, end in waits(arrivals)) == expected


def test_only_what_lies_within_a_time_counts() -> None:
    assert overlap_ns([(0, 10), (20, 30), (40, 50)], 5, 45) == 5 + 10 + 5
    assert overlap_ns([(0, 10)], 10, 20) == 0
