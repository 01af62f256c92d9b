"""Shards: a deal of whole cells that is the same everywhere."""

from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from longlook.core import InputError, Plan, Study
from longlook.study import Shard, deal, make_plan, parse_shard, part_of
from tests.data.trials import trial


def a_plan(sizes: list[int]) -> Plan:
    trials = [
        replace(trial(), id=f"{cell}-{number}", cell_id=f"cell {cell}", round=number)
        for number in range(max(sizes))
        for cell, size in enumerate(sizes)
        if number < size
    ]
    return Plan("study", "hash", tuple(trials))


@given(st.lists(st.integers(1, 9), min_size=1, max_size=12), st.data())
def test_a_deal_is_a_partition_into_whole_cells_of_nearly_equal_size(sizes: list[int], data: st.DataObject) -> None:
    plan, of = a_plan(sizes), data.draw(st.integers(1, len(sizes)))
    parts = [part_of(plan, Shard(number, of)) for number in range(1, of + 1)]
    found = Counter(trial.id for part in parts for trial in part.trials)
    assert found == Counter(trial.id for trial in plan.trials)
    cells = [{trial.cell_id for trial in part.trials} for part in parts]
    assert sum(map(len, cells)) == len(sizes)
    assert all(part.trials for part in parts)
    loads = [len(part.trials) for part in parts]
    assert max(loads) - min(loads) <= max(sizes)
    places = {trial.id: place for place, trial in enumerate(plan.trials)}
    assert all(
        [places[each.id] for each in part.trials] == sorted(places[each.id] for each in part.trials) for part in parts
    )


def test_the_deal_of_a_study_is_the_same_on_every_machine(tiny_study: Study) -> None:
    assert deal(make_plan(tiny_study), 2) == (frozenset({"5KB"}), frozenset({"100KB"}))


@pytest.mark.parametrize(
    "text", ["0/8", "9/8", "0/0", "3", "3/", "/8", "-1/8", "1/8/2", "one/two", "", "1.0/2", "1/9999999"]
)
def test_what_is_no_shard_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="--shard"):
        parse_shard(text)


def test_a_shard_is_written_as_it_is_read() -> None:
    assert str(parse_shard("3/8")) == "3/8"


def test_more_shards_than_cells_are_refused_with_their_number(tiny_study: Study) -> None:
    with pytest.raises(InputError, match="has 2 cells") as caught:
        deal(make_plan(tiny_study), 3)
    assert caught.value.hint == "allowed: at most 2 shards"
    with pytest.raises(InputError, match="has one cell"):
        deal(make_plan(tiny_study, ["size=5KB"]), 2)
