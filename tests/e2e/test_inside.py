"""From a run with traces to its states, its pages, its machines and its exports, with real programs in virtual time."""

import json
from pathlib import Path

import pandas as pd
import pytest

from longlook.core.model import Trial
from longlook.core.run_folder import EVENTS, STATES, RunFolder
from longlook.timeline.decode import decode_trace
from longlook.timeline.events import EVENT_SCHEMA, Events
from longlook.timeline.states import State
from tests.support.command_line import call_longlook, longlook

pytestmark = [pytest.mark.lab, pytest.mark.slow, pytest.mark.timeout(600)]

STUDY = Path(__file__).parents[1] / "data" / "inside.toml"
SIZE_BYTES = 1_000_000
UNDER_LOSS = {State.RECOVERY, State.CONGESTION_AVOIDANCE}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    out = tmp_path_factory.mktemp("inside") / "run"
    answer = longlook("run", str(STUDY), "--no-cache", "--out", str(out))
    assert answer.returncode == 0, answer.stderr
    return RunFolder.open(out)


def trial_of(run: RunFolder, arm: str) -> Trial:
    return next(trial for trial in run.plan.trials if trial.arm == arm)


@pytest.mark.parametrize(("arm", "source", "transport"), [("tcp", "tcp", "tcp"), ("quic", "qlog", "udp")])
def test_both_ends_of_both_arms_have_events_with_states(run: RunFolder, arm: str, source: str, transport: str) -> None:
    trial = trial_of(run, arm)
    events = Events.read(run.trials / trial.id / EVENTS)
    for vantage in ("client", "server"):
        states = events.select("state", vantage).to_pandas()
        assert {source} <= set(states["source"]) <= {source, "derived"}
        assert states["flow"].str.startswith(transport).all()
        assert states["time_ns"].is_monotonic_increasing
    assert {str(state) for state in UNDER_LOSS} <= set(events.select("state", "server").to_pandas()["name"])
    acked = events.select("packet_acked", "server").to_pandas()
    assert acked["acked_bytes"].max() >= SIZE_BYTES
    assert events.select("packet_lost", "server").num_rows > 0
    assert all("error" not in entry for entry in events.metadata["sources"].values())


def test_a_kernel_that_has_lost_is_not_in_slow_start_at_its_threshold(run: RunFolder) -> None:
    events = Events.read(run.trials / trial_of(run, "tcp").id / EVENTS)
    states = events.select("state", "server").to_pandas()
    own = events.select("congestion_state", "server").to_pandas()
    opened = own[(own["detail"] == "Open") & (own["name"] == "congestion_avoidance")]
    assert len(opened)
    for time_ns in opened["time_ns"]:
        assert states[states["time_ns"] <= time_ns]["name"].iloc[-1] != "slow_start"


def test_times_in_states_fill_each_connection(run: RunFolder) -> None:
    states = pd.read_parquet(run.path / STATES)
    assert set(states["trial_id"]) == {trial.id for trial in run.plan.trials}
    shares = states.groupby(["trial_id", "vantage", "flow"])["share"].sum()
    assert len(shares) == 2 * len(run.plan.trials)
    assert shares.to_numpy() == pytest.approx(1.0)


def test_the_page_of_the_cell_shows_both_arms(run: RunFolder) -> None:
    answer = call_longlook("report", str(run.path), "--inside", "all")
    assert answer.returncode == 0, answer.stderr
    (page,) = (run.path / "report" / "inside").glob("*.html")
    text = page.read_text()
    assert "kernel TCP" in text and "quic-go" in text


def test_each_arm_has_a_machine(run: RunFolder, tmp_path: Path) -> None:
    answer = call_longlook("infer", str(run.path), "--out", str(tmp_path), "--format", "json")
    assert answer.returncode == 0, answer.stderr
    machines = {path.stem: json.loads(path.read_text()) for path in tmp_path.glob("*.json")}
    assert set(machines) == {"run-tcp", "run-quic"}
    for machine in machines.values():
        assert "recovery" in json.dumps(machine)


def test_the_kernels_record_as_qlog_decodes_to_the_same_rows(run: RunFolder, tmp_path: Path) -> None:
    trace = run.trials / trial_of(run, "tcp").id / "tcp" / "server.tcptrace"
    out = tmp_path / "server.sqlog"
    answer = call_longlook("trace", "convert", str(trace), "--to", "qlog", "--out", str(out))
    assert answer.returncode == 0, answer.stderr
    own, _ = decode_trace(trace, "server")
    read, account = decode_trace(out, None)
    assert (account["vantage"], account["skipped"], account["ignored"]) == ("server", {}, {})
    assert own.num_rows > 100
    assert read.select(EVENT_SCHEMA.names).to_pylist() == own.select(EVENT_SCHEMA.names).to_pylist()
