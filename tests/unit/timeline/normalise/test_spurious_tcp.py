"""Segments sent again although they arrived, from records written by hand."""

from typing import Any

import numpy as np
import pytest

from longlook.timeline.normalise.datagrams import Datagrams
from longlook.timeline.normalise.rows import NULL, Rows
from longlook.timeline.normalise.sender import COLUMNS
from longlook.timeline.normalise.spurious import find_spurious_segments
from longlook.timeline.normalise.trace_files import TracePlace
from tests.data.events import row, table_of

MS = 1_000_000
SEGMENT = 1000
PLACE = TracePlace("tcp 10.8.0.1:40000 10.8.0.2:443", False, "by hand")


def link(*segments: tuple[int, int | None, int, int]) -> Datagrams:
    """Segments as arrival in ms, departure in ms (None: lost), sequence and size."""
    arrival, departure, sequence, size = zip(*segments, strict=True)
    left = [NULL if at is None else at * MS for at in departure]
    arrays = (np.array(arrival) * MS, np.array(left), np.array(size))
    return Datagrams(*arrays, (), np.full(len(segments), NULL), np.array(sequence))


def resent(*at_ms: int, declared: bool = True, **columns: Any) -> Rows:
    rows = []
    for ms in at_ms:
        rows.append(row(ms * MS, "packet_retransmitted", **columns))
        if declared:
            rows.append(row(ms * MS, "packet_lost", name="fast_retransmit", value=1.0))
    return Rows.of(table_of(*rows), COLUMNS)


@pytest.mark.parametrize("first", [5_000, 2**32 - 1_500])  # sequence numbers begin again within the second
def test_only_what_arrived_is_spurious(first: int) -> None:
    sequence = [(first + place * SEGMENT) % 2**32 for place in range(3)]
    sent = link(
        *((0, 20, sequence[0], SEGMENT), (1, None, sequence[1], SEGMENT), (2, 90, sequence[2], SEGMENT)),
        *((50, 70, sequence[1], SEGMENT), (60, 80, sequence[2], SEGMENT), (65, 85, sequence[0], SEGMENT)),
    )
    found = find_spurious_segments("server", PLACE, resent(50, 60, 65), sent)
    seen = [(each["time_ns"] // MS, each["packet_number"], each["value"]) for each in found.table.to_pylist()]
    assert seen == [(60, sequence[2], pytest.approx(0.030)), (65, sequence[0], pytest.approx(-0.045))]
    assert found.counts == {"declared": 3, "spurious": 2, "lost_at_link": 1}


def test_a_part_that_was_lost_makes_it_needed() -> None:
    sent = link((0, 20, 0, SEGMENT), (1, None, SEGMENT, SEGMENT), (50, 70, 0, 2 * SEGMENT))
    assert find_spurious_segments("server", PLACE, resent(50), sent).counts["spurious"] == 0
    whole = link((0, 20, 0, SEGMENT), (1, 21, SEGMENT, SEGMENT), (50, 70, 0, 2 * SEGMENT))
    assert find_spurious_segments("server", PLACE, resent(50), whole).table["size_bytes"].to_pylist() == [2 * SEGMENT]


def test_probes_and_counters_declare_nothing() -> None:
    sent = link((0, 20, 0, SEGMENT), (50, 70, 0, SEGMENT))
    assert find_spurious_segments("server", PLACE, resent(50, declared=False), sent).counts["declared"] == 0
    assert find_spurious_segments("server", PLACE, resent(50, value=1.0), sent).counts["declared"] == 0


def test_an_end_that_sent_no_data_has_none() -> None:
    assert find_spurious_segments("client", PLACE, resent(50), link((0, 20, 0, 0))).table.num_rows == 0
