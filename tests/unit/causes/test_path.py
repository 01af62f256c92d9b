"""Causes in the path, and in how senders meet its queue."""

from dataclasses import replace
from typing import Any

import pytest

from longlook.causes.pacing import BURSTINESS, SELF_QUEUEING
from longlook.causes.path import COMPETITION, MIDDLEBOX, MTU_BLACK_HOLE, PATH_CHANGE, PHASE_ARTEFACT
from longlook.causes.receivers import HEAD_OF_LINE
from longlook.causes.retransmissions import DATAGRAMS_SENT_TWICE, DUPLICATE_SENDING
from longlook.core.model import Stage
from longlook.explain.cause import Cause, Intervention, Purpose, Sign, Target, Untestable
from longlook.explain.ledger import LedgerClass
from tests.data.scenes import TCP, Scene, ns
from tests.data.sides import USEFUL, dropped_for, fetching, found_by, pair, side

BUSY = (USEFUL, 100.0)
WAITS = (LedgerClass.TIMER, 300.0)


@pytest.mark.parametrize(
    ("cause", "reason", "setting"),
    [
        (MTU_BLACK_HOLE, "mtu", "mtu"),
        (MTU_BLACK_HOLE, "size_filter", "drop_larger"),
        (MIDDLEBOX, "block", "block"),
        (MIDDLEBOX, "police", "udp_rate"),
        (MIDDLEBOX, "cutoff", "udp_cutoff"),
    ],
)
def test_drops_by_a_rule_of_the_path_are_cured_without_the_rule(cause: Cause, reason: str, setting: str) -> None:
    scene = fetching()
    dropped_for(scene, 35.0, reason)
    tested = pair(side(scene, BUSY, WAITS))
    cure = cause.interventions(found_by(cause, tested), tested)[0]
    assert isinstance(cure, Intervention)
    assert cure.target is Target.BOTH
    assert cure.change.settings[f"network.down.{setting}"] == "off"
    scene.rows[-1]["name"] = "loss"
    assert cause.detect(pair(side(scene, BUSY, WAITS))) is None


def test_a_changed_port_counts_once_for_all_packets_that_have_it() -> None:
    scene = fetching()
    scene.up(40.0)
    for at_ms in (50.0, 51.0, 52.0):
        scene.up(at_ms, detail="client's port changed")
    tested = pair(side(scene, BUSY, WAITS))
    assert found_by(PATH_CHANGE, tested).dose == 1
    assert PATH_CHANGE.detect(pair(side(None, BUSY, WAITS))) is None


@pytest.mark.parametrize(
    ("cause", "name"),
    [(COMPETITION, LedgerClass.LINK_OTHERS), (DUPLICATE_SENDING, LedgerClass.LINK_WASTE)],
)
def test_the_bottlenecks_time_for_others_and_for_nothing_is_the_excess(cause: Cause, name: LedgerClass) -> None:
    tested = pair(side(None, BUSY, (name, 60.0)), side(None, BUSY, (name, 20.0)))
    assert found_by(cause, tested).strength_ns == ns(40.0)
    shared = side(None, BUSY, (name, 60.0))
    assert cause.detect(pair(shared, shared)) is None


def sent_twice(packets: int, *, first_dropped: bool = False) -> Scene:
    """A server that sends each datagram twice, as its link tells them by their bytes."""
    scene = Scene()
    scene.up(0.0)
    for number in range(packets):
        if first_dropped and number == 0:
            scene.drop(20.0)
            arrived = scene.down(20.0, detail="the same bytes as packet 0")
            continue
        scene.down(20.0 + 2 * number)
        arrived = scene.down(20.0 + 2 * number, detail=f"the same bytes as packet {2 * number}")
    scene.fetched(0.0, arrived, arrived)
    return scene


def test_datagrams_sent_twice_are_waste_of_the_server_and_no_copies_of_the_link() -> None:
    tested = pair(side(sent_twice(5), BUSY, (LedgerClass.LINK_WASTE, 60.0)))
    found = found_by(DATAGRAMS_SENT_TWICE, tested)
    assert (found.dose, found.strength_ns) == (5, ns(60.0))
    cure, transplant = DATAGRAMS_SENT_TWICE.interventions(found, tested)
    assert isinstance(cure, Untestable) and "a build of it" in cure.reason
    assert isinstance(transplant, Intervention)
    assert (transplant.kind, transplant.target) == (Purpose.TRANSPLANT, Target.WINNER)
    assert transplant.change.settings == {"network.down.duplicate": "100%"}
    assert tested.loser.down.useful_bytes.tolist() == [1203, 0] * 5
    copied = fetching()
    copied.down(40.0, detail="copy 1; the same bytes as packet 3")
    assert DATAGRAMS_SENT_TWICE.detect(pair(side(copied, BUSY, (LedgerClass.LINK_WASTE, 60.0)))) is None


def few_twice(packets: int, again: int, **columns: Any) -> Sign | None:
    """What is seen of a server that sends so many of its datagrams a second time."""
    scene = Scene(1_000_000_000)
    scene.up(0.0)
    for number in range(packets):
        scene.down(20.0 + 0.01 * number)
    for number in range(again):
        scene.down(60.0 + number, detail=f"the same bytes as packet {number}", **columns)
    scene.fetched(0.0, 31.0, 90.0)
    return DATAGRAMS_SENT_TWICE.detect(pair(side(scene, BUSY, (LedgerClass.LINK_WASTE, 60.0))))


def test_a_few_datagrams_sent_twice_explain_no_load() -> None:
    assert [few_twice(3000, again) is not None for again in (1, 4, 5)] == [False, False, True]
    assert few_twice(6000, 5) is None


def test_a_share_of_datagrams_sent_twice_is_copied_as_such() -> None:
    scene = sent_twice(5)
    for number in range(1000):
        arrived = scene.down(40.0 + number)
    scene.fetched(0.0, arrived, arrived)
    tested = pair(side(scene, (USEFUL, 2000.0), (LedgerClass.LINK_WASTE, 60.0)))
    _, transplant = DATAGRAMS_SENT_TWICE.interventions(found_by(DATAGRAMS_SENT_TWICE, tested), tested)
    assert isinstance(transplant, Intervention)
    assert transplant.change.settings == {"network.down.duplicate": "0.498%"}


@pytest.mark.parametrize("columns", [{"quic": "retry"}, {"quic": "initial"}, {"size": 28 + 50}])
def test_a_retry_and_the_end_of_a_connection_may_be_sent_again_as_they_are(columns: dict[str, Any]) -> None:
    assert few_twice(10, 8, **columns) is None
    assert few_twice(10, 8) is not None


def test_a_second_datagram_of_the_same_bytes_is_useful_if_the_first_was_dropped() -> None:
    scene = sent_twice(3, first_dropped=True)
    assert side(scene).down.useful_bytes.tolist() == [0, 1203, 1203, 0, 1203, 0]


def test_what_datagrams_sent_twice_waste_is_no_data_sent_again() -> None:
    served_ms = 5 * 1203 * 8 / 1e4
    tested = pair(side(sent_twice(5), BUSY, (LedgerClass.LINK_WASTE, served_ms + 30.0)))
    assert found_by(DUPLICATE_SENDING, tested).strength_ns == pytest.approx(ns(30.0), abs=1000)
    alone = pair(side(sent_twice(5), BUSY, (LedgerClass.LINK_WASTE, served_ms - 0.01)))
    assert DUPLICATE_SENDING.detect(alone) is None


def trains(length: int) -> Scene:
    """A queue that drops the last packet of each train of packets that arrive at once."""
    scene = Scene()
    scene.up(0.0)
    for begin in (20.0, 60.0):
        arrived = [scene.down(begin + 0.01 * number) for number in range(length - 1)]
        dropped_for(scene, begin + 0.01 * length, "queue")
    scene.fetched(0.0, begin + 15.0, arrived[-1])
    return scene


def test_drops_at_the_end_of_long_trains_are_bursts() -> None:
    tested = pair(side(trains(12), BUSY, WAITS))
    found = found_by(BURSTINESS, tested)
    assert found.dose == 12
    settings = [
        item.change.settings for item in BURSTINESS.interventions(found, tested) if isinstance(item, Intervention)
    ]
    assert {"network.down.queue": f"{10**9 + 12 * 1500}B"} in settings
    assert BURSTINESS.detect(pair(side(trains(4), BUSY, WAITS))) is None
    assert BURSTINESS.detect(pair(side(trains(12), BUSY, WAITS), side(trains(12)))) is None


def test_a_phase_is_suspected_only_where_nothing_moves_it() -> None:
    scene = trains(12)
    tested = pair(side(scene, BUSY, WAITS))
    found = found_by(PHASE_ARTEFACT, tested)
    made = [item for item in PHASE_ARTEFACT.interventions(found, tested) if isinstance(item, Intervention)]
    assert made[0].change.settings == {"network.access_delay": "packet"}
    link = tested.loser.trial.link
    assert PHASE_ARTEFACT.detect(pair(side(scene, BUSY, WAITS), side(trains(4)))) is None
    drawn = replace(tested.loser.trial, drawn={"network.rtt_ms": "37"})
    assert PHASE_ARTEFACT.detect(pair(side(scene, BUSY, WAITS, trial=drawn))) is None
    moved = replace(tested.loser.trial, link=replace(link, down=(Stage("access", {"max_ns": 1}), *link.down)))
    assert PHASE_ARTEFACT.detect(pair(side(scene, BUSY, WAITS, trial=moved))) is None


def two_objects(gap_ms: float) -> Scene:
    """Two objects of TCP at once; the second packet is lost and comes again after a while."""
    scene = Scene(flow=TCP)
    scene.up(0.0)
    scene.down(20.0, transport_sequence=1000)
    scene.drop(21.0, transport_sequence=2198)
    last = [scene.down(22.0 + number, transport_sequence=3396 + 1198 * number) for number in range(3)][-1]
    closed = scene.down(22.0 + gap_ms, transport_sequence=2198)
    scene.fetched(0.0, 40.0, max(closed, last), path="/one")
    scene.fetched(0.0, 41.0, max(closed, last), path="/two")
    return scene


def test_data_behind_a_gap_of_tcp_waits_until_it_is_closed() -> None:
    tested = pair(side(two_objects(100.0), BUSY, WAITS))
    found = found_by(HEAD_OF_LINE, tested)
    assert found.dose == pytest.approx(100.0)  # from the first packet behind the gap to the one that closes it
    assert found.signs[0].packets == (1,)


def test_a_single_object_has_no_other_to_wait_for() -> None:
    scene = two_objects(100.0)
    scene.rows = [each for each in scene.rows if each.get("name") != "/two"]
    assert HEAD_OF_LINE.detect(pair(side(scene, BUSY, WAITS))) is None


def queued(wait_ms: float) -> Scene:
    scene = Scene()
    scene.up(0.0)
    arrived = scene.down(20.0, begin_ms=20.0 + wait_ms)
    scene.fetched(0.0, arrived, arrived)
    return scene


def test_objects_that_begin_behind_the_own_queue_are_seen() -> None:
    tested = pair(side(queued(50.0), BUSY, WAITS), side(queued(5.0)))
    assert found_by(SELF_QUEUEING, tested).strength_ns == ns(45.0)
    assert SELF_QUEUEING.detect(pair(side(queued(15.0), BUSY, WAITS), side(queued(5.0)))) is None
