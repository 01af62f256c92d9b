"""What measures each setting and knob, and what a run says of those that nothing measured."""

from dataclasses import replace

import pytest
from syrupy.assertion import SnapshotAssertion

from longlook.analysis.effects import BY_TRACES, NOTHING, knob_rows, said, tcp_rows, unmeasured
from longlook.core import registry
from longlook.core.model import Capture, Endpoint, Scalar, Trial
from longlook.lab import judge_knobs, judge_settings
from longlook.study import tcp
from tests.data.trials import TRIAL

STACK = "quic-go"


def of(role: str = "server", *, qlog: bool = False, settings: dict[str, Scalar] | None = None, **own: Scalar) -> Trial:
    """A trial in which one end has these knobs, and the kernel's TCP these settings."""
    end = {role: Endpoint(STACK, "1.0", own)}
    return replace(TRIAL, tcp=settings or {}, capture=Capture(qlog=qlog), **end)


def test_every_knob_and_setting_has_its_row() -> None:
    declared = {name for stack in registry.load("stacks").values() for name in stack.knobs}
    assert [row.split("`")[1] for row in knob_rows()] == sorted(declared)
    assert [row.split("`")[1] for row in tcp_rows()] == ["congestion_control", *tcp.SETTINGS]


def test_nothing_is_said_to_be_measured_that_nobody_declares() -> None:
    declared = {name for stack in registry.load("stacks").values() for name in stack.knobs}
    assert {*judge_knobs.MEASURED, *BY_TRACES} <= declared
    assert set(judge_settings.MEASURED) <= {tcp.parameter(key) for key in tcp.SETTINGS}


@pytest.mark.parametrize("row", [*knob_rows(), *tcp_rows()])
def test_a_row_is_a_row(row: str) -> None:
    assert row.count("|") in (3, 4)
    assert len(row) <= 200
    assert NOTHING in row or len(row.split("|")[2].strip()) > 3


def test_a_knob_that_no_trial_shows_is_said_once_for_an_arm(snapshot: SnapshotAssertion) -> None:
    found = unmeasured([of(pto_factor=4.0), of(pto_factor=4.0), of(ecn=True)])
    assert said(found) == snapshot
    assert said(unmeasured([of(ecn=True)])) == ""


def test_a_role_in_which_nothing_shows_a_knob() -> None:
    both = {"initial_stream_window": 100, "max_stream_window": 100}
    assert not unmeasured([of("client", qlog=True, **both)])
    assert [item.name for item in unmeasured([of("server", qlog=True, **both)])] == ["max_stream_window"]


def test_a_largest_window_below_a_first_one_that_is_not_known() -> None:
    assert [item.name for item in unmeasured([of("client", max_stream_window=100)])] == ["max_stream_window"]


def test_traces_measure_where_they_were_captured() -> None:
    assert [item.name for item in unmeasured([of(congestion_control="cubic")])] == ["congestion_control"]
    assert not unmeasured([of(qlog=True, congestion_control="cubic")])
    assert unmeasured([of("client", qlog=True, congestion_control="cubic")]), "only servers' windows are looked at"


def test_the_kernels_tcp_where_it_is_not_as_usual() -> None:
    shown = {"initial_window_packets": 20, "receive_buffer_bytes": 1 << 20}
    assert not unmeasured([of(settings={**shown, "pacing": False})])
    found = unmeasured([of(settings={**shown, "pacing": True, "rto_min_ms": 50})])
    assert [str(item) for item in found] == ["quic: tcp_pacing = true", "quic: tcp_rto_min = 50"]
    assert said(found).endswith("longlook stacks check quic-go")


def test_behind_a_proxy_the_link_to_the_client_shows_nothing_of_the_server() -> None:
    behind = replace(of(ecn=True), proxy=Endpoint("envoy", "1.40.0", {"upstream_connections": 2}))
    assert {(item.role, item.name) for item in unmeasured([behind])} == {
        ("server", "ecn"),
        ("proxy", "upstream_connections"),
    }
