"""Tables of what each flow got, from a competition written by hand."""

import numpy as np
import pytest

from longlook.timeline.competition import RATE_COLUMNS, Competition, LinkFlow, Packets, rate_columns

SECOND_NS = 1_000_000_000


def competition(capacity: dict[str, object] | None) -> Competition:
    """One flow from 0.5 s to 3 s that gets 1250 bytes every 10 ms from 1 s on; the link's first packet is at 1 s."""
    flow = LinkFlow("a", "a", False, "10.8.0.2", SECOND_NS // 2, 3 * SECOND_NS)
    times = np.arange(SECOND_NS, 3 * SECOND_NS, SECOND_NS // 100)
    sizes = np.full(len(times), 1250)
    nothing = np.array([], np.int64)
    packets = Packets(times, np.zeros(len(times), np.int64), sizes, sizes, np.zeros(len(times)))
    lost = Packets(nothing, nothing, nothing, nothing, np.array([]))
    return Competition((flow,), None, packets, lost, capacity, SECOND_NS)


def test_the_links_rate_stands_beside_the_flows() -> None:
    steps = {"steps": [[0, 2e6], [SECOND_NS, 4e6]], "repeat_ns": None}  # from the first packet on
    columns = rate_columns(competition(steps))
    assert tuple(columns) == RATE_COLUMNS
    assert columns["time_s"][:2] == [0.0, 0.1]
    assert len(columns["mbps"]) == len(columns["link_mbps"]) == 25
    assert columns["mbps"][:5] == [0.0] * 5
    assert columns["mbps"][5:] == pytest.approx([1.0] * 20)
    assert columns["link_mbps"][:15] == pytest.approx([2.0] * 15)
    assert columns["link_mbps"][15:] == pytest.approx([4.0] * 10)


def test_a_rate_that_repeats_is_averaged_over_each_bin() -> None:
    steps = {"steps": [[0, 1e6], [SECOND_NS // 20, 3e6]], "repeat_ns": SECOND_NS // 10}
    columns = rate_columns(competition(steps))
    assert columns["link_mbps"][5:] == pytest.approx([2.0] * 20)


def test_a_link_that_is_not_known_has_no_rate() -> None:
    assert set(rate_columns(competition(None))["link_mbps"]) == {None}
