"""What traces show of a controller against what was declared, on made-up windows."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from syrupy.assertion import SnapshotAssertion

from longlook.analysis.trace_checks import contradictions
from longlook.core.model import Endpoint, Flow, Trial
from longlook.timeline.events import Events
from longlook.timeline.timeline import SCHEMA, Timeline
from tests.data.events import events_of, row
from tests.data.trials import TRIAL

MS = 1_000_000
FLOW = "udp 10.8.0.1:40000 10.8.0.2:443"
PACKET = 1250
LOSSES = 8


def dropping(times_ns: Sequence[int]) -> Timeline:
    """A timeline whose link drops a packet to the client at each of those times."""
    column = {name: pa.nulls(len(times_ns), field.type) for name, field in zip(SCHEMA.names, SCHEMA, strict=True)}
    same = {"vantage": "link", "kind": "packet_dropped", "direction": "down", "priming": False}
    for name, value in same.items():
        column[name] = pa.array([value] * len(times_ns), SCHEMA.field(name).type)
    column["time_ns"] = column["arrival_ns"] = pa.array(times_ns, pa.int64())
    return Timeline(pa.table(column, schema=SCHEMA))


TIMELINE = dropping([(number + 1) * 1000 * MS - 60 * MS for number in range(LOSSES)])


def sawtooth(
    share: float,
    losses: int = LOSSES,
    *,
    flow: str = FLOW,
    state: str = "recovery",
    first: int = 32,
    lasting_ms: int = 50,
) -> Events:
    """A window of 100 packets that each loss leaves a share of; the first, which ends slow start, halves it."""
    metrics = {"flow": flow, "srtt_ns": 40 * MS}
    rows: list[dict[str, Any]] = [row(0, "packet_sent", flow=flow, size_bytes=PACKET)]
    rows.append(row(1, "metrics", cwnd_bytes=first * PACKET, **metrics))
    for number in range(losses):
        begin = (number + 1) * 1000 * MS
        left = 0.5 if number == 0 else share
        rows.append(row(begin - MS, "metrics", cwnd_bytes=100 * PACKET, **metrics))
        rows.append(row(begin, "state", flow=flow, name=state))
        rows.append(row(begin + 5 * MS, "metrics", cwnd_bytes=round(left * 100 * PACKET), **metrics))
        rows.append(row(begin + lasting_ms * MS, "state", flow=flow, name="congestion_avoidance"))
    return events_of(*rows)


def trial_with(stack: str = "quiche", **knobs: Any) -> Trial:
    return replace(TRIAL, server=Endpoint(stack, "0.28.0", knobs))


@pytest.mark.parametrize(
    ("knobs", "share"),
    [
        ({"congestion_control": "cubic"}, 0.7),
        ({"congestion_control": "reno"}, 0.5),
        ({}, 0.3),  # nothing was declared
        ({"congestion_control": "bbr2"}, 0.98),
    ],
)
def test_what_does_as_declared_is_not_contradicted(knobs: dict[str, Any], share: float) -> None:
    assert contradictions(trial_with(**knobs), TIMELINE, sawtooth(share)) == []


def test_another_cut_than_declared_is_reported_with_numbers(snapshot: SnapshotAssertion) -> None:
    found = contradictions(trial_with(congestion_control="reno"), TIMELINE, sawtooth(0.7))
    assert found == snapshot


def test_recoveries_without_a_drop_tell_nothing() -> None:
    trial = trial_with(congestion_control="reno")
    assert contradictions(trial, dropping([]), sawtooth(0.7)) == []
    late = dropping([(number + 1) * 1000 * MS + 1 for number in range(LOSSES)])
    assert contradictions(trial, late, sawtooth(0.7)) == []


def test_a_recovery_that_is_called_off_tells_nothing() -> None:
    trial = trial_with(congestion_control="cubic")
    assert contradictions(trial, TIMELINE, sawtooth(0.99)) != []
    assert contradictions(trial, TIMELINE, sawtooth(0.99, lasting_ms=10)) == []


def test_few_losses_tell_nothing() -> None:
    assert contradictions(trial_with(congestion_control="reno"), TIMELINE, sawtooth(0.7, losses=5)) == []


def test_a_stack_may_declare_its_own_cut_and_act_for_several() -> None:
    knobs = {"congestion_control": "reno"}
    trial = replace(TRIAL, server=Endpoint("quic-go", "0.65.0+knobs", knobs))
    assert contradictions(trial, TIMELINE, sawtooth(0.7)) == []
    four = {"congestion_control": "cubic", "emulated_connections": 4}
    trial = replace(TRIAL, server=Endpoint("quic-go", "0.65.0+knobs", four))
    assert contradictions(trial, TIMELINE, sawtooth(0.92)) == []
    assert contradictions(trial, TIMELINE, sawtooth(0.7)) != []


def test_a_trial_may_set_what_a_loss_leaves() -> None:
    quic = trial_with("quinn", congestion_control="reno", window_after_loss=0.9)
    assert contradictions(quic, TIMELINE, sawtooth(0.9)) == []
    assert "leaves ×0.90" in contradictions(quic, TIMELINE, sawtooth(0.5))[0]
    tcp = replace(TRIAL, protocol="h2", congestion_control="cubic", tcp={"window_after_loss": 0.9})
    assert contradictions(tcp, TIMELINE, sawtooth(0.9)) == []
    assert contradictions(replace(tcp, tcp={}), TIMELINE, sawtooth(0.9)) != []


def test_bounds_of_the_window_explain_what_they_change() -> None:
    held = trial_with("quinn", congestion_control="cubic", min_window=10_000)
    assert contradictions(held, TIMELINE, sawtooth(0.99)) == []
    capped = trial_with("quinn", initial_window=500, max_window=32)
    assert contradictions(capped, TIMELINE, sawtooth(0.7, first=32)) == []


def test_states_of_bbr_contradict_a_controller_that_has_none(snapshot: SnapshotAssertion) -> None:
    found = contradictions(trial_with(congestion_control="cubic"), TIMELINE, sawtooth(0.7, state="bbr_drain"))
    assert found == snapshot
    tcp = replace(TRIAL, protocol="h2", congestion_control="bbr")
    assert contradictions(tcp, TIMELINE, sawtooth(0.7)) == snapshot


def test_another_initial_window_is_reported(snapshot: SnapshotAssertion) -> None:
    assert contradictions(trial_with(initial_window=32), TIMELINE, sawtooth(0.7)) == []
    found = contradictions(trial_with(initial_window=10), TIMELINE, sawtooth(0.7))
    assert found == snapshot


def test_of_a_client_that_chooses_each_protocol_has_its_own_declaration() -> None:
    trial = trial_with(congestion_control="cubic", initial_window=32)
    trial = replace(trial, protocol="h3-or-h2", congestion_control="reno")
    kernel = FLOW.replace("udp", "tcp")
    assert not contradictions(trial, TIMELINE, sawtooth(0.7))
    assert not contradictions(trial, TIMELINE, sawtooth(0.5, flow=kernel, first=10))
    (quic,) = contradictions(trial, TIMELINE, sawtooth(0.5))
    (tcp,) = contradictions(trial, TIMELINE, sawtooth(0.7, flow=kernel, first=10))
    assert "declared cubic" in quic and "declared reno" in tcp


def test_of_several_flows_the_one_is_named(snapshot: SnapshotAssertion) -> None:
    server = Endpoint("quiche", "0.28.0", {"congestion_control": "reno"})
    flows = [
        Flow(name, name, False, address_slot, 0.0, None, "h3", TRIAL.connection, None, None, server, TRIAL.client)
        for address_slot, name in enumerate(("first", "second"))
    ]
    facts = [{"name": flow.name, "server_address": f"10.8.0.{2 * flow.address_slot + 2}"} for flow in flows]
    timeline = TIMELINE.with_metadata({"competition": {"flows": facts}})
    events = sawtooth(0.7, flow="udp 10.8.0.3:40000 10.8.0.4:443")
    found = contradictions(replace(TRIAL, flows=tuple(flows)), timeline, events)
    assert found == snapshot
