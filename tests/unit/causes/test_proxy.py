"""Causes of paths with a proxy midway, or without one where the other has it."""

from dataclasses import replace

from syrupy.assertion import SnapshotAssertion

from longlook.causes.handshake import HANDSHAKE_ROUND_TRIPS
from longlook.causes.loss_response import QUEUE_LOSS_RESPONSE, RANDOM_LOSS_RESPONSE
from longlook.causes.proxies import PROXY_CONNECTION, UNSPLIT_PATH
from longlook.core.model import Endpoint, Link, Trial
from longlook.explain.cause import Intervention, Purpose, Target, Untestable
from longlook.explain.ledger import BEHIND_PROXY, LedgerClass
from tests.data.scenes import Scene
from tests.data.sides import ENDPOINT, USEFUL, dropped_for, fetching, found_by, pair, side

BUSY = (USEFUL, 100.0)
CONNECTS = (LedgerClass.HANDSHAKE, 40.0, f"{BEHIND_PROXY}: round trips")
WAITS = (LedgerClass.CONGESTION_WINDOW, 80.0)
ENVOY, HAPROXY = Endpoint("envoy", "1.39.3", {"congestion_control": "cubic"}), Endpoint("haproxy", "2.6.12")


def over(proxy: Endpoint | None, protocol: str = "h3") -> Trial:
    made = replace(Scene().trial, server=ENDPOINT, client=ENDPOINT, further={"behind": Link((), ())})
    return replace(made, protocol=protocol, proxy=proxy)


def test_a_proxys_handshake_is_cured_by_a_connection_that_is_open_or_early_data_or_no_proxy() -> None:
    tested = pair(side(None, CONNECTS, BUSY, trial=over(ENVOY)), side(None, BUSY, trial=over(None)))
    finding = found_by(PROXY_CONNECTION, tested)
    assert finding.dose == 40.0
    made = PROXY_CONNECTION.interventions(finding, tested)
    settings = [dict(each.change.settings) for each in made if isinstance(each, Intervention)]
    assert settings == [
        {"proxy_knobs.upstream_connections": "warm"},
        {"proxy_knobs.upstream_0rtt": True},
        {"proxy": "none"},
    ]


def test_the_clients_own_handshake_is_no_proxys() -> None:
    own = (LedgerClass.HANDSHAKE, 40.0, "round trips")
    assert PROXY_CONNECTION.detect(pair(side(None, own, BUSY, trial=over(ENVOY)))) is None


def test_what_a_proxy_cannot_do_is_said() -> None:
    tested = pair(side(None, CONNECTS, BUSY, trial=over(HAPROXY, "h2")))
    made = PROXY_CONNECTION.interventions(found_by(PROXY_CONNECTION, tested), tested)
    reasons = [each.reason for each in made if isinstance(each, Untestable)]
    assert len(reasons) == 2
    assert all("haproxy" in reason for reason in reasons)


def test_a_path_that_a_proxy_splits_for_the_winner_alone_is_tested_from_both_sides(snapshot: SnapshotAssertion) -> None:
    tested = pair(side(None, WAITS, BUSY, trial=over(None)), side(None, BUSY, trial=over(HAPROXY, "h2")))
    made = UNSPLIT_PATH.interventions(found_by(UNSPLIT_PATH, tested), tested)
    assert [each.reason for each in made if isinstance(each, Untestable)] == snapshot
    possible = [each for each in made if isinstance(each, Intervention)]
    assert [each.kind for each in possible] == [Purpose.CURE, Purpose.TRANSPLANT]
    assert str(possible[0].change.settings["proxy"]).startswith("envoy@")
    assert (possible[1].target, dict(possible[1].change.settings)) == (Target.WINNER, {"proxy": "none"})


def test_a_path_that_is_split_for_both_or_for_none_is_no_cause() -> None:
    for own, other in ((None, None), (ENVOY, ENVOY), (ENVOY, None)):
        tested = pair(side(None, WAITS, BUSY, trial=over(own)), side(None, BUSY, trial=over(other)))
        assert UNSPLIT_PATH.detect(tested) is None


def test_a_proxys_handshake_is_not_the_clients() -> None:
    tested = pair(side(None, CONNECTS, BUSY, trial=over(ENVOY)), side(None, BUSY, trial=over(None)))
    assert HANDSHAKE_ROUND_TRIPS.detect(tested) is None


def test_random_losses_behind_the_middle_are_seen_and_taken_away() -> None:
    scene = fetching()
    for number in range(2):
        dropped_for(scene, 40.0 + number, "loss", vantage="behind")
    dropped_for(scene, 45.0, "loss")
    tested = pair(side(scene, WAITS, BUSY, trial=over(None)), side(None, BUSY, trial=over(None)))
    finding = found_by(RANDOM_LOSS_RESPONSE, tested)
    assert finding.dose == 3
    texts = [each.text for each in finding.signs[0].evidence]
    assert [text.endswith(" behind the middle") for text in texts] == [False, True, True]
    (cure,) = RANDOM_LOSS_RESPONSE.interventions(finding, tested)
    assert isinstance(cure, Intervention)
    assert dict(cure.change.settings) == {
        f"{link}.{way}.loss": "0%" for link in ("network", "behind") for way in ("down", "up")
    }


def test_a_queue_behind_the_middle_is_made_longer_where_it_overflows_alone() -> None:
    for where, links in (("behind", {"network", "behind"}), ("link", {"network"})):
        scene = fetching()
        dropped_for(scene, 40.0, "queue", vantage=where)
        tested = pair(side(scene, WAITS, BUSY, trial=over(None)), side(None, BUSY, trial=over(None)))
        made = QUEUE_LOSS_RESPONSE.interventions(found_by(QUEUE_LOSS_RESPONSE, tested), tested)
        keys = {key for each in made if isinstance(each, Intervention) for key in each.change.settings}
        assert {key.partition(".")[0] for key in keys} == links
