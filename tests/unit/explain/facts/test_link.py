"""What the link saw, as arrays: services at the bottleneck, what of a packet was useful, whose packets they are."""

from typing import Any

import numpy as np
import pytest

from longlook.core.model import Stage
from longlook.explain.facts import DELIVERED, DROPPED, NEVER, LinkFacts
from longlook.timeline.normalise.trial import OVER_SECOND
from tests.data.scenes import DELAY_MS, PACKET_BYTES, TCP, Scene, ns

DOWN, UP = "down", "up"


def facts(scene: Scene, direction: str = DOWN) -> LinkFacts:
    return LinkFacts.of(scene.timeline(), scene.trial, direction)


def test_packets_are_served_one_after_the_other_and_leave_after_the_delay() -> None:
    scene = Scene()
    for at_ms in (0.0, 0.0, 5.0):
        scene.down(at_ms)
    found = facts(scene)
    assert found.sequence.tolist() == [0, 1, 2]
    assert found.service_start_ns.tolist() == [ns(0), ns(1), ns(5)]
    assert found.service_end_ns.tolist() == [ns(1), ns(2), ns(6)]
    assert found.departure_ns.tolist() == [ns(1 + DELAY_MS), ns(2 + DELAY_MS), ns(6 + DELAY_MS)]
    assert found.fate.tolist() == [DELIVERED] * 3
    assert (found.rate_bps, found.delay_ns) == (10_000_000, ns(DELAY_MS))


def test_a_dropped_packet_has_a_reason_and_no_service() -> None:
    scene = Scene()
    scene.down(0.0)
    scene.drop(0.5)
    found = facts(scene)
    assert found.fate.tolist() == [DELIVERED, DROPPED]
    assert found.reasons[found.reason[1]] == "loss"
    assert found.reason[0] == -1
    assert (found.service_start_ns[1], found.service_end_ns[1], found.departure_ns[1]) == (NEVER, NEVER, NEVER)
    assert found.useful_bytes[1] == 0


def test_a_direction_without_a_bottleneck_serves_in_no_time() -> None:
    scene = Scene()
    scene.up(3.0)
    found = facts(scene, UP)
    assert found.service_start_ns.tolist() == found.service_end_ns.tolist() == [ns(3.0)]
    assert found.rate_bps is None


def test_behind_jitter_a_service_lasts_as_long_as_the_rate_says() -> None:
    scene = Scene()
    scene.more_stages = (Stage("jitter", {"jitter_ns": ns(5.0)}),)
    scene.down(0.0)
    scene.rows[-1] |= {"due_ns": ns(14.0), "time_ns": ns(14.0)}
    found = facts(scene)
    assert (found.service_start_ns[0], found.service_end_ns[0]) == (0, ns(1.0))


def test_an_access_delay_lies_before_the_queue() -> None:
    scene = Scene(more_stages=(Stage("access", {"max_ns": ns(1.2)}),))
    scene.down(0.0, begin_ms=0.7)
    scene.rows[-1]["value"] = 0.0002
    found = facts(scene)
    assert found.reached_ns[0] == ns(0.5)
    assert found.service_start_ns[0] == ns(0.7)
    scene = Scene()
    scene.down(0.0, begin_ms=0.7)
    assert facts(scene).reached_ns[0] == 0


@pytest.mark.parametrize(
    ("columns", "overhead"),
    [
        ({"quic": "short"}, 28 + 19),
        ({"quic": "short", "connection_id": "0123456789abcdef"}, 28 + 19 + 8),
        ({"quic": "0rtt"}, 28 + 19),
        ({"quic": "initial"}, PACKET_BYTES),
        ({"quic": "handshake"}, PACKET_BYTES),
        ({"quic": None}, 28),
    ],
)
def test_headers_are_overhead_and_packets_of_the_handshake_whole(columns: dict[str, Any], overhead: int) -> None:
    scene = Scene()
    scene.down(0.0, **columns)
    found = facts(scene)
    assert found.overhead_bytes[0] == overhead
    assert found.useful_bytes[0] == PACKET_BYTES - overhead
    assert found.carries_data[0] == (overhead < PACKET_BYTES)


def test_a_small_quic_packet_holds_an_acknowledgement_and_nothing_else() -> None:
    scene = Scene()
    scene.up(0.0, 28 + 55)
    scene.up(1.0, 28 + 56)
    assert facts(scene, UP).carries_data.tolist() == [False, True]


def test_a_packet_that_searches_for_the_mtu_holds_padding() -> None:
    scene = Scene()
    for size in (1228, 1400, 1228, 1500, 1228, 1400, 1400):
        scene.down(0.0, size)
    assert facts(scene).carries_data.tolist() == [True, False, True, False, True, True, True]


def test_a_last_packet_larger_than_all_before_searches_for_the_mtu_where_smaller_ones_arrived() -> None:
    scene, alone = Scene(), Scene()
    for size in (1228, 1228, 1400):
        scene.down(0.0, size)
    alone.down(0.0, 1400)
    assert facts(scene).carries_data.tolist() == [True, True, False]
    assert facts(alone).carries_data.tolist() == [True]


def test_a_first_packet_of_full_size_is_no_search_for_the_mtu() -> None:
    scene = Scene()
    for _ in range(3):
        scene.down(0.0, 1378)
    assert facts(scene).carries_data.all()


def test_of_tcp_only_the_first_delivery_is_useful() -> None:
    scene = Scene(flow=TCP)
    scene.drop(0.0, transport_sequence=2**32 - 1198)
    scene.down(1.0, transport_sequence=0)
    scene.down(2.0, transport_sequence=2**32 - 1198)
    scene.down(3.0, transport_sequence=2**32 - 1198)
    assert facts(scene).useful_bytes.tolist() == [0, 1198, 1198, 0]


def test_packets_of_priming_connections_and_of_competitors_are_not_ours() -> None:
    scene = Scene()
    scene.down(0.0, priming=True)
    scene.down(1.0)
    assert facts(scene).ours.tolist() == [False, True]
    scene = Scene()
    scene.down(0.0)
    scene.down(1.0, flow="tcp 10.8.0.3:40000 10.8.0.4:443")
    common = {"cross": False, "began_ns": 0, "ended_ns": ns(5.0), "ended_by_itself": True, "client_address": ""}
    flows = [{"name": address, "group": address, "server_address": address, **common} for address in
             ("10.8.0.4", "10.8.0.2")]  # fmt: skip
    scene.metadata["competition"] = {"flows": flows, "window_ns": [0, ns(5.0)], "capacity": None, "rtt_ns": None}
    found = facts(scene)
    assert found.ours.tolist() == [False, True]
    rows = scene.timeline().table
    assert np.array_equal(found.is_ours(rows["flow"]), found.ours)


def test_logs_without_numbers_are_numbered_in_order_of_arrival() -> None:
    scene = Scene()
    scene.down(4.0, begin_ms=4.0, sequence=None)
    scene.down(1.0, begin_ms=1.0, sequence=None)
    found = facts(scene)
    assert found.sequence.tolist() == [0, 1]
    assert found.arrival_ns.tolist() == [ns(1.0), ns(4.0)]


def test_facts_are_computed_once_per_timeline() -> None:
    scene = Scene()
    scene.down(0.0)
    timeline = scene.timeline()
    first = LinkFacts.of(timeline, scene.trial, DOWN)
    assert LinkFacts.of(timeline, scene.trial, DOWN) is first
    assert LinkFacts.of(timeline, scene.trial, UP) is not first


def test_packets_of_the_second_link_have_numbers_of_their_own() -> None:
    scene, other = Scene(), "udp 10.8.1.1:40000 10.8.0.2:443"
    scene.down(0.0, sequence=0)
    scene.down(1.0, sequence=0, flow=other, detail=OVER_SECOND)
    scene.down(2.0, sequence=1, flow=other, detail=f"the same bytes as packet 0; {OVER_SECOND}")
    found = facts(scene)
    useful = PACKET_BYTES - 28 - 19
    assert sorted(zip(found.arrival_ns.tolist(), found.useful_bytes.tolist(), strict=True)) == [
        (0, useful), (ns(1.0), useful), (ns(2.0), 0),
    ]  # fmt: skip
    assert sorted(found.same_as.tolist()) == [-1, -1, 0]
