"""Ledgers of loads written by hand, with the answers worked out: senders that wait, requests, clients."""

from dataclasses import replace

import pytest

from longlook.core.model import Stage
from longlook.explain.ledger import LedgerClass, make_ledger
from tests.data.scenes import OVERHEAD_MS, TCP, USEFUL_MS, Scene, ledger_of, ns, totals_ms, window_limited


def test_a_window_of_one_packet_waits_a_round_trip_for_each() -> None:
    expected = {
        "handshake": 21.0,
        "request": 10.0,
        "link_overhead": 3 * OVERHEAD_MS,
        "link_useful": 3 * USEFUL_MS,
        "congestion_window": 2 * 20.0,
        "propagation": 10.0,
    }
    ledger = ledger_of(window_limited(3, 1))
    assert {str(name): total / 1e6 for name, total in ledger.totals().items()} == pytest.approx(expected)
    assert ledger.details(LedgerClass.CONGESTION_WINDOW) == {"slow start": ns(40.0)}
    assert ledger.details(LedgerClass.HANDSHAKE) == {"round trips": ns(21.0)}


def test_a_window_that_fills_the_link_leaves_it_no_time() -> None:
    totals = totals_ms(window_limited(50, 40))
    assert "congestion_window" not in totals
    assert totals["link_useful"] == pytest.approx(50 * USEFUL_MS)


def test_without_logs_a_sender_that_answers_acknowledgements_has_a_full_window() -> None:
    scene = window_limited(3, 1)
    scene.logged.clear()
    ledger = ledger_of(scene)
    assert ledger.totals()[LedgerClass.CONGESTION_WINDOW] == ns(40.0)
    assert ledger.details(LedgerClass.CONGESTION_WINDOW) == {"rule: it sends when acknowledged": ns(40.0)}


def gap(scene: Scene, begin_ms: float = 11.0, end_ms: float = 90.0) -> Scene:
    """An answer of two packets, one at 10 ms, the other at `end_ms`, so that the link idles from `begin_ms` on."""
    scene.up(0.0)
    first = scene.down(begin_ms - 1, begin_ms=begin_ms - 1)
    done = scene.down(end_ms)
    scene.fetched(0.0, first, done, size=2400)
    return scene


def roomy(scene: Scene, in_flight: int = 1222, **columns: int) -> None:
    scene.log(0.0, "metrics", cwnd_bytes=12_220, in_flight_bytes=in_flight, srtt_ns=ns(20.0), **columns)


@pytest.mark.parametrize(
    ("name", "expected"),
    [("stream", LedgerClass.STREAM_CREDIT), ("connection", LedgerClass.CONNECTION_CREDIT)],
)
def test_a_sender_out_of_credit_waits_for_credit(name: str, expected: LedgerClass) -> None:
    scene = gap(Scene())
    roomy(scene)
    scene.log(10.2, "blocked", name=name, detail="frame_sent", value=1.0)
    scene.up(80.0)
    assert ledger_of(scene).totals()[expected] == ns(79.0)


def test_credit_that_only_the_client_saw_wanting_counts_from_when_it_was_sent() -> None:
    scene = Scene()
    roomy(scene)
    told = scene.down(12.0, 78)
    gap(scene)
    scene.log(told, "blocked", vantage="client", name="stream", detail="frame_received", value=1.0)
    scene.up(80.0)
    told_takes_ms = 0.0624
    assert ledger_of(scene).totals()[LedgerClass.STREAM_CREDIT] == ns(78.0 - told_takes_ms)


def test_a_full_window_is_not_a_lack_of_credit() -> None:
    scene = gap(Scene())
    roomy(scene, in_flight=12_000)
    scene.log(10.2, "blocked", name="stream", detail="frame_sent", value=1.0)
    scene.up(80.0)
    assert LedgerClass.STREAM_CREDIT not in ledger_of(scene).totals()


@pytest.mark.parametrize(
    ("stream_bytes", "connection_bytes", "expected"),
    [
        (4_000, 9_000, LedgerClass.STREAM_CREDIT),
        (9_000, 4_000, LedgerClass.CONNECTION_CREDIT),
        (500_000, 900_000, LedgerClass.APPLICATION),
    ],
)
def test_without_events_credit_is_what_a_sender_with_room_waits_for_if_it_could_have_used_it_up(
    stream_bytes: int, connection_bytes: int, expected: LedgerClass
) -> None:
    scene = gap(Scene(), end_ms=90.0)
    roomy(scene)
    offered = f'{{"initial_max_data":{connection_bytes},"initial_max_stream_data_bidi_local":{stream_bytes}}}'
    scene.log(0.0, "parameters", vantage="client", name="local", detail=offered)
    scene.up(80.0)
    assert ledger_of(scene).totals()[expected] == ns(79.0)


def configured(scene: Scene, **knobs: dict[str, int]) -> dict[LedgerClass, int]:
    """Return the totals of a scene whose trial sets knobs of its client or server."""
    own = replace(
        scene.trial, **{role: replace(getattr(scene.trial, role), knobs=set_) for role, set_ in knobs.items()}
    )
    ledger = make_ledger(scene.timeline(), own)
    assert ledger is not None
    return ledger.totals()


@pytest.mark.parametrize(
    ("knobs", "expected"),
    [
        ({"client": {"initial_stream_window": 6_000}}, LedgerClass.STREAM_CREDIT),
        ({"client": {"initial_connection_window": 6_000}}, LedgerClass.CONNECTION_CREDIT),
        ({"server": {"send_buffer": 6_000}}, LedgerClass.SEND_BUFFER),
        ({"client": {"initial_stream_window": 60_000}, "server": {"send_buffer": 60_000}}, LedgerClass.PACING),
    ],
)
def test_a_sender_that_stops_with_as_much_in_flight_as_a_configured_limit_allows_is_held_by_it(
    knobs: dict[str, dict[str, int]], expected: LedgerClass
) -> None:
    """The pause is as short as a pacer's, so that only the bytes in flight tell them apart."""
    scene = gap(Scene(), end_ms=20.0)
    roomy(scene, in_flight=6_100)
    scene.up(10.0)
    assert configured(scene, **knobs)[expected] == ns(9.0)


def test_a_sender_that_logs_its_limits_is_not_judged_by_the_bytes_in_flight() -> None:
    scene = gap(Scene(), end_ms=20.0)
    roomy(scene, in_flight=6_100)
    scene.log(10.0, "blocked", name="streams_bidi", value=1.0)
    scene.up(10.0)
    assert configured(scene, client={"initial_stream_window": 6_000})[LedgerClass.PACING] == ns(9.0)


def test_room_for_exactly_one_packet_is_a_full_window() -> None:
    scene = gap(Scene(), end_ms=20.0)
    roomy(scene, in_flight=12_220 - 1_222)
    assert ledger_of(scene).totals()[LedgerClass.CONGESTION_WINDOW] == ns(9.0)


def test_the_kernels_receive_window_holds_from_its_mark_on_and_without_one_it_is_the_send_buffer() -> None:
    for marked, expected in ((True, LedgerClass.CONNECTION_CREDIT), (False, LedgerClass.SEND_BUFFER)):
        scene = gap(Scene(flow=TCP))
        roomy(scene)
        if marked:
            scene.log(1.0, "blocked", name="receive_window", detail="state", value=1.0)
        scene.up(80.0)
        assert ledger_of(scene).totals()[expected] == ns(79.0)


def test_data_that_arrived_and_was_not_acknowledged_is_waited_for() -> None:
    scene = gap(Scene())
    roomy(scene, in_flight=12_000)
    scene.acknowledge(80.0)
    totals = totals_ms(scene)
    assert totals["ack_wait"] == pytest.approx(80.0 - 21.0)  # the data arrived at 21 ms
    assert totals["congestion_window"] == pytest.approx(20.0)  # and two ways on the path


def test_a_probe_timeout_ends_what_a_lost_packet_began() -> None:
    scene = gap(Scene())
    scene.drop(11.0)
    scene.log(89.99, "pto", value=1.0)
    roomy(scene)
    ledger = ledger_of(scene)
    assert ledger.totals()[LedgerClass.TIMER] == ns(90.0 - 21.0)
    assert ledger.details(LedgerClass.TIMER) == {"probe or retransmission timeout": ns(69.0)}
    assert ledger.totals()[LedgerClass.LOSS_DETECTION] == ns(10.0)


def test_without_logs_a_sender_that_goes_on_by_itself_after_a_loss_had_a_timer() -> None:
    scene = gap(Scene())
    scene.drop(11.0)
    assert ledger_of(scene).details(LedgerClass.TIMER) == {"rule: it went on by itself after a drop": ns(69.0)}


def test_the_last_packet_lost_is_looked_for_with_acknowledgements_under_way() -> None:
    scene = gap(Scene())
    scene.drop(11.0)
    scene.acknowledge(21.0)
    scene.acknowledge(80.0)
    totals = totals_ms(scene)
    assert totals["loss_detection"] == pytest.approx(10.0 + 10.0 + 10.0)
    assert totals["ack_wait"] == pytest.approx(80.0 - 31.0)


def test_an_application_that_gives_nothing_is_named_by_the_log() -> None:
    scene = gap(Scene())
    roomy(scene)
    scene.log(11.0, "app_limited", value=1.0)
    assert ledger_of(scene).totals()[LedgerClass.APPLICATION] == ns(79.0)


def test_a_sender_whose_window_is_full_has_something_to_send_whatever_its_log_says() -> None:
    scene = gap(Scene())
    roomy(scene, in_flight=12_000)
    scene.log(11.0, "app_limited", value=1.0)
    scene.up(80.0)
    assert ledger_of(scene).totals()[LedgerClass.ACK_WAIT] == ns(59.0)
    assert LedgerClass.APPLICATION not in ledger_of(scene).totals()


def test_a_pause_as_short_as_a_pacer_makes_it_is_pacing_whatever_the_log_says() -> None:
    scene = gap(Scene(), end_ms=20.0)
    roomy(scene)
    scene.log(11.0, "app_limited", value=1.0)
    ledger = ledger_of(scene)
    assert ledger.totals()[LedgerClass.PACING] == ns(9.0)
    assert ledger.details(LedgerClass.PACING) == {"rule: the window has room": ns(9.0)}


def test_a_pause_at_the_logged_rate_is_pacing() -> None:
    scene = gap(Scene(), end_ms=110.0)
    roomy(scene, pacing_bps=1_000_000)  # 10 packets of 1222 bytes take 97.8 ms
    scene.acknowledge(21.0)
    scene.acknowledge(100.0)
    assert LedgerClass.PACING not in ledger_of(scene).totals()
    scene = gap(Scene(), end_ms=90.0)
    roomy(scene, pacing_bps=1_000_000)
    scene.up(12.0)
    for at_ms in range(20, 90, 10):
        scene.up(float(at_ms))
    assert ledger_of(scene).totals()[LedgerClass.PACING] == ns(79.0)


def test_a_minimal_window_after_a_loss_is_called_so() -> None:
    scene = gap(Scene(), end_ms=31.0)
    scene.log(0.0, "metrics", cwnd_bytes=2_444, in_flight_bytes=2_000, srtt_ns=ns(20.0))
    scene.log(1.0, "packet_lost", packet_number=1, size_bytes=1222)
    scene.acknowledge(21.0)
    assert ledger_of(scene).details(LedgerClass.CONGESTION_WINDOW) == {"minimum": ns(20.0)}


def test_a_request_that_arrived_waits_for_its_answer() -> None:
    scene = Scene()
    scene.up(0.0)
    done = scene.down(50.0)
    scene.fetched(0.0, done, done)
    assert totals_ms(scene) == pytest.approx(
        {
            "request": 10.0,
            "server_think": 40.0,
            "link_overhead": OVERHEAD_MS,
            "link_useful": USEFUL_MS,
            "propagation": 10.0,
        }
    )


def test_a_client_that_asks_late_for_the_next_is_idle_and_both_objects_are_critical() -> None:
    scene = Scene()
    scene.up(0.0)
    first = scene.down(10.0)
    scene.fetched(0.0, first, first, "/index.html")
    scene.up(first + 30.0)
    second = scene.down(first + 40.0)
    scene.fetched(first + 30.0, second, second, "/image.png")
    ledger = ledger_of(scene)
    assert ledger.totals()[LedgerClass.CLIENT_IDLE] == ns(30.0)
    assert [(each["path"], each["critical"]) for each in ledger.objects] == [
        ("/index.html", True),
        ("/image.png", True),
    ]


def test_an_object_that_nothing_waited_for_is_not_critical() -> None:
    scene = Scene()
    scene.up(0.0)
    scene.up(0.001)
    early, late = scene.down(10.0), scene.down(10.0)
    scene.fetched(0.0, early, early, "/early")
    scene.fetched(0.0, late, late, "/late")
    assert {each["path"]: each["critical"] for each in ledger_of(scene).objects} == {"/early": False, "/late": True}


def test_a_request_without_a_stream_waits_for_one() -> None:
    scene = Scene()
    scene.up(0.0)
    scene.log(0.1, "blocked", vantage="client", name="streams_bidi", value=1.0)
    first = scene.down(10.0)
    scene.fetched(0.0, first, first, "/first")
    scene.up(50.0)
    second = scene.down(60.0)
    scene.fetched(0.0, second, second, "/second")
    totals = totals_ms(scene)
    assert totals["stream_ids"] == pytest.approx(50.0 - 1.0)  # but for the first packet at the bottleneck
    assert totals["request"] == pytest.approx(10.0)


def test_a_link_at_rate_zero_is_down_even_within_a_packet() -> None:
    scene = Scene({"steps": [[0, 10_000_000], [10_500_000, 0], [40_500_000, 10_000_000]]})
    scene.up(0.0)
    scene.down(10.0, begin_ms=40.0)
    scene.rows[-1]["value"] = 0.0  # it began at once
    last = scene.down(20.0, begin_ms=41.0)
    scene.fetched(0.0, last - 1, last)
    totals = totals_ms(scene)
    assert totals["link_down"] == pytest.approx(30.0)
    assert totals["link_useful"] == pytest.approx(2 * USEFUL_MS)


def test_packets_that_wait_behind_those_of_others_wait_for_others() -> None:
    other = "udp 10.8.0.3:40000 10.8.0.4:443"
    scene = Scene()
    scene.opened(0.0, 0.0)
    scene.up(0.0)
    scene.down(10.0, flow=other)
    scene.down(10.0)
    scene.down(12.0, flow=other)
    scene.down(13.0)
    common = {"cross": False, "began_ns": 0, "ended_ns": ns(14.0), "ended_by_itself": False, "client_address": ""}
    flows = [{"name": name, "group": name, "server_address": address, **common} for name, address in
             (("quic", "10.8.0.2"), ("tcp", "10.8.0.4"))]  # fmt: skip
    scene.metadata["competition"] = {"flows": flows, "window_ns": [0, ns(14.0)], "capacity": None, "rtt_ns": None}
    totals = totals_ms(scene)
    assert totals["link_others"] == pytest.approx(1.0)
    assert totals["link_useful"] == pytest.approx(2 * USEFUL_MS)


def test_what_tcp_delivers_twice_is_waste() -> None:
    scene = Scene(flow=TCP)
    scene.up(0.0)
    for at_ms in (10.0, 11.0):
        done = scene.down(at_ms, transport_sequence=1)
    scene.fetched(0.0, done - 1, done)
    totals = totals_ms(scene)
    assert totals["link_waste"] == pytest.approx(1198 / 1250)
    assert totals["link_useful"] == pytest.approx(1198 / 1250)


def test_what_quic_repeats_for_nothing_is_waste() -> None:
    scene = Scene()
    scene.up(0.0)
    for at_ms in (10.0, 11.0, 12.0):
        done = scene.down(at_ms)
    scene.log(11.5, "packet_spurious", name="link", packet_number=0, size_bytes=1203, value=0.01)
    scene.fetched(0.0, 21.0, done)
    assert totals_ms(scene)["link_waste"] == pytest.approx(USEFUL_MS)


def test_a_copy_that_the_link_made_is_waste() -> None:
    scene = Scene()
    scene.up(0.0)
    scene.down(10.0)
    done = scene.down(10.0, detail="copy 1", sequence=0)
    scene.fetched(0.0, done - 1, done)
    assert totals_ms(scene)["link_waste"] == pytest.approx(USEFUL_MS)


def test_an_access_delay_is_the_senders_processor() -> None:
    scene = Scene(more_stages=(Stage("access", {"max_ns": ns(1.2)}),))
    scene.up(0.0)
    done = scene.down(10.0, begin_ms=10.7)
    scene.rows[-1]["value"] = 0.0
    scene.fetched(0.0, done, done)
    ledger = ledger_of(scene)
    assert ledger.details(LedgerClass.CPU) == {"access delay": ns(0.7)}


def test_in_real_time_the_time_after_an_acknowledgement_is_the_computers() -> None:
    scene = Scene()
    scene.up(0.0)
    first = scene.down(10.0)
    back = scene.acknowledge(first)
    done = scene.down(back + 0.5)
    scene.fetched(0.0, first, done)
    assert totals_ms(scene, live=True)["cpu"] == pytest.approx(0.5)
    assert "cpu" not in totals_ms(scene)


def test_a_server_without_room_for_its_certificate_waits_for_the_client() -> None:
    scene = Scene()
    arrived = scene.up(0.0, 1228, quic="initial")
    for _ in range(3):
        told = scene.down(arrived, 1228, quic="initial")
    reply = scene.up(told, 1228, quic="initial")
    secure = scene.down(reply, 1228, quic="handshake")
    scene.opened(0.0, secure)
    done = scene.down(scene.up(secure))
    scene.fetched(0.0, done, done)
    details = ledger_of(scene).details(LedgerClass.HANDSHAKE)
    assert details["amplification limit"] == ns(reply - arrived)


def test_a_lost_handshake_packet_is_named() -> None:
    scene = Scene()
    scene.drop(0.0, 1228, "up", quic="initial")
    secure = scene.down(scene.up(500.0, 1228, quic="initial"), 1228, quic="initial")
    scene.opened(0.0, secure)
    done = scene.down(scene.up(secure))
    scene.fetched(0.0, done, done)
    assert ledger_of(scene).details(LedgerClass.HANDSHAKE)["loss of a packet"] == ns(500.0)


def test_a_packet_lost_within_a_flight_is_waited_for_until_its_sender_sends_more_than_an_acknowledgement() -> None:
    scene = Scene()
    asked = scene.up(0.0, 1250, quic="initial")
    scene.drop(asked, quic="initial")
    arrived = scene.down(asked + 0.01, 500, quic="handshake")
    acknowledged = scene.down(100.0, 69, quic="initial")
    again = scene.down(300.0, 1250, quic="initial")
    scene.opened(0.0, again)
    done = scene.down(scene.up(again))
    scene.fetched(0.0, done, done)
    nothing_in_the_air_ms = 0.01 + 300.0 - arrived - (acknowledged - 100.0)
    assert ledger_of(scene).details(LedgerClass.HANDSHAKE)["loss of a packet"] == ns(nothing_in_the_air_ms)


def test_early_data_has_no_handshake() -> None:
    scene = Scene()
    scene.opened(0.0, 30.0, "0rtt")
    done = scene.down(scene.up(0.0))
    scene.fetched(0.0, done, done)
    assert "handshake" not in totals_ms(scene)


def test_a_trial_without_a_load_or_packets_has_no_ledger() -> None:
    assert make_ledger(Scene().timeline(), Scene().trial) is None
    scene = Scene()
    scene.fetched(0.0, 1.0, 2.0)
    assert make_ledger(scene.timeline(), scene.trial) is None
