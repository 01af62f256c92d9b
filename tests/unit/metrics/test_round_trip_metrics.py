"""Metrics that read the link's round trips, on packets and events written by hand."""

import pytest

from longlook.core import registry
from longlook.timeline.timeline import Timeline
from tests.data.events import events_of, row
from tests.data.link_rows import FLOW, MS, crossed, dropped, load_with

PATH = [
    *(crossed("down", at, at + 20) for at in (0, 50, 100)),
    *(crossed("up", at, at + 20) for at in (20, 70, 130)),
]
"""Round trips of 40 ms that end at 40, 90 and 150 ms."""


def measure(name: str, timeline: Timeline) -> float | None:
    found: float | None = registry.get("metrics", name).measure(timeline)
    return found


def test_of_three_epochs_two_lost_one_packet_and_of_five_packets_these_two_are_recovered() -> None:
    timeline = load_with(*PATH, *[dropped(at) for at in (200, 300, 310, 320, 400)])
    assert measure("single_loss_epochs", timeline) == pytest.approx(200 / 3)
    assert measure("recoverable_losses", timeline) == pytest.approx(40)


def test_of_four_losses_two_were_alone_in_a_tail_and_one_was_the_last_packet() -> None:
    first = [dropped(200), crossed("down", 210, 230)]
    second = [dropped(299), dropped(300), crossed("down", 310, 330)]
    third = [crossed("down", 400, 420), dropped(410)]
    timeline = load_with(*PATH, *first, *second, *third)
    assert measure("recoverable_at_quiescence", timeline) == pytest.approx(50)
    assert measure("losses_of_last_packets", timeline) == pytest.approx(25)


@pytest.mark.parametrize(
    "name", ["single_loss_epochs", "recoverable_losses", "recoverable_at_quiescence", "losses_of_last_packets"]
)
def test_without_a_loss_there_is_no_share(name: str) -> None:
    assert measure(name, load_with(*PATH)) is None


def believed(*estimates: tuple[float, dict[str, int | None]]) -> Timeline:
    rows = [row(round(at * MS), "metrics") | {"flow": FLOW, **columns} for at, columns in estimates]
    return load_with(*PATH).with_events(events_of(*rows))


def test_the_error_is_of_the_estimate_held_when_a_packet_reaches_the_server() -> None:
    timeline = believed((41, {"srtt_ns": 44 * MS}), (120, {"srtt_ns": None}), (150, {"srtt_ns": 30 * MS}))
    assert measure("server_rtt_error", timeline) == pytest.approx(100 * (0.1 + 0.25) / 2)


def test_samples_below_the_shortest_way_are_impossible_and_repeated_rows_are_no_samples() -> None:
    samples = [40 * MS, 40 * MS, 39.5 * MS, 10 * MS, None, 10 * MS, 55 * MS]
    rows = [(50 + at, {"latest_rtt_ns": None if each is None else round(each)}) for at, each in enumerate(samples)]
    assert measure("impossible_rtt_samples", believed(*rows)) == pytest.approx(100 / 4)


def test_what_is_assumed_before_the_first_round_trip_is_no_sample() -> None:
    assumed = {"latest_rtt_ns": 5 * MS, "min_rtt_ns": 5 * MS, "srtt_ns": 5 * MS}
    sampled = {"latest_rtt_ns": 40 * MS, "min_rtt_ns": 40 * MS, "srtt_ns": 40 * MS}
    timeline = believed((1, assumed), (38.9, assumed), (39.5, sampled), (100, sampled))
    assert measure("impossible_rtt_samples", timeline) == 0
    assert measure("server_min_rtt", timeline) == 40
    assert measure("server_rtt_error", timeline) == pytest.approx(0)


def test_estimates_of_another_connection_are_not_held_against_this_one() -> None:
    other = load_with(*PATH).with_events(events_of(row(41 * MS, "metrics", flow="udp x y", srtt_ns=1, latest_rtt_ns=1)))
    assert measure("server_rtt_error", other) is None
    assert measure("impossible_rtt_samples", other) is None


@pytest.mark.parametrize("name", ["server_rtt_error", "impossible_rtt_samples"])
def test_without_traces_or_estimates_there_is_no_value(name: str) -> None:
    assert measure(name, load_with(*PATH)) is None
    assert measure(name, believed((41, {"srtt_ns": 0, "latest_rtt_ns": 0}))) is None
