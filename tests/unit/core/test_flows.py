"""A trial's flows are a list for all who read them: of a trial without `flows` the list has one flow."""

from dataclasses import replace
from pathlib import Path

from longlook.core.flows import endpoints_of, flow_folder, program_role
from longlook.core.model import ConnectionState, Endpoint, Flow
from tests.data.trials import TRIAL

FOLDER = Path("trials/ID")
QUIC_GO = Endpoint("quic-go", "0", {})


def test_a_trial_without_flows_is_one_flow_that_does_not_compete() -> None:
    (only,) = TRIAL.each_flow()
    assert (only.competes, only.server, only.client, only.protocol) == (False, TRIAL.server, TRIAL.client, "h3")
    assert TRIAL.with_only(only) == TRIAL
    assert endpoints_of(TRIAL) == [TRIAL.server, TRIAL.client]
    assert (program_role(only, "server"), program_role(only, "client")) == ("server", "client")
    assert flow_folder(FOLDER, only) == FOLDER


def test_a_flow_that_competes_has_programs_and_a_folder_of_its_own() -> None:
    flow = Flow("tcp", "tcp", False, 0, 0.0, None, "h2", ConnectionState.COLD, "cubic", None, QUIC_GO, TRIAL.client)
    trial = replace(TRIAL, flows=(flow, replace(flow, name="tcp-2")))
    assert [each.name for each in trial.each_flow()] == ["tcp", "tcp-2"]
    assert program_role(flow, "server") == "quic-go@0"
    assert flow_folder(FOLDER, flow) == FOLDER / "flows" / "tcp"
    view = trial.with_only(flow)
    assert (view.protocol, view.congestion_control, view.server, view.competes) == ("h2", "cubic", QUIC_GO, False)
