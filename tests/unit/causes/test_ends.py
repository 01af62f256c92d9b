"""Causes in what servers and clients do."""

from dataclasses import replace
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from longlook.causes.early_data import LATE_FALLBACK
from longlook.causes.idle_ends import APPLICATION_LIMITED, CLIENT_IDLE, ENDPOINT_CPU, SERVER_THINK
from longlook.causes.loss_response import MULTIPLE_REDUCTIONS
from longlook.causes.pacing import MODEL_ERROR
from longlook.causes.path import SMALL_PAYLOAD
from longlook.causes.receivers import SLOW_READER
from longlook.causes.slow_start import IDLE_RESTART
from longlook.causes.windows import WINDOW_PINNED
from longlook.core.model import Endpoint, Processor
from longlook.explain import changes
from longlook.explain.cause import Cause, Intervention, Surgery, Touches, Untestable
from longlook.explain.ledger import LedgerClass
from longlook.explain.pair import Side
from tests.data.scenes import PACKET_BYTES, TCP, Scene, ns
from tests.data.sides import ENDPOINT, USEFUL, fetching, found_by, pair, side

BUSY = (USEFUL, 100.0)
WAITS = (LedgerClass.CONGESTION_WINDOW, 300.0)
BY_CLASS = [
    (SERVER_THINK, LedgerClass.SERVER_THINK),
    (APPLICATION_LIMITED, LedgerClass.APPLICATION),
    (CLIENT_IDLE, LedgerClass.CLIENT_IDLE),
    (ENDPOINT_CPU, LedgerClass.CPU),
    (LATE_FALLBACK, LedgerClass.FALLBACK),
]


@pytest.mark.parametrize(("cause", "name"), BY_CLASS)
def test_time_that_the_ledger_names_is_the_excess_over_the_winner(cause: Cause, name: LedgerClass) -> None:
    tested = pair(side(None, BUSY, (name, 60.0)), side(None, BUSY, (name, 20.0)))
    assert found_by(cause, tested).strength_ns == ns(40.0)
    shared = side(None, BUSY, (name, 60.0))
    assert cause.detect(pair(shared, shared)) is None


def test_the_winners_program_is_the_cure_where_the_programs_differ() -> None:
    waits = (BUSY, (LedgerClass.SERVER_THINK, 60.0))
    other = replace(Scene().trial, server=Endpoint("quiche", "0.28.0"), client=ENDPOINT)
    tested = pair(side(None, *waits), side(None, BUSY, trial=other))
    cure, transplant = SERVER_THINK.interventions(found_by(SERVER_THINK, tested), tested)
    assert isinstance(cure, Intervention) and isinstance(transplant, Intervention)
    assert cure.change.settings == {"server": "quiche@0.28.0"}
    assert transplant.change.surgery[0].down == f"hold 0 {ns(60.0)}ns"
    same = pair(side(None, *waits))
    assert isinstance(SERVER_THINK.interventions(found_by(SERVER_THINK, same), same)[0], Untestable)


def test_a_late_fallback_is_cured_by_trying_tcp_sooner_where_the_client_can() -> None:
    tested = pair(side(None, BUSY, (LedgerClass.FALLBACK, 250.0)))
    at_once, early = LATE_FALLBACK.interventions(found_by(LATE_FALLBACK, tested), tested)
    assert isinstance(at_once, Intervention) and isinstance(early, Intervention)
    assert at_once.change.settings == {"client_knobs.fallback_delay": 0.0}
    assert early.change.settings == {"client_knobs.stall_timeout": 0.2}
    curl = replace(tested.loser.trial, client=Endpoint("pycurl", "7.49.0"))
    other = pair(side(None, BUSY, (LedgerClass.FALLBACK, 250.0), trial=curl))
    for made in LATE_FALLBACK.interventions(found_by(LATE_FALLBACK, other), other):
        assert isinstance(made, Untestable) and "it is a knob of quic-go" in made.reason


def read_late(by_ms: float) -> Scene:
    scene = Scene()
    scene.up(0.0)
    arrived = [scene.down(20.0 + number) for number in range(5)]
    scene.fetched(0.0, arrived[0], arrived[-1] + by_ms)
    return scene


def test_a_client_that_reads_late_is_seen() -> None:
    tested = pair(side(read_late(30.0), BUSY, (LedgerClass.CLIENT_IDLE, 30.0)), side(read_late(0.0)))
    assert found_by(SLOW_READER, tested).strength_ns == ns(30.0)
    assert SLOW_READER.detect(pair(side(read_late(0.5)), side(read_late(0.0)))) is None
    slow = replace(tested.loser.trial, client_cpu_share=0.05)
    limited = pair(side(read_late(30.0), BUSY, (LedgerClass.CLIENT_IDLE, 30.0), trial=slow), side(read_late(0.0)))
    made = SLOW_READER.interventions(found_by(SLOW_READER, limited), limited)
    assert [item.change.settings["client_cpu"] for item in made if isinstance(item, Intervention)] == [
        *("off", "5%", "25%", "50%", "100%")
    ]


def credit_given(after_ms: float, **settings: Any) -> Side:
    """A server that has sent all that it may at 30 ms; the client gives credit so long after the last packet came."""
    scene = Scene(**settings)
    scene.up(0.0)
    came = [scene.down(20.0 + number) for number in range(10)]
    scene.acknowledge(came[-1])
    given = scene.up(came[-1] + after_ms)
    done = scene.down(given)
    scene.fetched(0.0, came[0], done)
    waits = (LedgerClass.STREAM_CREDIT, given - 30.0)
    return side(scene, (USEFUL, 30.0), waits, (USEFUL, 1.0), (LedgerClass.PROPAGATION, 10.0))


def test_credit_that_comes_long_after_the_data_is_given_by_a_slow_reader(snapshot: SnapshotAssertion) -> None:
    tested = pair(credit_given(200.0), credit_given(0.0))
    found = found_by(SLOW_READER, tested)
    assert found.dose == pytest.approx(200.0)
    assert found.strength_ns == ns(200.0)
    assert found.signs[0].evidence[0].text == snapshot
    at_once = [item for item in SLOW_READER.interventions(found, tested) if isinstance(item, Untestable)]
    assert at_once[0].reason == snapshot


def test_a_small_window_that_is_opened_as_data_arrives_is_no_slow_reader() -> None:
    assert SLOW_READER.detect(pair(credit_given(0.5), credit_given(0.0))) is None
    assert SLOW_READER.detect(pair(credit_given(200.0), credit_given(200.0))) is None


def test_the_winners_client_or_a_hold_stand_in_for_a_client_that_reads_late() -> None:
    slow, fast = credit_given(200.0), credit_given(0.0)
    other = replace(fast, trial=replace(fast.trial, client=Endpoint("quinn", "0.11.12")))
    tested = pair(slow, other)
    made = SLOW_READER.interventions(found_by(SLOW_READER, tested), tested)
    program, held = [item for item in made if isinstance(item, Intervention)]
    assert (program.touches, program.change.settings) == (Touches.PROGRAM, {"client": "quinn@0.11.12"})
    assert (held.touches, held.change.surgery) == (Touches.OCCASION, {0: Surgery(down="hold 10-10 200000000ns")})


def test_a_clients_own_processor_is_taken_away_weakened_and_given_to_the_winner() -> None:
    slow = replace(side(read_late(30.0)).trial, processors={"client": Processor(packet_ns=1_000_000, byte_ps=1)})
    tested = pair(side(read_late(30.0), BUSY, (LedgerClass.CLIENT_IDLE, 30.0), trial=slow), side(read_late(0.0)))
    made = SLOW_READER.interventions(found_by(SLOW_READER, tested), tested)
    assert [item.change.settings["client_processor"] for item in made if isinstance(item, Intervention)] == [
        *("off", "packet 1ms, kilobyte 1ns", "packet 250us", "packet 500us", "packet 1ms, kilobyte 1ns")
    ]
    assert changes.freed(slow, "server") == []
    for cause in (CLIENT_IDLE, ENDPOINT_CPU):
        settings = [
            item.change.settings
            for item in cause.interventions(found_by(SLOW_READER, tested), tested)
            if isinstance(item, Intervention)
        ]
        assert {"client_processor": "off"} in settings


def test_smaller_packets_than_the_winners_are_seen_and_made_as_large() -> None:
    def sized(size: int) -> Scene:
        scene = Scene()
        scene.up(0.0)
        arrived = [scene.down(20.0 + 2 * number, size) for number in range(5)]
        scene.fetched(0.0, arrived[0], arrived[-1])
        return scene

    overhead = (LedgerClass.LINK_OVERHEAD, 10.0)
    tested = pair(side(sized(1228), BUSY, overhead), side(sized(1428)))
    made = SMALL_PAYLOAD.interventions(found_by(SMALL_PAYLOAD, tested), tested)
    settings = [item.change.settings for item in made if isinstance(item, Intervention)]
    assert settings[0]["server_knobs.initial_packet_size"] == 1400
    assert settings[1]["server_knobs.initial_packet_size"] == 1200
    assert SMALL_PAYLOAD.detect(pair(side(sized(1428), BUSY, overhead), side(sized(1428)))) is None


def windows(*steps: tuple[float, int], flow: str | None = None) -> Scene:
    scene = fetching(10) if flow is None else fetching(10, flow=flow)
    for at_ms, window in steps:
        scene.log(at_ms, "metrics", cwnd_bytes=window)
    return scene


def test_a_window_at_its_minimum_for_ten_round_trips_without_a_loss_is_pinned() -> None:
    scene = windows((20.0, 30_000), (100.0, 2 * PACKET_BYTES))
    for number in range(20):
        scene.log(110.0 + 10 * number, "packet_acked", packet_number=number)
    assert found_by(WINDOW_PINNED, pair(side(scene, BUSY, WAITS))).strength_ns == ns(300.0)
    scene.log(200.0, "packet_lost", packet_number=5)
    assert WINDOW_PINNED.detect(pair(side(scene, BUSY, WAITS))) is None


def test_a_second_cut_within_a_round_trip_is_seen_of_quic_alone() -> None:
    steps = ((20.0, 40_000), (50.0, 28_000), (55.0, 19_600))
    found = found_by(MULTIPLE_REDUCTIONS, pair(side(windows(*steps), BUSY, WAITS)))
    assert found.dose == 1
    apart = ((20.0, 40_000), (50.0, 28_000), (90.0, 19_600))
    assert MULTIPLE_REDUCTIONS.detect(pair(side(windows(*apart), BUSY, WAITS))) is None
    assert MULTIPLE_REDUCTIONS.detect(pair(side(windows(*steps, flow=TCP), BUSY, WAITS))) is None


def test_a_window_that_is_smaller_after_a_pause_is_an_idle_restart_unless_something_was_lost() -> None:
    scene = windows((20.0, 40_000), (200.0, 14_600))
    scene.down(200.0)
    found = found_by(IDLE_RESTART, pair(side(scene, BUSY, WAITS)))
    assert found.dose == 1
    scene.log(150.0, "pto", value=1.0)
    assert IDLE_RESTART.detect(pair(side(scene, BUSY, WAITS))) is None


def test_bbr_below_the_paths_rate_has_a_wrong_model() -> None:
    def paced(rate_bps: int, state: str) -> Scene:
        scene = fetching()
        scene.log(20.0, "state", name="bbr_startup" if state.startswith("bbr") else "slow_start")
        scene.log(40.0, "state", name=state)
        scene.log(50.0, "metrics", pacing_bps=rate_bps, cwnd_bytes=50_000)
        return scene

    assert found_by(MODEL_ERROR, pair(side(paced(5_000_000, "bbr_probe_bandwidth"), BUSY, WAITS))).dose == 0.5
    assert MODEL_ERROR.detect(pair(side(paced(9_800_000, "bbr_probe_bandwidth"), BUSY, WAITS))) is None
    assert MODEL_ERROR.detect(pair(side(paced(5_000_000, "recovery"), BUSY, WAITS))) is None


def test_an_answer_that_waits_for_the_client_is_no_slow_server() -> None:
    waits = (BUSY, (LedgerClass.SERVER_THINK, 60.0))
    scene = fetching()
    scene.up(149.5)  # reaches the server 0.5 ms before the answer begins: a request, or credit
    assert SERVER_THINK.detect(pair(side(scene, *waits))) is None
    scene = fetching()
    scene.up(120.0)
    assert found_by(SERVER_THINK, pair(side(scene, *waits))).strength_ns == ns(60.0)
