"""Causes in losses and in the timers that find them."""

from dataclasses import replace

import pytest

from longlook.causes.handshake import HANDSHAKE_LOSS
from longlook.causes.loss_response import KEPT_REDUCTION, PERSISTENT_CONGESTION, WINDOW_AFTER_LOSS
from longlook.causes.receivers import RECEIVER_DISCARDS
from longlook.causes.retransmissions import REPEATED_RETRANSMISSION, SPURIOUS_LOSS
from longlook.causes.timers import RTO_BACKOFF, TAIL_LOSS, TIMER_TOO_LONG
from longlook.causes.windows import SMALL_WINDOW_TIMEOUT
from longlook.core.model import Endpoint
from longlook.explain.cause import Intervention, Purpose, Surgery, Target, Touches, Untestable
from longlook.explain.ledger import LedgerClass
from longlook.explain.pair import Side
from tests.data.scenes import PACKET_BYTES, PAYLOAD_BYTES, TCP, Scene, ns
from tests.data.sides import USEFUL, fetching, found_by, pair, side

BUSY = (USEFUL, 100.0)


def tail(lost: int = 2, after: int = 0) -> Scene:
    scene = fetching(10)
    for number in range(lost):
        scene.drop(30.0 + number)
    for number in range(after):
        scene.down(32.0 + number)
    scene.down(200.0)
    return scene


def test_losses_at_the_end_of_a_flight_are_seen_and_can_be_spared() -> None:
    tested = pair(side(tail(), BUSY, (LedgerClass.TIMER, 100.0)))
    found = found_by(TAIL_LOSS, tested)
    assert found.strength_ns == ns(100.0)
    assert found.signs[0].packets == (10, 11)
    cure, transplant = TAIL_LOSS.interventions(found, tested)
    assert isinstance(cure, Intervention) and isinstance(transplant, Intervention)
    assert cure.target is Target.LOSER
    assert cure.change.surgery == {0: Surgery(down="forgive 10, 11")}
    assert transplant.change.surgery == {0: Surgery(down="drop 8, 9")}


def test_losses_that_later_packets_show_are_no_tail() -> None:
    scene = tail(after=3)
    assert TAIL_LOSS.detect(pair(side(scene, BUSY, (LedgerClass.TIMER, 100.0)))) is None


def test_a_flight_that_is_lost_as_a_whole_has_no_tail() -> None:
    waits = (BUSY, (LedgerClass.TIMER, 100.0))
    assert TAIL_LOSS.detect(pair(side(tail(16), *waits))) is not None
    assert TAIL_LOSS.detect(pair(side(tail(17), *waits))) is None


def test_a_winner_that_loses_its_tail_too_gets_no_more_losses() -> None:
    winner = fetching(10)
    winner.drop(40.0)
    tested = pair(side(tail(), BUSY, (LedgerClass.TIMER, 100.0)), side(winner))
    untestable = TAIL_LOSS.interventions(found_by(TAIL_LOSS, tested), tested)[1]
    assert isinstance(untestable, Untestable)
    assert untestable.kind is Purpose.TRANSPLANT


def opening(*, lost: bool) -> Scene:
    scene = Scene()
    if lost:
        scene.drop(0.0, 1250, direction="up", quic="initial")
    else:
        scene.up(0.0, 1250, quic="initial")
    scene.up(300.0 if lost else 1.0, 1250, quic="initial")
    begin = 310.0 if lost else 10.0
    secure = scene.down(begin, quic="initial")
    scene.up(secure)
    scene.fetched(0.0, begin + 40, begin + 60)
    return scene


def test_a_lost_packet_of_the_handshake_is_seen_and_dropped_in_the_winner() -> None:
    waits = (LedgerClass.HANDSHAKE, 300.0, "loss of a packet")
    tested = pair(
        side(opening(lost=True), waits, (LedgerClass.HANDSHAKE, 21.0, "round trips"), BUSY),
        side(opening(lost=False), (LedgerClass.HANDSHAKE, 21.0, "round trips"), BUSY),
    )
    found = found_by(HANDSHAKE_LOSS, tested)
    assert found.strength_ns == ns(300.0)
    assert (found.signs[0].packets, found.signs[0].direction) == ((0,), "up")
    cure, transplant = HANDSHAKE_LOSS.interventions(found, tested)
    assert isinstance(cure, Intervention) and isinstance(transplant, Intervention)
    assert cure.change.surgery == {0: Surgery(up="forgive 0")}
    assert transplant.change.surgery == {0: Surgery(up="drop 0")}


def test_a_loss_behind_the_handshake_is_none_of_it() -> None:
    waits = ((LedgerClass.HANDSHAKE, 21.0, "round trips"), BUSY)
    assert HANDSHAKE_LOSS.detect(pair(side(tail(), *waits))) is None


def test_what_is_lost_again_is_seen_by_its_sequence_number_over_tcp() -> None:
    scene = fetching(4, flow=TCP)
    for at_ms in (30.0, 60.0, 120.0):
        scene.drop(at_ms, transport_sequence=777)
    waits = (LedgerClass.TIMER, 90.0)
    found = found_by(REPEATED_RETRANSMISSION, pair(side(scene, BUSY, waits)))
    assert found.signs[0].packets == (5, 6)
    assert found.strength_ns == ns(90.0)


def test_over_quic_the_packet_behind_a_declared_loss_holds_the_repair() -> None:
    scene = fetching(4)
    scene.drop(30.0)
    scene.log(60.0, "packet_lost", packet_number=4, size_bytes=PAYLOAD_BYTES)
    scene.drop(60.1)
    scene.down(61.0)
    found = found_by(REPEATED_RETRANSMISSION, pair(side(scene, BUSY, (LedgerClass.TIMER, 90.0))))
    assert found.signs[0].packets == (5,)


def test_one_loss_is_not_a_repeated_one() -> None:
    scene = fetching(4, flow=TCP)
    scene.drop(30.0, transport_sequence=777)
    assert REPEATED_RETRANSMISSION.detect(pair(side(scene, BUSY, (LedgerClass.TIMER, 90.0)))) is None


def small(window_packets: int) -> Scene:
    scene = fetching(3)
    scene.log(0.0, "metrics", cwnd_bytes=window_packets * PACKET_BYTES, in_flight_bytes=0)
    scene.drop(95.0)
    scene.down(250.0)
    return scene


def test_a_loss_at_a_small_window_waits_for_a_timer() -> None:
    waits = (BUSY, (LedgerClass.TIMER, 150.0))
    found = found_by(SMALL_WINDOW_TIMEOUT, pair(side(small(3), *waits)))
    assert found.signs[0].packets == (3,)
    assert SMALL_WINDOW_TIMEOUT.detect(pair(side(small(20), *waits))) is None


def timeouts(*times_ms: float) -> Scene:
    scene = fetching(10)
    scene.drop(95.0)
    scene.log(90.0, "packet_acked", packet_number=9)
    for number, at_ms in enumerate(times_ms):
        scene.log(at_ms, "pto", value=float(number + 1))
        scene.drop(at_ms)
    return scene


def test_timers_that_double_are_seen_from_the_second_one_on() -> None:
    waits = (BUSY, (LedgerClass.TIMER, 100.0), (USEFUL, 1.0), (LedgerClass.TIMER, 200.0))
    found = found_by(RTO_BACKOFF, pair(side(timeouts(200.0, 401.0), *waits)))
    assert found.strength_ns == ns(200.0)
    assert len(found.signs[0].packets) == 2  # the probes, which the wait is about
    assert RTO_BACKOFF.detect(pair(side(timeouts(200.0), BUSY, (LedgerClass.TIMER, 100.0)))) is None


def test_a_timer_is_too_long_only_against_the_senders_own_samples() -> None:
    scene = fetching(10)
    for number in range(8):
        scene.log(40.0 + number, "metrics", latest_rtt_ns=ns(20.0), cwnd_bytes=50_000)
    timer_ms = 20.0 + 25.0 + 7.0  # the probe timeout once the variance has fallen, and a little more
    long, usual = side(scene, BUSY, (LedgerClass.TIMER, 4 * timer_ms)), side(scene, BUSY, (LedgerClass.TIMER, timer_ms))
    found = found_by(TIMER_TOO_LONG, pair(long))
    assert found.strength_ns == ns(4 * timer_ms)
    assert TIMER_TOO_LONG.detect(pair(usual)) is None
    assert TIMER_TOO_LONG.detect(pair(long, long)).strength_ns == 0  # type: ignore[union-attr]


def test_the_kernel_logs_no_samples_so_its_smoothed_times_say_what_a_timer_should_be() -> None:
    scene = fetching(10, flow=TCP)
    for number in range(8):
        scene.log(40.0 + number, "metrics", srtt_ns=ns(20.0), cwnd_bytes=50_000)
    found = found_by(TIMER_TOO_LONG, pair(side(scene, BUSY, (LedgerClass.TIMER, 200.0))))
    assert (found.strength_ns, found.dose) == (ns(200.0), 200.0)


def after_a_loss(kept: float) -> Side:
    """A load whose window of 100 kB falls to a share of it in the recovery from its one loss."""
    scene = fetching(10)
    scene.log(25.0, "metrics", cwnd_bytes=100_000)
    scene.log(40.0, "state", name="recovery")
    scene.log(41.0, "metrics", cwnd_bytes=round(100_000 * kept))
    return side(scene, BUSY, (LedgerClass.CONGESTION_WINDOW, 100.0))


@pytest.mark.parametrize(("measured", "meant"), [(0.67, 0.7), (0.48, 0.5), (0.85, 0.85)])
def test_the_share_of_the_window_to_keep_is_the_standards_where_the_winners_is_close_to_it(
    measured: float, meant: float
) -> None:
    tested = pair(after_a_loss(0.2), after_a_loss(measured))
    found = found_by(WINDOW_AFTER_LOSS, tested)
    assert found.dose == 0.2
    cure = WINDOW_AFTER_LOSS.interventions(found, tested)[0]
    assert isinstance(cure, Intervention)
    assert cure.change.settings["server_knobs.window_after_loss"] == meant


def test_a_window_that_falls_to_its_smallest_at_once_is_persistent_congestion() -> None:
    scene = fetching(10)
    scene.log(30.0, "metrics", cwnd_bytes=30 * PACKET_BYTES)
    scene.drop(40.0)
    scene.log(55.0, "pto", value=2.0)
    scene.log(60.0, "metrics", cwnd_bytes=2 * PAYLOAD_BYTES)
    scene.log(80.0, "metrics", cwnd_bytes=3 * PACKET_BYTES)
    found = found_by(PERSISTENT_CONGESTION, pair(side(scene, BUSY, (LedgerClass.CONGESTION_WINDOW, 50.0))))
    assert found.signs[0].packets == (10,)
    scene = fetching(10)
    for at_ms, packets in ((30.0, 30), (50.0, 15), (60.0, 7), (70.0, 4)):
        scene.log(at_ms, "metrics", cwnd_bytes=packets * PACKET_BYTES)
    assert PERSISTENT_CONGESTION.detect(pair(side(scene, BUSY))) is None


def late(number: int) -> Scene:
    """A load of 100 ms of which packets from 3 on are declared lost, and arrive."""
    scene = fetching(10)
    for place in range(number):
        scene.log(60.0 + place, "packet_spurious", packet_number=3 + place, size_bytes=PACKET_BYTES)
    return scene


def test_reductions_for_packets_that_arrive_are_given_back_by_the_knob_for_it() -> None:
    trial = Scene().trial
    tuned = replace(trial, server=Endpoint("quic-go", "0.65.0+knobs", {"congestion_control": "cubic"}))
    tested = pair(side(late(2), BUSY, (LedgerClass.CONGESTION_WINDOW, 50.0), trial=tuned))
    found = found_by(KEPT_REDUCTION, tested)
    assert (found.strength_ns, found.dose) == (ns(50.0), 2)
    assert [item.packets for item in found.signs[0].evidence] == [(3,), (4,)]
    cure = KEPT_REDUCTION.interventions(found, tested)[0]
    assert isinstance(cure, Intervention)
    assert cure.change.settings == {"server_knobs.undo_spurious_losses": True}
    assert found_by(SPURIOUS_LOSS, tested).dose == 2


def test_packets_that_the_receiver_refused_are_its_doing_and_no_threshold_of_the_sender() -> None:
    def refusing(number: int) -> Side:
        scene = fetching(10)
        for place in range(number):
            scene.log(60.0 + place, "packet_refused", name="peer", packet_number=3 + place, size_bytes=PACKET_BYTES)
        return side(scene, BUSY, (LedgerClass.CONGESTION_WINDOW, 50.0 if number > 1 else 10.0))

    tested = pair(refusing(3), refusing(1))
    found = found_by(RECEIVER_DISCARDS, tested)
    assert (found.strength_ns, found.dose) == (ns(40.0), 3)
    assert [item.packets for item in found.signs[0].evidence] == [(3,), (4,), (5,)]
    made = RECEIVER_DISCARDS.interventions(found, tested)
    mechanism = [item for item in made if item.touches is Touches.MECHANISM]
    assert [type(item) for item in mechanism] == [Untestable, Untestable]
    other = replace(refusing(1).trial, client=Endpoint("quinn", "0.11.12"))
    swapped = pair(refusing(3), replace(refusing(1), trial=other))
    programs = [item for item in RECEIVER_DISCARDS.interventions(found, swapped) if item not in made]
    assert [(item.touches, item.change.settings) for item in programs if isinstance(item, Intervention)] == [
        (Touches.PROGRAM, {"client": "quinn@0.11.12"})
    ]
    for cause in (SPURIOUS_LOSS, KEPT_REDUCTION):
        assert cause.detect(tested) is None
    assert RECEIVER_DISCARDS.detect(pair(refusing(1), refusing(1))) is None


def test_packets_that_the_client_has_no_room_for_are_kept_by_a_longer_queue() -> None:
    scene = fetching(10)
    for at_ms, why, space in ((60.0, "rejected", None), (61.0, "dos_prevention", None), (20.0, "rejected", "1rtt")):
        scene.log(at_ms, "packet_discarded", vantage="client", name=why, space=space)
    scene.log(21.0, "packet_discarded", vantage="client", name="keys_unavailable")
    trial = Scene().trial
    tuned = replace(trial, client=Endpoint("quic-go", "0.65.0+knobs", {"receive_queue": 2}))
    tested = pair(side(scene, BUSY, (LedgerClass.CONGESTION_WINDOW, 50.0), trial=tuned))
    found = found_by(RECEIVER_DISCARDS, tested)
    assert (found.strength_ns, found.dose) == (ns(50.0), 2)
    assert [item.packets for item in found.signs[0].evidence] == [(), ()]
    cure = RECEIVER_DISCARDS.interventions(found, tested)[0]
    assert isinstance(cure, Intervention)
    assert cure.change.settings == {"client_knobs.receive_queue": 100_000}


def test_a_client_that_keeps_all_packets_throws_none_away() -> None:
    assert RECEIVER_DISCARDS.detect(pair(side(fetching(10), BUSY, (LedgerClass.CONGESTION_WINDOW, 50.0)))) is None


def test_without_a_packet_that_arrives_after_all_nothing_could_be_given_back() -> None:
    assert KEPT_REDUCTION.detect(pair(side(late(0), BUSY, (LedgerClass.CONGESTION_WINDOW, 50.0)))) is None
