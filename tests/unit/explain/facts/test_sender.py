"""What a sender logged, as arrays: figures that hold until the next, and marks; None for what the log lacks."""

import numpy as np

from longlook.core.model import Vantage
from longlook.explain.facts import UNNUMBERED, SenderFacts
from longlook.timeline.timeline import Timeline
from tests.data.events import events_of, row
from tests.data.scenes import QUIC, TCP, Scene, ns


def logged(scene: Scene) -> tuple[SenderFacts, ...]:
    return SenderFacts.all_of(scene.timeline(), Vantage.SERVER)


def test_a_figure_holds_until_the_next_and_nothing_is_known_before_the_first() -> None:
    scene = Scene()
    scene.log(1.0, "metrics", cwnd_bytes=100)
    scene.log(2.0, "metrics", in_flight_bytes=7)
    scene.log(3.0, "metrics", cwnd_bytes=200)
    (sender,) = logged(scene)
    assert sender.window is not None
    times = np.array([ns(0.5), ns(1.0), ns(2.9), ns(3.0), ns(9.0)])
    assert sender.window.at(times, -1).tolist() == [-1, 100, 100, 200, 200]
    assert sender.in_flight is not None
    assert sender.in_flight.value.tolist() == [7]
    assert sender.pacing is None
    assert (sender.flow, sender.source, sender.vantage) == (QUIC, "qlog", Vantage.SERVER)


def test_states_know_whether_they_were_logged_or_derived() -> None:
    scene = Scene()
    scene.log(1.0, "state", name="init", source="derived")
    scene.log(2.0, "state", name="slow_start")
    (sender,) = logged(scene)
    assert sender.state is not None
    assert sender.state_logged is not None
    assert [sender.states[code] for code in sender.state.value] == ["init", "slow_start"]
    assert sender.state_logged.value.tolist() == [0, 1]


def test_marks_have_names_numbers_sizes_and_values_where_the_log_does() -> None:
    scene = Scene()
    scene.log(1.0, "packet_lost", packet_number=4, size_bytes=1200, name="time_threshold")
    scene.log(2.0, "packet_lost", value=3.0)
    (sender,) = logged(scene)
    assert sender.lost.named("time_threshold").tolist() == [True, False]
    assert sender.lost.packet_number.tolist() == [4, UNNUMBERED]
    assert sender.lost.size_bytes.tolist() == [1200, 0]
    assert np.isnan(sender.lost.value[0])
    assert sender.lost.value[1] == 3.0
    assert len(sender.blocked.time_ns) == 0


def test_the_kernels_mark_of_its_last_sample_is_no_application_limit() -> None:
    for flow, expected in ((QUIC, [1, 0]), (TCP, None)):
        scene = Scene(flow=flow)
        scene.log(1.0, "app_limited", value=1.0)
        scene.log(2.0, "app_limited", value=0.0)
        (sender,) = logged(scene)
        assert (None if sender.app_limited is None else sender.app_limited.value.tolist()) == expected


def test_each_connection_has_facts_of_its_own_and_priming_ones_have_none() -> None:
    events = events_of(
        row(1, "metrics", flow=TCP, source="tcp", cwnd_bytes=1),
        row(2, "metrics", flow=QUIC, cwnd_bytes=2),
        row(3, "metrics", flow="udp p b", cwnd_bytes=3, priming=True),
        row(4, "metrics", flow="udp c d", vantage="client", cwnd_bytes=4),
    )
    timeline = Timeline(Scene().timeline().table, events)
    found = SenderFacts.all_of(timeline, Vantage.SERVER)
    assert [(each.flow, each.source) for each in found] == [(TCP, "tcp"), (QUIC, "qlog")]
    assert SenderFacts.all_of(timeline, Vantage.SERVER) is found


def test_without_traces_there_are_none() -> None:
    assert logged(Scene()) == ()
