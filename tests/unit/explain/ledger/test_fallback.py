"""The time in which a client waits for QUIC before it tries TCP."""

from dataclasses import replace

import pytest

from longlook.core.model import Trial
from longlook.explain.ledger import LedgerClass, make_ledger
from tests.data.scenes import QUIC, TCP, Scene, ns


def fallen_back(quic_brings_until_ms: float | None, tcp_from_ms: float) -> Scene:
    """A load that TCP carries; QUIC sends a packet that is lost, or brings some and falls silent."""
    scene = Scene(flow=TCP)
    scene.drop(0.0, direction="up", flow=QUIC, protocol="udp")
    if quic_brings_until_ms is not None:
        scene.down(quic_brings_until_ms - 11.0, flow=QUIC, protocol="udp")
    scene.opened(tcp_from_ms, tcp_from_ms + 20.0)
    scene.up(tcp_from_ms)
    scene.down(tcp_from_ms + 10.0)
    scene.up(tcp_from_ms + 20.0)
    arrived = scene.down(tcp_from_ms + 30.0)
    scene.fetched(0.0, arrived, arrived)
    return scene


def test_a_connection_over_tcp_that_lost_the_race_is_no_fallback() -> None:
    scene = fallen_back(100.0, 250.0)
    lost = "tcp 10.8.0.1:40009 10.8.0.2:443"
    scene.up(1.0, flow=lost, protocol="tcp")
    scene.down(12.0, flow=lost, protocol="tcp")
    assert fallback_ms(scene, choosing(scene)) == pytest.approx(150.0, abs=2.0)


def test_the_handshake_over_tcp_behind_it_is_a_handshake() -> None:
    scene = fallen_back(None, 250.0)
    ledger = make_ledger(scene.timeline(), choosing(scene))
    assert ledger is not None
    assert ledger.totals()[LedgerClass.HANDSHAKE] == pytest.approx(ns(20.0), abs=ns(1.0))


def fallback_ms(scene: Scene, trial: Trial) -> float:
    ledger = make_ledger(scene.timeline(), trial)
    assert ledger is not None
    return ledger.totals().get(LedgerClass.FALLBACK, 0) / ns(1.0)


def choosing(scene: Scene) -> Trial:
    return replace(scene.trial, protocol="h3-or-h2", congestion_control="cubic")


@pytest.mark.parametrize(("brings_until_ms", "waited_ms"), [(None, 250.0), (100.0, 150.0)])
def test_it_lasts_from_what_quic_brought_last_to_the_first_packet_over_tcp(
    brings_until_ms: float | None, waited_ms: float
) -> None:
    scene = fallen_back(brings_until_ms, 250.0)
    assert fallback_ms(scene, choosing(scene)) == pytest.approx(waited_ms, abs=2.0)


def test_there_is_none_where_both_were_tried_at_once_or_the_client_had_no_choice() -> None:
    at_once = fallen_back(None, 0.0)
    assert fallback_ms(at_once, choosing(at_once)) == 0
    late = fallen_back(None, 250.0)
    assert fallback_ms(late, replace(late.trial, protocol="h2", congestion_control="cubic")) == 0


def test_there_is_none_where_quic_carried_everything() -> None:
    scene = Scene()
    scene.opened(0.0, 20.0)
    scene.up(0.0)
    scene.up(250.0, flow=TCP, protocol="tcp")
    arrived = scene.down(300.0)
    scene.fetched(0.0, arrived, arrived)
    assert fallback_ms(scene, choosing(scene)) == 0
