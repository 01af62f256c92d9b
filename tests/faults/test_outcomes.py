"""Programs that misbehave: each gives the outcome it should, with a reason, and leaves nothing behind."""

import json
from pathlib import Path

import pytest

from longlook.core.model import ConnectionState, Outcome
from longlook.engines.live import LiveEngine
from tests.faults.harness import Home
from tests.support.processes import command_line

pytestmark = [pytest.mark.lab, pytest.mark.realtime]

SERVER_FAULTS = [
    ("dies_at_start", Outcome.FAILED, "made to die at its start"),
    ("port_in_use", Outcome.FAILED, "Address already in use"),
    ("dies_in_the_middle", Outcome.FAILED, "signal 11"),
    ("never_ready", Outcome.TIMED_OUT, "server hung"),
    ("hangs", Outcome.TIMED_OUT, "0 of 2 objects"),
    ("wrong_body", Outcome.FAILED, "wrong body"),
    ("short_body", Outcome.FAILED, "wrong body"),
    ("unsupported", Outcome.UNSUPPORTED, "rogue does not do this"),
    ("resumes", Outcome.INVALID, "declared cold"),
    ("other_congestion_control", Outcome.FAILED, "the server ended"),
]

CLIENT_FAULTS = [
    ("needs_jitter", Outcome.OK, ""),  # it aborts in virtual time
    ("hangs", Outcome.TIMED_OUT, "client hung"),
    ("unsupported", Outcome.UNSUPPORTED, "rogue does not do this"),
    ("prints_junk", Outcome.FAILED, "Segmentation fault (only joking)"),
    ("crashes", Outcome.FAILED, "signal 6"),
    ("skips_an_object", Outcome.FAILED, "never reported"),
    ("wrong_protocol", Outcome.FAILED, "http/1.1, not h2"),
    ("two_connections", Outcome.FAILED, "2 connections"),
]


def test_without_a_fault_the_trial_is_ok_and_its_folder_complete(home: Home, engine: LiveEngine) -> None:
    job = home.job()
    run = engine.run(job)
    assert (run.outcome, run.reason) == (Outcome.OK, None)
    files = {path.name for path in Path(job.folder).iterdir()}
    logs = {f"{role}.{kind}" for role in ("client", "server", "link") for kind in ("jsonl", "stderr")}
    assert files == logs | {"client.json", "link.bin", "link.json", "run.json", "trial.json"}
    assert set(run.artefacts) == files - {"run.json"}
    assert json.loads((Path(job.folder) / "run.json").read_text())["outcome"] == "ok"
    for direction in ("up", "down"):
        counters = run.link[direction]
        dropped = sum(value for name, value in counters.items() if name.startswith("dropped_"))
        assert counters["arrived"] == counters["delivered"] + counters["queued"] + dropped > 0
    assert all(run.cpu_s[role] > 0 for role in ("client", "server", "link"))


@pytest.mark.parametrize(("fault", "outcome", "reason"), SERVER_FAULTS, ids=[fault[0] for fault in SERVER_FAULTS])
def test_server_fault(home: Home, engine: LiveEngine, fault: str, outcome: Outcome, reason: str) -> None:
    run = engine.run(home.job(server={"fault": fault}, timeout_s=2.0 if fault == "hangs" else 20.0))
    assert run.outcome is outcome
    assert reason in (run.reason or "")
    assert run.hint
    assert engine.run(home.job("next")).outcome is Outcome.OK


@pytest.mark.parametrize(("fault", "outcome", "reason"), CLIENT_FAULTS, ids=[fault[0] for fault in CLIENT_FAULTS])
@pytest.mark.parametrize("stack", ["rogue", "rogue-session"])
def test_client_fault(home: Home, engine: LiveEngine, stack: str, fault: str, outcome: Outcome, reason: str) -> None:
    timeout_s = 1.0 if fault == "hangs" else 20.0
    run = engine.run(home.job(client={"fault": fault}, client_stack=stack, timeout_s=timeout_s))
    assert run.outcome is outcome
    assert reason in (run.reason or "")
    assert engine.run(home.job("next", client_stack=stack)).outcome is Outcome.OK


def test_a_server_that_ignores_sigterm_is_killed(home: Home, engine: LiveEngine) -> None:
    assert engine.run(home.job(server={"fault": "ignores_sigterm"})).outcome is Outcome.OK


@pytest.mark.parametrize("role", ["server", "client"])
def test_daemons_that_a_program_leaves_are_ended_with_its_trial(home: Home, engine: LiveEngine, role: str) -> None:
    assert engine.run(home.job("first")).outcome is Outcome.OK
    idle = set(home.processes())
    assert engine.run(home.job(**{role: {"fault": "leaves_daemon"}})).outcome is Outcome.OK
    assert set(home.processes()) == idle


def test_a_session_client_stays_warm_between_trials(home: Home, engine: LiveEngine) -> None:
    def session() -> list[int]:
        return [pid for pid in home.processes() if command_line(pid).endswith(b"session\0")]

    assert engine.run(home.job("first", client_stack="rogue-session")).outcome is Outcome.OK
    before = session()
    assert len(before) == 1
    second = home.job("second", client_stack="rogue-session")
    run = engine.run(second)
    assert run.outcome is Outcome.OK
    assert session() == before
    assert run.cpu_s["client"] > 0
    events = [json.loads(line)["event"] for line in (Path(second.folder) / "client.jsonl").read_text().splitlines()]
    assert events == ["connection", "object", "object", "done"]


def test_a_declared_resumption_that_did_not_happen_has_failed(home: Home, engine: LiveEngine) -> None:
    run = engine.run(home.job(connection=ConnectionState.RESUMED))
    assert run.outcome is Outcome.FAILED
    assert "declared resumed" in (run.reason or "")


@pytest.mark.parametrize("algorithm", ["reno", "cubic", "bbr"])
def test_the_declared_congestion_control_is_the_kernel_s(home: Home, engine: LiveEngine, algorithm: str) -> None:
    job = home.job(congestion_control=algorithm)
    assert engine.run(job).outcome is Outcome.OK
    assert f'"congestion_control": "{algorithm}"' in (Path(job.folder) / "server.jsonl").read_text()
