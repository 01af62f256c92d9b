"""Which settings can be varied for two arms, and in which of them."""

from dataclasses import replace
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from longlook.core.model import Endpoint, Link, Stage
from longlook.core.protocol import EITHER
from longlook.core.stack import Knob
from longlook.explain.cause import Target
from longlook.explain.pair import Pair, Side
from longlook.explain.search.factors import ScreenedFactor, admitted, factors, impossible, joined, within
from tests.data.sides import pair, side

WINDOW = "http2_stream_window"


def arm(stack: str = "quinn", version: str = "0.11.12", **changes: Any) -> Side:
    trial = side().trial
    end = Endpoint(stack, version, changes.pop("server_knobs", {}))
    return side(trial=replace(trial, server=end, client=replace(end, knobs={}), protocol="h3", **changes))


def over_tcp(**tcp: Any) -> Side:
    return side(trial=replace(side().trial, protocol="h2", congestion_control="cubic", tcp=tcp))


def by_setting(tested: Pair) -> dict[str, ScreenedFactor]:
    return {factor.setting: factor for factor in factors(tested)}


def test_where_the_winner_s_value_is_known_the_loser_gets_it_and_the_winner_the_loser_s(
    snapshot: SnapshotAssertion,
) -> None:
    found = by_setting(pair(arm(server_knobs={"max_window": 20}), arm(server_knobs={"max_window": 300})))
    factor = found["server_knobs.max_window"]
    assert (factor.target, factor.role) == (Target.LOSER, "server")
    assert factor.change.settings == {"server_knobs.max_window": 300}
    assert factor.transplant is not None
    assert factor.transplant.settings == {"server_knobs.max_window": 20}
    assert factor.sentence == snapshot


def test_where_it_is_not_both_get_the_same(snapshot: SnapshotAssertion) -> None:
    found = by_setting(pair(arm(server_knobs={"max_window": 20}), arm()))
    factor = found["server_knobs.max_window"]
    assert factor.target is Target.BOTH
    assert factor.change.label == snapshot
    assert factor.transplant is not None
    at_default = found["server_knobs.send_buffer"]
    assert (at_default.target, at_default.transplant) == (Target.BOTH, None)
    assert at_default.sentence == snapshot


def test_what_needs_another_setting_is_left_out_with_the_reason_before_a_trial_runs(
    snapshot: SnapshotAssertion,
) -> None:
    tested = pair(arm(), arm())
    assert "server_knobs.window_after_loss" not in by_setting(tested)
    assert impossible(tested) == snapshot
    reno = {"congestion_control": "reno"}
    able = pair(arm(server_knobs=reno), arm(server_knobs=reno))
    assert by_setting(able)["server_knobs.window_after_loss"].change.settings == {
        "server_knobs.window_after_loss": 0.85
    }
    assert impossible(able) == []


def test_a_level_that_a_program_is_known_to_have_is_none() -> None:
    found = by_setting(pair(arm("quic-go", "0.65.0+knobs"), arm("quic-go", "0.65.0+knobs")))
    assert found["server_knobs.initial_window"].change.settings == {"server_knobs.initial_window": 10}
    assert found["server_knobs.pacing"].change.settings == {"server_knobs.pacing": False}
    assert "server_knobs.max_window" not in found


def test_what_the_winner_cannot_have_is_changed_in_the_loser_alone() -> None:
    found = by_setting(pair(arm(), over_tcp()))
    assert found.pop("server_knobs.max_incoming_streams").target is Target.BOTH  # HTTP/2 has such a limit, too
    assert {factor.target for name, factor in found.items() if "knobs" in name} == {Target.LOSER}


def test_a_setting_of_a_tunable_build_takes_that_build() -> None:
    found = by_setting(pair(arm("quic-go", "0.65.0"), arm("quic-go", "0.65.0")))
    assert found["server_knobs.hystart"].change.settings == {
        "server": "quic-go@0.65.0+knobs",
        "server_knobs.hystart": False,
    }


def test_the_kernel_s_tcp_has_settings_of_its_own_and_those_that_help_already_are_left_out() -> None:
    found = by_setting(pair(over_tcp(receive_buffer_bytes=24576, sack=False), over_tcp()))
    assert found["tcp_receive_buffer"].change.settings == {"tcp_receive_buffer": "64MiB"}
    assert found["tcp_receive_buffer"].target is Target.LOSER
    assert found["tcp_receive_buffer"].transplant is not None
    assert found["tcp_sack"].change.settings == {"tcp_sack": True}
    assert found["tcp_initial_window"].target is Target.BOTH
    assert "tcp_dsack" not in found
    alone = by_setting(pair(over_tcp(), arm()))
    assert alone["tcp_initial_window"].target is Target.LOSER


def test_over_tcp_knobs_of_http_2_are_varied_and_none_of_quic() -> None:
    found = by_setting(pair(over_tcp(), over_tcp()))
    assert {name for name in found if "knobs" in name} == {
        "client_knobs.http2_stream_window",
        "client_knobs.http2_connection_window",
        "server_knobs.max_incoming_streams",
    }
    stream = found["client_knobs.http2_stream_window"]
    assert (stream.target, stream.role) == (Target.BOTH, "client")
    assert stream.change.settings == {"client_knobs.http2_stream_window": 2**31 - 1}
    assert by_setting(pair(over_tcp(), arm()))["client_knobs.http2_stream_window"].target is Target.LOSER
    assert not [name for name in by_setting(pair(arm(), arm())) if "http2" in name]


def test_a_window_of_http_2_that_the_winner_is_set_to_is_the_loser_s_other_level() -> None:
    large = over_tcp()
    large = replace(large, trial=replace(large.trial, client=Endpoint("quic-go", "0.65.0", {WINDOW: 8 << 20})))
    small = replace(large, trial=replace(large.trial, client=Endpoint("quic-go", "0.65.0", {WINDOW: 1 << 20})))
    factor = by_setting(pair(small, large))[f"client_knobs.{WINDOW}"]
    assert (factor.target, factor.change.settings) == (Target.LOSER, {f"client_knobs.{WINDOW}": 8 << 20})
    assert factor.transplant is not None
    assert factor.transplant.settings == {f"client_knobs.{WINDOW}": 1 << 20}


def test_nothing_of_a_program_is_varied_that_chooses_between_quic_and_tcp() -> None:
    either = replace(over_tcp(), trial=replace(over_tcp().trial, protocol=EITHER.name))
    assert not [name for name in by_setting(pair(either, either)) if "knobs" in name]


def test_the_path_has_settings_for_what_stands_in_it() -> None:
    rate = Stage("rate", {"rate_bps": 10**7, "queue_bytes": 10**5})
    lossy = Link((rate,), (Stage("loss", {"probability": 0.01}), rate))
    found = by_setting(pair(arm(link=lossy), arm(link=lossy)))
    assert {name for name in found if name.startswith("network.")} == {"network.loss", "network.queue"}
    assert found["network.loss"].target is Target.BOTH


def test_factors_join_to_one_change(snapshot: SnapshotAssertion) -> None:
    found = by_setting(pair(arm(), arm()))
    change = joined([found["server_knobs.max_window"], found["server_knobs.send_buffer"]])
    assert change.settings == {"server_knobs.max_window": 10_000, "server_knobs.send_buffer": 64 << 20}
    assert change.label == snapshot


@pytest.mark.parametrize(
    ("knob", "value", "taken"),
    [
        (Knob(int, "packets", None, "", minimum=2, maximum=100), 10_000, 100),
        (Knob(float, "ratio", None, "", minimum=1), 0.5, 1.0),
        (Knob(str, None, None, "", choices=("cubic",)), "bbr", None),
        (Knob(bool, None, None, ""), 1, None),
        (Knob(int, None, None, ""), True, None),
    ],
)
def test_a_level_is_within_what_the_knob_declares(knob: Knob, value: Any, taken: Any) -> None:
    assert within(knob, value) == taken


def test_the_first_level_that_the_arm_does_not_have_is_taken() -> None:
    knob = Knob(int, "packets", None, "", maximum=100)
    assert admitted(knob, (32, 10), 32) == 10
    assert admitted(knob, (32, 10), None) == 32
    assert admitted(knob, (200, 100), 100) is None
