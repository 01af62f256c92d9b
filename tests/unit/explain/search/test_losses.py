"""Which packets were lost, in words, and which rounds hang on them."""

import math

import pytest
from syrupy.assertion import SnapshotAssertion

from longlook.core.model import Analysis
from longlook.explain.answer import FewestLosses, FoundBy
from longlook.explain.cause import Purpose
from longlook.explain.judge import Gap
from longlook.explain.pair import Side
from longlook.explain.search.losses import Lost, closing, forgiving, hanging, lost_packets, shown, suspect
from tests.data.gaps import LOAD_TIME
from tests.data.sides import dropped_for, fetching, pair, side


def lossy() -> tuple[Side, list[Lost]]:
    scene = fetching()
    dropped_for(scene, 41.0, "queue")
    dropped_for(scene, 30.5, "loss")
    scene.drop(35.0, 60, "up")
    made = side(scene)
    return made, lost_packets(made)


def test_lost_packets_stand_in_order_of_time_with_what_they_carried(snapshot: SnapshotAssertion) -> None:
    _, found = lossy()
    texts = [packet.text for packet in found]
    assert [packet.direction for packet in found] == ["down", "up", "down"]
    assert texts[0] == f"packet {found[0].number} to the client, with 1222 bytes of data, dropped at random at 30.5 ms"
    assert texts[1] == snapshot
    assert texts[2].endswith("dropped by the queue at 41.0 ms")


def test_packets_are_forgiven_by_round_and_direction() -> None:
    _, found = lossy()
    change = forgiving("some", {3: found, 4: []})
    down = sorted(packet.number for packet in found if packet.direction == "down")
    assert set(change.surgery) == {3}
    assert change.surgery[3].down == f"forgive {down[0]}, {down[1]}"
    assert change.surgery[3].up.startswith("forgive ")


def test_what_closes_is_read_round_by_round() -> None:
    values = {"slow": {0: 2.0, 1: 4.0}, "fast": {0: 1.0, 1: 1.0}, "slow~spared": {0: 1.0, 1: 4.0}}
    found = closing(Gap("slow", "fast", LOAD_TIME, values), {"slow": "slow~spared"}, Analysis())
    assert found == {0: pytest.approx((math.log(2), math.log(2))), 1: pytest.approx((math.log(4), 0.0))}


def test_a_round_hangs_on_losses_where_they_close_a_fifth_of_a_gap_that_matters() -> None:
    assert hanging({0: (1.0, 0.5), 1: (1.0, 0.1), 2: (0.1, 0.1), 3: (1.0, 1.0)}) == {0: 0.4, 3: 0.8}
    assert hanging({0: (1.0, 0.1), 1: (1.0, 0.2)}) == {}
    assert hanging({0: (-1.0, 1.0)}) == {}
    assert hanging({}) == {}


def test_many_packets_are_counted() -> None:
    _, found = lossy()
    assert len(shown(found)) == 3
    assert shown(found * 5)[-1] == "and 5 more"


def test_the_suspect_is_tested_by_forgiving_these_losses(snapshot: SnapshotAssertion) -> None:
    loser, found = lossy()
    fewest = FewestLosses(0, 3, 1, shown(found[:1]), 90.0, 5, is_minimal=True)
    made = suspect({0: fewest}, {0: found[:1]}, {0: pair(loser), 1: pair(side())})
    assert (made.found_by, made.finding.cause, made.finding.role) == (FoundBy.LOSSES, "losses", "path")
    assert made.cause.said_of(made.finding) == snapshot
    (cure,) = made.interventions
    assert cure.kind is Purpose.CURE
    assert set(cure.change.surgery) == {0}
