"""Causes in limits: credit, buffers, streams, pacing, acknowledgements."""

from dataclasses import replace

import pytest

from longlook.causes.credit import (
    CONNECTION_CREDIT,
    HTTP2_CONNECTION_WINDOW,
    HTTP2_STREAM_WINDOW,
    LATE_CREDIT,
    SEND_BUFFER,
    STREAM_CREDIT,
    STREAM_IDS,
)
from longlook.causes.pacing import PACING_LIMITED
from longlook.causes.receivers import ACK_STARVATION
from longlook.causes.timers import RTT_OVERESTIMATED
from longlook.core.model import Endpoint, Trial
from longlook.explain.cause import Cause, Finding, Intervention, Purpose, Sign, Target
from longlook.explain.ledger import LedgerClass
from longlook.explain.pair import Side
from tests.data.scenes import TCP, Scene, ns
from tests.data.sides import ENDPOINT, USEFUL, fetching, found_by, pair, side

BUSY = (USEFUL, 100.0)


def over_tcp(**tcp: int | bool) -> Trial:
    return replace(
        Scene().trial, protocol="h2", congestion_control="cubic", server=ENDPOINT, client=ENDPOINT, tcp=dict(tcp)
    )


def blocked(name: str, *limits: float, flow: str | None = None) -> Scene:
    scene = fetching(10) if flow is None else fetching(10, flow=flow)
    for number, limit in enumerate(limits):
        scene.log(31.0 + 50 * number, "blocked", name=name, value=limit)
    return scene


GROWS_TO = {"stream": 6 << 20, "connection": 15 << 20}  # as quic-go declares
CREDIT = [
    (STREAM_CREDIT, "stream", LedgerClass.STREAM_CREDIT, "stream"),
    (CONNECTION_CREDIT, "connection", LedgerClass.CONNECTION_CREDIT, "connection"),
]


@pytest.mark.parametrize(("cause", "name", "waits", "knob"), CREDIT)
def test_a_small_window_is_seen_and_made_larger(cause: Cause, name: str, waits: LedgerClass, knob: str) -> None:
    tested = pair(side(blocked(name, 12_000.0), BUSY, (waits, 60.0)))
    found = found_by(cause, tested)
    assert (found.strength_ns, found.dose) == (ns(60.0), 12_000)
    made = [item for item in cause.interventions(found, tested) if isinstance(item, Intervention)]
    cure = made[0]
    assert cure.target is Target.LOSER
    assert cure.change.settings == {
        f"client_knobs.initial_{knob}_window": 96_000,
        f"client_knobs.max_{knob}_window": 8 * GROWS_TO[knob],
    }
    assert made[1].kind is Purpose.TRANSPLANT
    assert made[1].change.settings[f"client_knobs.max_{knob}_window"] == 12_000
    assert [item.dose for item in made[2:]] == [2.0, 4.0, 8.0]


@pytest.mark.parametrize(("cause", "name", "waits", "knob"), CREDIT)
def test_a_window_is_never_made_smaller_than_it_may_grow_and_not_held_below_what_it_shall_be(
    cause: Cause, name: str, waits: LedgerClass, knob: str
) -> None:
    tested = pair(side(Scene(rate_bps=10**10), BUSY, (waits, 60.0)))
    made = cause.interventions(Finding(cause.name, "a", "client", {0: Sign(1, (), dose=2e6)}, 1), tested)
    assert isinstance(made[0], Intervention)
    assert made[0].change.settings == {
        f"client_knobs.initial_{knob}_window": 16_000_000,
        f"client_knobs.max_{knob}_window": 8 * GROWS_TO[knob],
    }


@pytest.mark.parametrize(("cause", "name", "waits", "knob"), CREDIT)
def test_credit_that_both_arms_wait_for_explains_nothing(
    cause: Cause, name: str, waits: LedgerClass, knob: str
) -> None:
    own = side(blocked(name, 12_000.0), BUSY, (waits, 60.0))
    sign = cause.detect(pair(own, own))
    assert sign is None or sign.strength_ns == 0


def test_the_window_is_what_was_open_not_the_offset_of_the_limit() -> None:
    """A limit of 24000 bytes that was sent when 12000 had arrived is a window of 12000."""
    scene = Scene()
    scene.up(0.0)
    arrived = [scene.down(20.0 + number, 1250) for number in range(10)]
    scene.log(31.0, "blocked", name="stream", value=12_030.0)
    resumed = arrived[-1] + 10.0
    for number in range(10):
        arrived.append(scene.down(resumed + number, 1250))
    scene.log(resumed + 11, "blocked", name="stream", value=24_060.0)
    scene.fetched(0.0, arrived[0], arrived[-1])
    found = found_by(STREAM_CREDIT, pair(side(scene, BUSY, (LedgerClass.STREAM_CREDIT, 60.0))))
    assert found.dose == pytest.approx(12_030, abs=30)


def test_a_window_of_two_products_is_not_small_but_late() -> None:
    tested = pair(side(blocked("stream", 60_000.0), BUSY, (LedgerClass.STREAM_CREDIT, 60.0)))
    assert STREAM_CREDIT.detect(tested) is None
    assert found_by(LATE_CREDIT, tested).dose == 60_000
    small = pair(side(blocked("stream", 12_000.0), BUSY, (LedgerClass.STREAM_CREDIT, 60.0)))
    assert LATE_CREDIT.detect(small) is None


def test_a_receive_window_of_tcp_is_made_larger_by_its_buffer() -> None:
    scene = blocked("receive_window", 18_432.0, flow=TCP)
    tested = pair(side(scene, BUSY, (LedgerClass.PACING, 60.0), trial=over_tcp(receive_buffer_bytes=32_768)))
    found = found_by(CONNECTION_CREDIT, tested)
    assert found.strength_ns == ns(60.0)
    cure = CONNECTION_CREDIT.interventions(found, tested)[0]
    assert isinstance(cure, Intervention)
    assert cure.change.settings == {"tcp_receive_buffer": "288KiB"}


HTTP2 = [
    (HTTP2_STREAM_WINDOW, "stream", LedgerClass.HTTP2_STREAM_CREDIT),
    (HTTP2_CONNECTION_WINDOW, "connection", LedgerClass.HTTP2_CONNECTION_CREDIT),
]
CLIENTS = (Endpoint("quinn", "0.11.12"), Endpoint("quic-go", "0.65.0"))


def over_http2(waits: LedgerClass, client: Endpoint, ms: float = 60.0, **windows: int) -> Side:
    """An arm over HTTP/2 and 10 Mbit/s, 20 ms, whose client reports its windows."""
    scene = fetching(10, flow=TCP)
    scene.metadata["http2_windows"] = {TCP: windows}
    scene.log(20.0, "metrics", cwnd_bytes=60_000, in_flight_bytes=10_000)
    return side(scene, BUSY, (waits, ms), trial=replace(over_tcp(), link=scene.trial.link, client=client))


@pytest.mark.parametrize(("cause", "name", "waits"), HTTP2)
def test_a_small_window_of_http2_is_seen_and_made_larger_and_smaller(
    cause: Cause, name: str, waits: LedgerClass
) -> None:
    quinn, go = CLIENTS
    tested = pair(over_http2(waits, quinn, **{name: 40_000}), over_http2(waits, go, 10.0, **{name: 10**6}))
    found = found_by(cause, tested)
    assert (found.strength_ns, found.dose) == (ns(50.0), 40_000)
    made = [item for item in cause.interventions(found, tested) if isinstance(item, Intervention)]
    key = f"client_knobs.http2_{name}_window"
    cure, *others = made
    assert (cure.kind, cure.target, cure.change.settings, cure.dose) == (
        Purpose.CURE,
        Target.LOSER,
        {key: 320_000},
        3.2e5,
    )
    doses = [item for item in others if item.kind is Purpose.DOSE]
    if name == "stream":
        transplant = others[0]
        assert (transplant.kind, transplant.target) == (Purpose.TRANSPLANT, Target.WINNER)
        assert transplant.change.settings == {key: 40_000}
    assert [(item.dose, item.change.settings[key]) for item in doses] == [
        (float(each), each) for each in (20_000, 80_000, 160_000)
    ]


def test_a_window_of_http2_that_would_fill_the_path_twice_is_not_small() -> None:
    for cause, name, waits in HTTP2:
        assert cause.detect(pair(over_http2(waits, CLIENTS[0], **{name: 50_000}))) is None
        assert cause.detect(pair(over_http2(waits, CLIENTS[0], **{name: 49_999}))) is not None


def test_a_window_of_http2_grows_to_the_largest_there_is_and_no_further() -> None:
    tested = pair(over_http2(LedgerClass.HTTP2_STREAM_CREDIT, CLIENTS[0], stream=40_000))
    sign = Sign(1, (), dose=6e8)
    made = HTTP2_STREAM_WINDOW.interventions(Finding("http2_stream_window", "a", "client", {0: sign}, 1), tested)
    doses = [item.dose for item in made if isinstance(item, Intervention) and item.dose is not None]
    assert sorted(doses) == [3e8, 1.2e9, 2_147_483_647.0]


def buffered(in_flight: int, window: int = 60_000) -> Scene:
    scene = fetching(10, flow=TCP)
    for number in range(20):
        scene.log(30.0 + number, "metrics", cwnd_bytes=window, in_flight_bytes=in_flight)
    return scene


def test_a_send_buffer_that_is_full_below_the_window_is_seen() -> None:
    trial = over_tcp(send_buffer_bytes=16_384)
    waits = (BUSY, (LedgerClass.APPLICATION, 60.0))
    tested = pair(side(buffered(30_000), *waits, trial=trial))
    found = found_by(SEND_BUFFER, tested)
    assert found.strength_ns == ns(60.0)
    made = [item for item in SEND_BUFFER.interventions(found, tested) if isinstance(item, Intervention)]
    assert made[0].change.settings == {"tcp_send_buffer": "128KiB"}
    assert SEND_BUFFER.detect(pair(side(buffered(58_000), *waits, trial=trial))) is None
    large = over_tcp(send_buffer_bytes=1 << 26)
    assert SEND_BUFFER.detect(pair(side(buffered(30_000), *waits, trial=large))) is None


def test_a_client_that_may_not_open_more_streams_is_seen() -> None:
    scene = fetching()
    scene.log(40.0, "blocked", name="streams_bidi", value=2.0, vantage="client")
    tested = pair(side(scene, BUSY, (LedgerClass.SERVER_THINK, 60.0)))
    found = found_by(STREAM_IDS, tested)
    assert (found.strength_ns, found.dose) == (ns(60.0), 2)
    made = [item for item in STREAM_IDS.interventions(found, tested) if isinstance(item, Intervention)]
    assert made[0].change.settings == {"server_knobs.max_incoming_streams": 16}
    assert STREAM_IDS.detect(pair(side(None, BUSY, (LedgerClass.SERVER_THINK, 60.0)))) is None


def test_pacing_is_seen_by_its_time_but_not_of_bbr_and_of_tcp_only_where_it_is_on() -> None:
    waits = (BUSY, (LedgerClass.PACING, 60.0))
    assert found_by(PACING_LIMITED, pair(side(None, *waits))).strength_ns == ns(60.0)
    scene = fetching()
    scene.log(20.0, "state", name="bbr_startup")
    assert PACING_LIMITED.detect(pair(side(scene, *waits))) is None
    assert PACING_LIMITED.detect(pair(side(fetching(flow=TCP), *waits, trial=over_tcp()))) is None
    assert PACING_LIMITED.detect(pair(side(fetching(flow=TCP), *waits, trial=over_tcp(pacing=True)))) is not None


def acknowledged(every: int, lost: int = 0) -> Scene:
    scene = fetching(40)
    for number in range(0, 40, every):
        scene.acknowledge(31.0 + number)
    for number in range(lost):
        scene.drop(80.0 + number, 60, direction="up")
    return scene


def test_few_and_lost_acknowledgements_are_seen() -> None:
    waits = (BUSY, (LedgerClass.CONGESTION_WINDOW, 60.0))
    few = pair(side(acknowledged(20), *waits), side(acknowledged(2)))
    found = found_by(ACK_STARVATION, few)
    assert found.dose is not None and found.dose > 10
    made = [item for item in ACK_STARVATION.interventions(found, few) if isinstance(item, Intervention)]
    assert made[0].change.settings["client_knobs.ack_threshold"] == 1
    lossy = pair(side(acknowledged(2, lost=8), *waits), side(acknowledged(2)))
    assert "28 %" in found_by(ACK_STARVATION, lossy).signs[0].evidence[0].text
    assert ACK_STARVATION.detect(pair(side(acknowledged(2), *waits), side(acknowledged(2)))) is None


def test_a_round_trip_time_is_overestimated_against_the_wire() -> None:
    waits = (BUSY, (LedgerClass.TIMER, 60.0))
    for estimate_ms, seen in ((80.0, True), (22.0, False)):
        scene = fetching(10)
        for number in range(10):
            scene.log(40.0 + number, "metrics", srtt_ns=ns(estimate_ms), cwnd_bytes=50_000)
        sign = RTT_OVERESTIMATED.detect(pair(side(scene, *waits)))
        assert (sign is not None) is seen
