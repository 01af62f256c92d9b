"""The round trips that the link gave, from packets written by hand."""

from longlook.timeline.round_trips import round_trips_of
from tests.data.link_rows import FLOW, MS, crossed, load_with


def test_a_round_trip_is_the_time_in_the_link_of_a_packet_and_of_the_one_that_went_back_after_it() -> None:
    found = round_trips_of(
        load_with(
            crossed("up", 0, 10),  # a request, to which nothing had gone before
            crossed("down", 10, 30),
            crossed("down", 11, 41),
            crossed("up", 35, 45),  # the first of these had arrived, the second had not
            crossed("up", 41, 56),
        )
    )[FLOW]
    assert found.time_ns.tolist() == [45 * MS, 56 * MS]
    assert found.round_trip_ns.tolist() == [30 * MS, 45 * MS]
    assert found.shortest_ns == 30 * MS
    assert [found.at(moment * MS) for moment in (0, 45, 55, 56, 99)] == [each * MS for each in (30, 30, 30, 45, 45)]


def test_packets_that_overtake_count_in_the_order_in_which_they_arrived() -> None:
    found = round_trips_of(load_with(crossed("down", 0, 40), crossed("down", 1, 21), crossed("up", 50, 60)))[FLOW]
    assert found.round_trip_ns.tolist() == [50 * MS]
    assert found.shortest_ns == 30 * MS


def test_flows_are_apart_and_priming_ones_are_left_out() -> None:
    packets = [crossed("down", 0, 20), crossed("up", 20, 40), crossed("down", 0, 1, "udp c d")]
    primes = [crossed("down", 0, 20, "udp e f", priming=True), crossed("up", 20, 40, "udp e f", priming=True)]
    assert list(round_trips_of(load_with(*packets, *primes))) == [FLOW]


def test_what_only_went_to_the_server_has_no_round_trip() -> None:
    assert round_trips_of(load_with(crossed("up", 0, 20), crossed("down", 20, 40))) == {}
