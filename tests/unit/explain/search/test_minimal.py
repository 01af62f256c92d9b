"""Delta debugging: what it ends with does it, and nothing of it can be left out."""

from collections.abc import Callable
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from longlook.explain.search.losses import AT_ONCE, Fewest, fewest


def searched(
    count: int, does_it: Callable[[frozenset[int]], bool], most: int = 10_000
) -> tuple[Fewest, list[tuple[int, ...]]]:
    """Answer every test; return what is left and what was tried, in order."""
    tries, tried = fewest(count, most), []
    try:
        batch = next(tries)
        while True:
            assert 0 < len(batch) <= AT_ONCE
            tried += batch
            batch = tries.send([does_it(frozenset(one)) for one in batch])
    except StopIteration as done:
        found: Fewest = done.value
        return found, tried


@given(st.integers(1, 40).flatmap(lambda count: st.tuples(st.just(count), st.sets(st.integers(0, count - 1)))))
def test_what_is_needed_is_what_is_left(given_: tuple[int, set[int]]) -> None:
    count, needed = given_
    found, tried = searched(count, lambda chosen: bool(chosen) and needed <= chosen)
    assert set(found.items) == (needed or set(found.items))
    assert len(found.items) == max(1, len(needed))
    assert found.is_minimal
    assert found.tests == len(tried) == len(set(tried))


@given(st.integers(2, 12), st.lists(st.sets(st.integers(0, 11), min_size=1, max_size=4), min_size=1, max_size=4))
def test_the_result_is_one_minimal_whatever_does_it(count: int, ways: list[set[int]]) -> None:
    """Any of several sets does it, as long as all together do."""
    possible = [way for way in ways if max(way) < count] or [set(range(count))]

    def does_it(chosen: frozenset[int]) -> bool:
        return any(way <= chosen for way in possible)

    found, _ = searched(count, does_it)
    assert does_it(frozenset(found.items))
    assert not any(does_it(frozenset(fewer)) for fewer in combinations(found.items, len(found.items) - 1))


def test_the_tests_of_the_paper_s_first_step_are_the_halves() -> None:
    _, tried = searched(8, lambda chosen: {2} <= chosen)
    assert tried[:2] == [(0, 1, 2, 3), (4, 5, 6, 7)]


@pytest.mark.parametrize("most", range(12))
def test_the_bound_holds_and_what_is_left_then_does_it(most: int) -> None:
    def does_it(chosen: frozenset[int]) -> bool:
        return {1, 9, 14} <= chosen

    found, tried = searched(20, does_it, most)
    assert found.tests == len(tried) <= most
    assert not found.is_minimal
    assert does_it(frozenset(found.items))


def test_a_single_thing_needs_no_test() -> None:
    assert searched(1, lambda _chosen: False) == (Fewest((0,), 0, is_minimal=True), [])
