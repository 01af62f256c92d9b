"""Loss epochs on packets written by hand, with a round trip of 40 ms."""

import pytest

from longlook.timeline.loss_epochs import Tail, epochs_by_size, loss_epochs_of, tails
from longlook.timeline.timeline import Timeline
from tests.data.link_rows import crossed, dropped, load_with

OTHER = "udp c d"
PATH = [crossed("down", 0, 20), crossed("up", 20, 40)]
OTHER_PATH = [crossed("down", 0, 20, OTHER), crossed("up", 20, 40, OTHER)]


def test_an_epoch_begins_with_a_loss_and_lasts_for_one_round_trip() -> None:
    lost = [dropped(100), dropped(139.9), dropped(140), dropped(300)]
    assert loss_epochs_of(load_with(*PATH, *lost)) == [2, 1, 1]
    assert epochs_by_size(load_with(*PATH, *lost)) == {"lost": [1, 2], "epochs": [2, 1]}


def test_the_round_trip_is_the_one_at_the_time() -> None:
    longer = [crossed("down", 150, 230), crossed("up", 230, 250)]
    assert loss_epochs_of(load_with(*PATH, *longer, dropped(100), dropped(160), dropped(260), dropped(350))) == [
        1,
        1,
        2,
    ]


def test_packets_lost_at_one_moment_are_one_epoch() -> None:
    assert loss_epochs_of(load_with(*PATH, *[dropped(100) for _ in range(7)])) == [7]


def test_each_flow_has_its_own() -> None:
    timeline = load_with(*PATH, *OTHER_PATH, dropped(100), dropped(101, OTHER), dropped(102))
    assert loss_epochs_of(timeline) == [2, 1]


def test_requests_and_acknowledgements_and_what_lies_outside_the_load_do_not_count() -> None:
    assert loss_epochs_of(load_with(*PATH, dropped(100, direction="up"), dropped(501), end_ms=500)) == []


@pytest.mark.parametrize("timeline", [load_with(dropped(100)), Timeline(load_with(*PATH).table.slice(1, 2))])
def test_without_a_round_trip_or_a_load_there_are_none(timeline: Timeline) -> None:
    assert loss_epochs_of(timeline) is None
    assert epochs_by_size(timeline) is None


def test_flows_of_which_nothing_came_back_are_left_out() -> None:
    assert loss_epochs_of(load_with(*PATH, dropped(100), dropped(100, "udp cross"))) == [1]


def test_a_tail_is_the_last_round_trip_before_a_silence() -> None:
    first = [crossed("down", 190, 210), dropped(200), crossed("down", 231, 251), crossed("down", 240, 260)]
    second = [dropped(300), crossed("down", 330, 350), dropped(370)]
    assert tails(load_with(*PATH, *first, *second)) == [Tail(0, False), Tail(0, False), Tail(1, True)]
    assert tails(load_with(*PATH, *first, dropped(241))) == [Tail(0, False), Tail(1, True)]


def test_a_silence_is_longer_than_a_round_trip_and_tails_are_a_flows_own() -> None:
    steady = [crossed("down", at, at + 20) for at in (100, 140, 180)]
    timeline = load_with(*PATH, *OTHER_PATH, *steady, dropped(150, OTHER), dropped(220))
    assert tails(timeline) == [Tail(0, False), Tail(1, True), Tail(0, False), Tail(1, True)]


@pytest.mark.parametrize("timeline", [load_with(dropped(100)), Timeline(load_with(*PATH).table.slice(1, 2))])
def test_without_a_round_trip_or_a_load_there_are_no_tails(timeline: Timeline) -> None:
    assert tails(timeline) is None
