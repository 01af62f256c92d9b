"""What each command does with a run whose files are not as they were sealed; results are made up."""

import json
import shutil
from pathlib import Path

import pandas as pd
import pytest

from longlook.core.errors import InputError, LonglookError
from longlook.core.model import Outcome
from longlook.core.run_folder import RunFolder
from longlook.engines.fake import FakeEngine
from longlook.instruments.atlas.claims.run import make_survey
from longlook.pipeline.analyse import Result, analyse_run
from longlook.pipeline.explain import ExplainRequest, explain_run
from longlook.pipeline.options import Observer, RunOptions
from longlook.pipeline.run import run_study
from longlook.study.files import find_study
from tests.conftest import TINY

STUDY = find_study(str(TINY), rounds=2)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("evidence") / "run"
    run_study(STUDY, path, RunOptions(FakeEngine()), Observer())
    return path


@pytest.fixture
def run(finished: Path, tmp_path: Path) -> Path:
    """A copy of a finished run."""
    return Path(shutil.copytree(finished, tmp_path / "run"))


def edit_one(run: Path) -> str:
    """Make a load 9 ms longer, as a hand might; return the trial."""
    trial = RunFolder.open(run).plan.trials[0].id
    file = run / "trials" / trial / "client.jsonl"
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    later = [{**line, "t_end_ns": line["t_end_ns"] + 9_000_000} if "t_end_ns" in line else line for line in lines]
    file.write_text("".join(json.dumps(line, separators=(",", ":")) + "\n" for line in later))
    return trial


def report(run: Path, said: list[str] | None = None) -> Result:
    with RunFolder.open(run) as folder:
        return analyse_run(folder, Observer(say=(said if said is not None else []).append))


def resume(run: Path, said: list[str], verify: int = 0) -> tuple[FakeEngine, Result]:
    engine = FakeEngine()
    options = RunOptions(engine, resume=True, verify=verify)
    return engine, run_study(STUDY, run, options, Observer(say=said.append))


def test_a_report_counts_an_edited_trial_out_and_marks_it(run: Path) -> None:
    trial, said = edit_one(run), []
    result = report(run, said)
    assert result.altered == {trial: "client.jsonl was changed"}
    assert result.outcomes == {Outcome.OK: 7, Outcome.INVALID: 1}
    assert any(trial in text and "client.jsonl was changed" in text for text in said)
    samples = pd.read_parquet(run / "samples.parquet")
    assert samples[samples.trial_id == trial].value.isna().all()
    assert set(samples[samples.trial_id == trial].reason) == {"not as it was sealed: client.jsonl was changed"}
    page = result.report.read_text()
    assert "1 trial is counted out, with files that are not as they were sealed" in page
    assert "not as it was sealed: client.jsonl was changed" in page


def test_a_resumed_run_runs_an_edited_trial_again_says_so_and_keeps_what_was_edited(run: Path) -> None:
    before = (run / "samples.parquet").read_bytes()
    trial, said = edit_one(run), []
    report(run)
    engine, result = resume(run, said)
    assert engine.ran == [trial]
    assert any(trial in text and "runs again" in text and "client.jsonl was changed" in text for text in said)
    assert (run / "altered" / trial / "client.jsonl").is_file()
    assert result.altered == {}
    assert (run / "samples.parquet").read_bytes() == before
    assert resume(run, said)[0].ran == []


def test_attempts_that_were_added_are_named_counted_out_and_moved_by_a_resumed_run(run: Path, tmp_path: Path) -> None:
    before = (run / "samples.parquet").read_bytes()
    trial = RunFolder.open(run).plan.trials[0].id
    added = {f"{trial}.attempt1", "f" * 16}
    for name in added:
        shutil.copytree(run / "trials" / trial, run / "trials" / name)
    with pytest.raises(InputError, match="2 trials are not as sealed"):
        make_survey([run], tmp_path)
    said: list[str] = []
    result = report(run, said)
    assert result.altered.keys() == added
    assert sum(f"{name} is counted out" in text for name in added for text in said) == 2
    assert result.outcomes == {Outcome.OK: 8}
    assert (run / "samples.parquet").read_bytes() == before
    engine, result = resume(run, said)
    assert (engine.ran, result.altered) == ([], {})
    assert {path.name for path in (run / "altered").iterdir()} == added
    assert (run / "samples.parquet").read_bytes() == before


def test_an_edited_trial_is_not_verified(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FakeEngine, "setting", lambda _engine: {"engine": "fake"})
    trial = edit_one(run)
    with pytest.raises(LonglookError, match=rf"--verify: 1 trial is not as sealed \({trial}: client\.jsonl") as caught:
        resume(run, [], verify=1)
    assert caught.value.exit_code == 1


def test_claims_and_explanations_refuse_a_run_that_was_edited_after_its_analysis(run: Path, tmp_path: Path) -> None:
    trial = edit_one(run)
    for ask in (
        lambda: make_survey([run], tmp_path),
        lambda: explain_run(RunFolder.open(run), ExplainRequest(), RunOptions(FakeEngine()), Observer()),
    ):
        with pytest.raises(InputError, match=rf"{trial}: client\.jsonl was changed") as caught:
            ask()
        assert "longlook report" in str(caught.value.hint)
        assert "--resume" in str(caught.value.hint)
    report(run)
    assert make_survey([run], tmp_path).runs[0].altered == 1


@pytest.mark.parametrize("name", ["samples.parquet", "estimates.parquet", "claims.json"])
def test_claims_refuse_tables_that_were_edited_until_they_are_written_again(
    run: Path, tmp_path: Path, name: str
) -> None:
    whole = (run / name).read_bytes()
    (run / name).write_bytes(whole[: len(whole) // 2])
    with pytest.raises(InputError, match=rf"{name} was changed since the run was analysed"):
        make_survey([run], tmp_path)
    report(run)
    assert (run / name).read_bytes() == whole
    assert make_survey([run], tmp_path).runs[0].altered == 0
