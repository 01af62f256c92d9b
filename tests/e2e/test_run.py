"""The whole road with real programs in real time, from arguments to the report; and what becomes of a stopped run."""

import json
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

from longlook.core.run_folder import RunFolder
from longlook.pipeline.sbom import SPEC_VERSION
from tests.conftest import TINY
from tests.support.command_line import LONGLOOK, call_longlook, longlook

pytestmark = [pytest.mark.lab, pytest.mark.realtime, pytest.mark.slow]

LIVE = [str(TINY), "--engine", "live"]  # it measures CPU time, which virtual time has not


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("e2e") / "run"
    # A relative path, as people write it and as the default is.
    answer = longlook("run", *LIVE, "--out", "run", cwd=out.parent)
    assert answer.returncode == 0, answer.stderr
    assert "report: run/report/index.html" in answer.stdout
    return out


def test_everything_the_design_promises_is_there(finished: Path) -> None:
    manifest = json.loads((finished / "manifest.json").read_text())
    assert {"study", "plan_hash", "engine", "programs", "host", "command"} <= manifest.keys()
    samples = pd.read_parquet(finished / "samples.parquet")
    ok = samples[samples.outcome == "ok"]
    assert ok.value.notna().all(), ok[ok.value.isna()]
    # On a busy machine the guard may reject attempts; nothing else may go wrong.
    assert set(samples.outcome) <= {"ok", "invalid"}, samples[samples.outcome != "ok"].reason.unique()
    assert samples.trial_id.nunique() == 12
    assert not ok.empty
    estimates = pd.read_parquet(finished / "estimates.parquet")
    assert len(estimates) == 2
    assert set(estimates.verdict) == {"inconclusive"}  # three rounds decide nothing
    for trial in RunFolder.open(finished).plan.trials:
        names = {file.name for file in (finished / "trials" / trial.id).iterdir()}
        assert {"trial.json", "run.json", "client.jsonl", "server.jsonl", "link.bin", "timeline.parquet"} <= names


def test_the_run_says_what_its_programs_are_made_of(finished: Path, tmp_path: Path) -> None:
    answer = longlook("sbom", str(finished), "--out", str(tmp_path / "run.cdx.json"))
    assert answer.returncode == 0, answer.stderr
    text = (tmp_path / "run.cdx.json").read_text()
    assert JsonStrictValidator(SchemaVersion.from_version(SPEC_VERSION)).validate_str(text) is None
    digests = {each["content"] for part in json.loads(text)["components"] for each in part.get("hashes", ())}
    assert set(RunFolder.open(finished).manifest["programs"].values()) <= digests


def test_times_obey_the_link(finished: Path) -> None:
    samples = pd.read_parquet(finished / "samples.parquet")
    loads = samples[(samples.metric == "page_load_time") & (samples.outcome == "ok")]
    # A cold load is a handshake, the page and its image: 3 round trips of 36 ms over QUIC, 4 over TCP, at the least.
    assert loads[loads.arm == "quic"].value.min() >= 0.108
    assert loads[loads.arm == "tcp"].value.min() >= 0.144
    assert loads.value.max() < 2


def test_every_packet_is_accounted_for(finished: Path) -> None:
    folder = RunFolder.open(finished)
    for trial in folder.plan.trials:
        run = folder.result(trial.id)
        assert run is not None
        for counters in run.link.values():
            dropped = sum(count for name, count in counters.items() if name.startswith("dropped_"))
            assert counters["arrived"] == counters["delivered"] + dropped + counters["queued"]


def test_arms_of_a_round_share_the_links_seed(finished: Path) -> None:
    samples = pd.read_parquet(finished / "samples.parquet")
    assert (samples.groupby(["cell", "round"]).seed.nunique() == 1).all()


def test_the_report_is_made_again_to_the_byte(finished: Path) -> None:
    before = (finished / "report" / "index.html").read_bytes()
    answer = call_longlook("report", str(finished))
    assert answer.returncode == 0, answer.stderr
    assert (finished / "report" / "index.html").read_bytes() == before


def test_machines_get_json_lines(finished: Path) -> None:
    answer = call_longlook("report", str(finished), "--json")
    lines = [json.loads(line) for line in answer.stdout.splitlines()]
    assert lines[-1]["event"] == "result"
    assert len(lines[-1]["estimates"]) == 2


@pytest.fixture
def started(tmp_path: Path) -> Iterator[tuple[subprocess.Popen[str], Path]]:
    """A run that has finished at least two trials and goes on."""
    out = tmp_path / "run"
    process = subprocess.Popen(
        [*LONGLOOK, "run", *LIVE, "--out", str(out), "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stdout is not None
    trials = 0
    for line in process.stdout:
        trials += json.loads(line)["event"] == "trial"
        if trials == 2:
            break
    yield process, out
    if process.poll() is None:
        process.kill()
    process.communicate()


def finish(out: Path, before: set[str]) -> None:
    """Resume, and check that nothing finished was run again."""
    kept = {name: (out / "trials" / name / "run.json").read_bytes() for name in before}
    answer = longlook("run", *LIVE, "--resume", str(out))
    assert answer.returncode == 0, answer.stderr
    assert f"{len(before)} finished before" in answer.stdout
    assert {name: (out / "trials" / name / "run.json").read_bytes() for name in before} == kept
    assert {trial.id for trial in RunFolder.open(out).plan.trials} == finished_trials(out)


def finished_trials(out: Path) -> set[str]:
    return {path.name for path in (out / "trials").iterdir() if len(path.name.split(".")) == 1}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_stopped_run_says_how_to_go_on(started: tuple[subprocess.Popen[str], Path], number: signal.Signals) -> None:
    process, out = started
    process.send_signal(number)
    _, errors = process.communicate(timeout=20)
    assert process.returncode == 130
    assert f"--resume {out}" in errors
    finish(out, finished_trials(out))


def test_sigkill_loses_no_finished_trial(started: tuple[subprocess.Popen[str], Path]) -> None:
    process, out = started
    process.kill()
    process.wait()
    finish(out, finished_trials(out))


def test_resume_refuses_another_plan(started: tuple[subprocess.Popen[str], Path]) -> None:
    process, out = started
    process.kill()
    process.wait()
    answer = longlook("run", *LIVE, "--resume", str(out), "--rounds", "4")
    assert answer.returncode == 2
    assert "planned differently" in answer.stderr
