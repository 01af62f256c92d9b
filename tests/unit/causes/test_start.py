"""Causes in the handshake and in slow start."""

from dataclasses import replace

import pytest
from syrupy.assertion import SnapshotAssertion

from longlook.causes.early_data import EARLY_DATA_REFUSED, NO_EARLY_DATA, OVERTAKEN_KEYS
from longlook.causes.handshake import (
    AMPLIFICATION_LIMIT,
    HANDSHAKE_COMPUTING,
    HANDSHAKE_ROUND_TRIPS,
    RETRY_ROUND_TRIP,
    round_trips,
)
from longlook.causes.slow_start import SLOW_START_EARLY_EXIT, SLOW_START_OVERSHOOT
from longlook.causes.windows import WINDOW_CAPPED
from longlook.core.model import ConnectionState, Endpoint
from longlook.explain.cause import Intervention, Purpose, Surgery, Touches, Untestable
from longlook.explain.ledger import LedgerClass
from longlook.explain.pair import Pair
from tests.data.scenes import PACKET_BYTES, Scene, ns
from tests.data.sides import USEFUL, dropped_for, fetching, found_by, pair, side

BUSY = (USEFUL, 100.0)
WAITS = (LedgerClass.CONGESTION_WINDOW, 50.0)
PRODUCT_BYTES = 25_000  # 10 Mbit/s times 20 ms


def started(window: int, state: str = "congestion_avoidance") -> Scene:
    scene = fetching(10)
    scene.log(1.0, "state", name="init")
    scene.log(20.0, "state", name="slow_start")
    scene.log(20.0, "metrics", cwnd_bytes=window)
    scene.log(50.0, "state", name=state)
    scene.log(90.0, "metrics", cwnd_bytes=window + PACKET_BYTES)
    return scene


def test_slow_start_that_ends_below_the_product_without_a_loss_is_seen(snapshot: SnapshotAssertion) -> None:
    tested = pair(side(started(12_500), BUSY, WAITS))
    found = found_by(SLOW_START_EARLY_EXIT, tested)
    assert (found.strength_ns, found.dose) == (ns(50.0), 12_500)
    assert found.signs[0].evidence[0].text == snapshot


def test_slow_start_that_fills_the_path_or_loses_is_not_early() -> None:
    assert SLOW_START_EARLY_EXIT.detect(pair(side(started(24_000), BUSY, WAITS))) is None
    assert SLOW_START_EARLY_EXIT.detect(pair(side(started(12_500, "recovery"), BUSY, WAITS))) is None
    lost = started(12_500)
    lost.drop(45.0)
    assert SLOW_START_EARLY_EXIT.detect(pair(side(lost, BUSY, WAITS))) is None
    assert SLOW_START_EARLY_EXIT.detect(pair(side(fetching(), BUSY, WAITS))) is None


def test_the_end_of_slow_start_is_moved_by_hystart_and_by_its_threshold() -> None:
    tested = pair(side(started(12_500), BUSY, WAITS))
    made = SLOW_START_EARLY_EXIT.interventions(found_by(SLOW_START_EARLY_EXIT, tested), tested)
    settings = [item.change.settings for item in made if isinstance(item, Intervention)]
    assert settings[0]["server_knobs.hystart"] is False
    doses = [item for item in made if isinstance(item, Intervention) and item.dose is not None]
    assert [(item.kind, item.dose) for item in doses] == [(Purpose.CURE, 2.0), (Purpose.DOSE, 0.5), (Purpose.DOSE, 1.0)]
    assert [item.change.settings["server_knobs.initial_ssthresh"] for item in doses] == [34, 8, 17]


def test_a_window_that_never_grows_again_is_capped_not_left_too_early() -> None:
    scene = started(12_500)
    scene.log(95.0, "metrics", cwnd_bytes=12_500)
    scene.logged = [each for each in scene.logged if each.get("cwnd_bytes") in (None, 12_500)]
    assert SLOW_START_EARLY_EXIT.detect(pair(side(scene, BUSY, WAITS))) is None


def capped(*windows: int) -> Pair:
    """A load of 500 ms whose window takes these values, one every 10 ms from 30 ms on, and then the last."""
    scene = fetching(10)
    for number, window in enumerate(windows):
        scene.log(30.0 + 10 * number, "metrics", cwnd_bytes=window)
    return pair(side(scene, (USEFUL, 200.0), (LedgerClass.CONGESTION_WINDOW, 300.0)))


@pytest.mark.parametrize("windows", [(4_000, 8_000, 12_000), (12_000, 12_500, 13_200)])
def test_a_window_that_stays_or_rises_with_the_mtu_alone_is_capped(windows: tuple[int, ...]) -> None:
    found = found_by(WINDOW_CAPPED, capped(*windows))
    assert (found.strength_ns, found.dose) == (ns(300.0), float(windows[-1]))


def test_a_window_that_grows_or_fell_or_fills_the_path_is_not_capped() -> None:
    for windows in (tuple(range(8_000, 12_000, 100)), (12_000, 6_000), (12_000, 40_000)):
        assert WINDOW_CAPPED.detect(capped(*windows)) is None


def overflowing(drops: int) -> Scene:
    scene = started(20 * PACKET_BYTES, "recovery")
    for number in range(drops):
        dropped_for(scene, 40.0 + number / 10, "queue")
    return scene


def test_slow_start_that_overflows_the_queue_is_seen() -> None:
    found = found_by(SLOW_START_OVERSHOOT, pair(side(overflowing(5), BUSY, WAITS)))
    assert found.dose == 5


def test_an_overflow_that_the_winner_has_too_explains_nothing() -> None:
    assert SLOW_START_OVERSHOOT.detect(pair(side(overflowing(1), BUSY, WAITS))) is None
    tested = pair(side(overflowing(5), BUSY, WAITS), side(overflowing(6), BUSY))
    assert SLOW_START_OVERSHOOT.detect(tested) is None


@pytest.mark.parametrize("form", ["retry", "version_negotiation"])
def test_a_retry_or_other_versions_in_the_losers_handshake_are_seen(form: str) -> None:
    scene = fetching()
    scene.down(10.0, quic=form)
    tested = pair(side(scene, (LedgerClass.HANDSHAKE, 40.0), BUSY), side(None, (LedgerClass.HANDSHAKE, 20.0), BUSY))
    assert found_by(RETRY_ROUND_TRIP, tested).strength_ns == ns(20.0)
    both = pair(side(scene, (LedgerClass.HANDSHAKE, 40.0), BUSY), side(scene, (LedgerClass.HANDSHAKE, 20.0), BUSY))
    assert RETRY_ROUND_TRIP.detect(both) is None


def early(name: str) -> Scene:
    scene = fetching()
    scene.up(0.5, quic="0rtt")
    scene.opened(0.0, 20.0, name)
    return scene


def test_early_data_that_does_not_count_is_refused() -> None:
    waits = (LedgerClass.HANDSHAKE, 20.0)
    assert found_by(EARLY_DATA_REFUSED, pair(side(early("resumed"), waits, BUSY))).dose == 1
    assert EARLY_DATA_REFUSED.detect(pair(side(early("0rtt"), waits, BUSY))) is None
    assert EARLY_DATA_REFUSED.detect(pair(side(None, waits, BUSY))) is None


def test_a_server_at_the_amplification_limit_is_cured_by_a_session_that_needs_no_certificate() -> None:
    waits = (LedgerClass.HANDSHAKE, 20.0, "amplification limit")
    tested = pair(side(None, waits, BUSY))
    found = found_by(AMPLIFICATION_LIMIT, tested)
    assert found.strength_ns == ns(20.0)
    cure, transplant = AMPLIFICATION_LIMIT.interventions(found, tested)
    assert isinstance(cure, Intervention) and isinstance(transplant, Intervention)
    assert cure.change.settings == {"connection": "resumed"}
    resumed = replace(Scene().trial, connection=ConnectionState.RESUMED)
    known = pair(side(None, waits, BUSY, trial=resumed))
    assert isinstance(AMPLIFICATION_LIMIT.interventions(found, known)[0], Untestable)


LIMITED = (LedgerClass.HANDSHAKE, 20.0, "amplification limit")


def test_what_the_winner_s_server_sends_beyond_as_many_bytes_is_held_back_as_long() -> None:
    early_answer = (USEFUL, 24.5)  # five of the ten packets, from 20 ms on, before the server has to wait
    tested = pair(side(fetching(10), early_answer, LIMITED, BUSY))
    found = found_by(AMPLIFICATION_LIMIT, tested)
    transplant = AMPLIFICATION_LIMIT.interventions(found, tested)[1]
    assert isinstance(transplant, Intervention)
    assert transplant.change.surgery == {0: Surgery(down="hold 5-9 20000000ns")}


def test_a_winner_that_sends_no_more_than_the_limit_cannot_be_made_to_wait(snapshot: SnapshotAssertion) -> None:
    tested = pair(side(fetching(10), (USEFUL, 40.0), LIMITED, BUSY), side(fetching(10), BUSY))
    transplant = AMPLIFICATION_LIMIT.interventions(found_by(AMPLIFICATION_LIMIT, tested), tested)[1]
    assert isinstance(transplant, Untestable)
    assert transplant.reason == snapshot


def test_a_limit_that_costs_no_more_than_the_winner_s_own_handshake_is_none() -> None:
    """Nothing is held back for no time: two arms whose handshakes are as long have no gap there."""
    tested = pair(side(fetching(10), LIMITED, BUSY), side(fetching(10), (LedgerClass.HANDSHAKE, 20.0), BUSY))
    assert AMPLIFICATION_LIMIT.detect(tested) is None


def test_a_wait_for_validation_behind_the_request_is_no_round_trip_before_it() -> None:
    request, none = (LedgerClass.REQUEST, 10.0), side(flights(0), BUSY)
    assert HANDSHAKE_ROUND_TRIPS.detect(pair(side(flights(2), request, LIMITED, BUSY), none)) is None
    before = pair(side(flights(2), LIMITED, (LedgerClass.HANDSHAKE, 20.0), request, BUSY), none)
    assert found_by(HANDSHAKE_ROUND_TRIPS, before).strength_ns == ns(40.0)


def flights(there_and_back: int, wait_ms: float = 0.0) -> Scene:
    """A handshake of so many flights there and back, the last answer of which waits for the server."""
    scene, now = Scene(), 0.0
    for number in range(there_and_back):
        reached = scene.up(now, 1200, quic="initial")
        scene.up(now + 1.0, 60, quic="handshake")  # acknowledgements are no flight
        now = scene.down(reached + (wait_ms if number == there_and_back - 1 else 0.0), 1200, quic="handshake")
    scene.opened(0.0, now)
    scene.up(now)
    arrived = scene.down(now + 10.0)
    scene.fetched(now, arrived, arrived)
    return scene


def test_round_trips_are_flights_on_the_link_and_a_wait_at_an_end_is_none() -> None:
    counts = [round_trips(side(flights(count, 100.0), BUSY)) for count in (0, 1, 2)]
    assert counts == [0, 1, 2]
    slow = side(
        flights(1, 100.0), (LedgerClass.HANDSHAKE, 20.0), (LedgerClass.HANDSHAKE, 100.0, "server's computing"), BUSY
    )
    tested = pair(slow, side(flights(1), (LedgerClass.HANDSHAKE, 20.0), BUSY))
    assert HANDSHAKE_ROUND_TRIPS.detect(tested) is None
    found = found_by(HANDSHAKE_COMPUTING, tested)
    assert (found.strength_ns, found.dose) == (ns(100.0), 100.0)


def test_a_handshake_that_is_longer_says_where_and_early_data_says_why() -> None:
    late = (LedgerClass.HANDSHAKE, 40.0)
    tested = pair(side(flights(2), late, BUSY), side(early("0rtt"), BUSY))
    (held,) = HANDSHAKE_ROUND_TRIPS.interventions(found_by(HANDSHAKE_ROUND_TRIPS, tested), tested)
    assert isinstance(held, Intervention) and held.touches is Touches.OCCASION
    found = found_by(NO_EARLY_DATA, tested)
    assert found.strength_ns == ns(20.0)  # it saves a round trip of the winner's, not all of the handshake
    cure, without = NO_EARLY_DATA.interventions(found, tested)
    assert isinstance(cure, Intervention) and isinstance(without, Intervention)
    assert (cure.change.settings, without.change.settings) == ({"connection": "0rtt"}, {"connection": "resumed"})
    assert NO_EARLY_DATA.detect(pair(side(early("resumed"), late, BUSY), side(early("0rtt"), BUSY))) is None


def test_a_round_trip_of_a_retry_is_cured_where_the_server_has_the_knob() -> None:
    scene = fetching()
    scene.down(10.0, quic="retry")
    older = replace(Scene().trial, server=Endpoint("quic-go", "0.26.0"))
    tested = pair(side(scene, (LedgerClass.HANDSHAKE, 40.0), BUSY, trial=older))
    cure, transplant = RETRY_ROUND_TRIP.interventions(found_by(RETRY_ROUND_TRIP, tested), tested)
    assert isinstance(cure, Intervention)
    assert cure.change.settings == {"server_knobs.retry": False}
    assert isinstance(transplant, Untestable)  # the winner's version has no such knob


def overtaking(data_leaves_ms: float) -> Scene:
    """A server whose first packet with data is sent with the handshake, whose last packet leaves after 35 ms."""
    scene = fetching(3)
    scene.down(5.0, quic="handshake", time_ns=ns(35.0))
    scene.down(5.0, time_ns=ns(data_leaves_ms))
    scene.log(5.0, "packet_sent", packet_number=0, size_bytes=PACKET_BYTES)
    scene.log(6.0, "packet_sent", packet_number=1, size_bytes=PACKET_BYTES)
    return scene


def test_a_packet_that_overtakes_the_handshake_and_is_declared_lost_is_held_back_behind_it() -> None:
    scene = overtaking(30.0)
    scene.log(90.0, "packet_spurious", packet_number=0, size_bytes=PACKET_BYTES)
    tested = pair(side(scene, WAITS, BUSY))
    found = found_by(OVERTAKEN_KEYS, tested)
    assert (found.strength_ns, found.dose) == (ns(50.0), 1)
    (cure,) = OVERTAKEN_KEYS.interventions(found, tested)
    assert isinstance(cure, Intervention)
    assert cure.change.surgery == {0: Surgery(down="hold 4 6000000ns")}


def test_packets_behind_the_handshake_or_not_declared_lost_have_their_keys() -> None:
    assert OVERTAKEN_KEYS.detect(pair(side(overtaking(30.0), WAITS, BUSY))) is None
    behind = overtaking(36.0)
    behind.log(90.0, "packet_spurious", packet_number=0, size_bytes=PACKET_BYTES)
    assert OVERTAKEN_KEYS.detect(pair(side(behind, WAITS, BUSY))) is None
    other = overtaking(30.0)
    other.log(90.0, "packet_spurious", packet_number=1, size_bytes=PACKET_BYTES)
    assert OVERTAKEN_KEYS.detect(pair(side(other, WAITS, BUSY))) is None
