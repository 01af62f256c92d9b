"""Runs whose rounds draw: what is prepared for their trials, and with which neighbourhood a run is continued."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from longlook.core.job import Job
from longlook.core.model import Run, Study
from longlook.core.run_folder import RunFolder
from longlook.engines.fake import FakeEngine
from longlook.pipeline.options import Observer, RunOptions
from longlook.pipeline.run import run_study
from longlook.study.files import find_study
from tests.conftest import TINY
from tests.support.command_line import call_longlook


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """`tiny` without the metrics that virtual time does not have, and without a word about neighbourhoods."""
    path = tmp_path / "tiny.toml"
    path.write_text(TINY.read_text().replace(', "client_cpu", "server_cpu"', "").replace('around = "none"\n', ""))
    return path


class Keeping(FakeEngine):
    """Keeps its jobs."""

    def __init__(self) -> None:
        super().__init__()
        self.jobs: list[Job] = []

    def run(self, job: Job) -> Run:
        self.jobs.append(job)
        return super().run(job)


def run(study: Study, path: Path, engine: FakeEngine | None = None) -> Path:
    return run_study(study, path, RunOptions(engine or FakeEngine()), Observer()).path


def test_each_trial_has_the_files_and_the_certificate_that_its_round_drew(file: Path, tmp_path: Path) -> None:
    engine = Keeping()
    run(find_study(str(file)), tmp_path / "run", engine)
    assert len(engine.jobs) == 12
    for job in engine.jobs:
        sizes = {path: answer.bytes for path, answer in job.content.expected.items()}
        assert sizes["/i/000.png"] == job.trial.workload.parameters["object_bytes"]
        padding_bytes = job.trial.certificate_padding_bytes
        assert Path(job.identity.certificate).parent.name == (f"tls-{padding_bytes}" if padding_bytes else "tls")
    assert len({job.trial.certificate_padding_bytes for job in engine.jobs}) > 1


def test_samples_and_plan_hold_what_was_drawn_and_pairs_stay_pairs(file: Path, tmp_path: Path) -> None:
    path = run(find_study(str(file)), tmp_path / "run")
    samples = pd.read_parquet(path / "samples.parquet")
    drawn = [name for name in samples.columns if name.startswith("drawn.")]
    assert drawn == [
        *("drawn.network.rtt_ms", "drawn.network.rate_mbit", "drawn.network.queue_bytes"),
        *("drawn.workload.object_bytes", "drawn.start_phase_ms", "drawn.order", "drawn.certificate_bytes"),
    ]
    assert samples["drawn.order"].isna().all()  # these pages have one image
    assert samples.groupby(["cell", "round"])[drawn].nunique().max().max() == 1
    estimates = pd.read_parquet(path / "estimates.parquet")
    assert set(estimates["n_pairs"]) == {3}
    planned = json.loads((path / "plan.json").read_text())["trials"]
    by_id = {trial["id"]: trial["drawn"] for trial in planned}
    rates = dict(zip(samples["trial_id"], samples["drawn.network.rate_mbit"], strict=True))
    assert {name: f"{rate:g}Mbit" for name, rate in rates.items()} == {
        name: drew["network.rate"] for name, drew in by_id.items()
    }
    assert json.loads((path / "study.json").read_text())["around"]["network.rtt"] == "uniform 5%"


def continued(file: Path, path: Path, *more: str) -> Mapping[str, Any] | str:
    answer = call_longlook("run", str(file), "--resume", str(path), "--dry-run", "--json", *more)
    return json.loads(answer.stdout) if answer.returncode == 0 else answer.stderr


@pytest.mark.parametrize("around", ["none", "standard"])
def test_a_run_is_continued_with_the_neighbourhood_that_it_was_planned_with(
    around: str, file: Path, tmp_path: Path
) -> None:
    path = run(find_study(str(file), around=around), tmp_path / "run")
    found = continued(file, path)
    assert found["plan_hash"] == RunFolder.open(path).manifest["plan_hash"]  # type: ignore[index]
    assert found["to_run"] == 0  # type: ignore[index]
    other = {"none": "standard", "standard": "none"}[around]
    assert "was planned differently" in str(continued(file, path, "--around", other))


def test_a_run_from_before_neighbourhoods_goes_on_at_the_point(file: Path, tmp_path: Path) -> None:
    path = run(find_study(str(file), around="none"), tmp_path / "run")
    assert "around" not in json.loads((path / "study.json").read_text())  # as in a folder of that time
    assert continued(file, path)["to_run"] == 0  # type: ignore[index]


def test_study_show_shows_the_neighbourhood(file: Path) -> None:
    shown = call_longlook("study", "show", str(file)).stdout
    assert "around network.rtt" in shown
    assert "uniform 100ms" in shown
    for point in (("--around", "none"), ("--engine", "live")):
        assert "around network.rtt" not in call_longlook("study", "show", str(file), *point).stdout
    found = json.loads(
        call_longlook("study", "show", str(file), "--set", "around.start_phase=uniform 1s", "--json").stdout
    )
    assert found["study"]["around"] == {"start_phase": "uniform 1s"}
