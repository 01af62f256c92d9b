"""How long nothing came to the client, on a timeline written by hand."""

import pytest

from tests.unit.metrics.test_largest_packet import measured


def test_the_longest_time_without_data_counts() -> None:
    """The load is from 1 to 3 s; an acknowledgement in the middle of the stall does not end it."""
    arrived = [(at_s, "packet_delivered", "down", 1400) for at_s in (0.9, 1.1, 1.3, 2.2, 2.9)]
    small, lost = (1.7, "packet_delivered", "down", 70), (1.8, "packet_dropped", "down", 1400)
    sent = (1.9, "packet_delivered", "up", 1400)
    assert measured("longest_stall", *arrived, small, lost, sent) == pytest.approx(0.9)


def test_the_end_of_the_load_ends_a_stall() -> None:
    assert measured("longest_stall", (1.1, "packet_delivered", "down", 1400)) == pytest.approx(1.9)


def test_there_is_none_where_nothing_came() -> None:
    assert measured("longest_stall", (1.8, "packet_dropped", "down", 1400)) is None
