"""Ledgers of loads written by hand: what the bottleneck does, the handshake, and time that computing takes."""

import pytest

from longlook.core.model import Stage
from longlook.explain.ledger import LedgerClass, make_ledger
from tests.data.scenes import TCP, USEFUL_MS, Scene, ledger_of, ns, totals_ms


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
