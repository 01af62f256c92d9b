"""One trial of a run folder as a job of its own."""

import json
from pathlib import Path

import pytest

from longlook.core import codec
from longlook.core.job import Job
from longlook.engines.fake import FakeEngine
from longlook.pipeline import job_file
from longlook.pipeline.options import Observer, RunOptions
from longlook.pipeline.run import run_study
from longlook.study.files import find_study

TINY = str(Path(__file__).parents[2] / "data" / "tiny.toml")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("job-file") / "run"
    run_study(find_study(TINY, rounds=1), path, RunOptions(FakeEngine()), Observer())
    return path


def test_a_trial_becomes_a_job_that_writes_into_a_new_folder(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trial_id = sorted(path.name for path in (run / "trials").iterdir())[0]
    folder = tmp_path / "alone"
    assert job_file.main([str(run), trial_id, str(folder)]) == 0
    assert capsys.readouterr().out == f"{folder / 'job.json'}\n"
    job = codec.decode(Job, json.loads((folder / "job.json").read_text()))
    assert (job.trial.id, job.attempt, job.folder) == (trial_id, 1, str(folder))
    assert all(Path(program.path).is_file() for program in job.programs.values())
    assert all((Path(job.content.root) / path[1:]).is_file() for path in job.content.expected)
    assert FakeEngine().run(job).trial_id == trial_id
    assert job_file.main([str(run), trial_id, str(folder)]) == 2
    assert "name a new folder" in capsys.readouterr().err


def test_a_program_can_be_replaced_by_a_wrapper(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trial_id = sorted(path.name for path in (run / "trials").iterdir())[0]
    wrapper = tmp_path / "wrapper"
    wrapper.write_text("#!/bin/sh\n")
    arguments = [str(run), trial_id, str(tmp_path / "alone"), "--program"]
    assert job_file.main([*arguments, f"client={wrapper}"]) == 2
    assert f"chmod +x {wrapper}" in capsys.readouterr().err
    wrapper.chmod(0o755)
    assert job_file.main([*arguments, f"clients={wrapper}"]) == 2
    assert "has no 'clients' (known: server, client, link)" in capsys.readouterr().err
    assert job_file.main([*arguments, f"client={wrapper}"]) == 0
    job = codec.decode(Job, json.loads((tmp_path / "alone" / "job.json").read_text()))
    assert job.programs["client"].path == str(wrapper)


def test_an_unknown_trial_is_refused_with_where_to_find_the_known_ones(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert job_file.main([str(run), "nothing", str(tmp_path / "alone")]) == 2
    assert f"has no trial 'nothing' (ls {run / 'trials'} lists them" in capsys.readouterr().err
    assert not (tmp_path / "alone").exists()
