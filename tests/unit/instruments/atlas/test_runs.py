"""How long a study takes: what trials took is noted once, and an estimate is made of it, or of their sizes."""

from dataclasses import replace
from pathlib import Path

import pytest

from longlook.core.model import Study, Workload
from longlook.core.run_folder import RunFolder
from longlook.engines.fake import FakeEngine
from longlook.instruments.atlas.claims.entries import make_entry
from longlook.instruments.atlas.claims.entry import Effort
from longlook.instruments.atlas.runs import megabytes, minutes
from longlook.pipeline.options import Observer, RunOptions
from longlook.pipeline.run import run_study
from longlook.study.plan import make_plan
from tests.support.cached_engine import CachedEngine


def test_what_trials_took_is_noted_and_what_the_cache_has_is_not(
    study: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LONGLOOK_TRIALS", str(tmp_path / "cache"))
    for name in ("first", "again"):
        run_study(study, tmp_path / name, RunOptions(CachedEngine()), Observer())
    noted = RunFolder.open(tmp_path / "first").manifest["effort"]
    assert noted["trials"] == 12 and noted["cpu_s"] > 0 and noted["job_s"] > 0
    assert "effort" not in RunFolder.open(tmp_path / "again").manifest
    assert make_entry(tmp_path / "first", []).effort == Effort(**noted)
    assert make_entry(tmp_path / "again", []).effort is None


def test_an_estimate_follows_what_trials_took_before(study: Study, tmp_path: Path) -> None:
    run_study(study, tmp_path / "run", RunOptions(FakeEngine()), Observer())
    plan = make_plan(study)
    entry = replace(make_entry(tmp_path / "run", []), engine="virtual", effort=Effort(10, 20.0, 600.0))
    assert minutes(plan, 60, 2, entry) == pytest.approx(1.0)
    assert minutes(plan, 60, 2, replace(entry, engine="live")) == pytest.approx(30.0)
    by_size = minutes(plan, 60, 1, replace(entry, effort=None))
    assert by_size == minutes(plan, 60, 1, None) == pytest.approx(0.6, rel=0.05)


def test_the_size_of_a_trial(study: Study) -> None:
    trial = make_plan(study).trials[0]
    of = {"object_bytes": 2_000_000, "objects": 3}
    assert megabytes(replace(trial, workload=Workload("download", of))) == 6
    assert megabytes(replace(trial, workload=Workload("download", {**of, "connections": 2}))) == 12
    assert megabytes(replace(trial, workload=Workload("recorded_page", {"har": "sha256:0"}))) == 2
    lasting = replace(trial, workload=Workload("compete", {"duration_s": 60.0}))
    assert megabytes(lasting) == pytest.approx(50 * 60 / 8)  # a path of 50 Mbit/s
