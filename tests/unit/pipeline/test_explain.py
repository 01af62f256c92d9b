"""A run folder is explained, or refused before anything runs, with made-up results in place of a laboratory."""

from pathlib import Path

import pandas as pd
import pytest

from longlook.core.errors import InputError
from longlook.core.run_folder import RunFolder
from longlook.engines.fake import FakeEngine
from longlook.explain.answer import Status
from longlook.pipeline.answers import ANSWERS, FOLDER, read_answers
from longlook.pipeline.explain import ExplainRequest, explain_run
from longlook.pipeline.options import Observer, RunOptions
from longlook.pipeline.sample import sample_study
from longlook.study.files import find_study

TINY = str(Path(__file__).parents[2] / "data" / "tiny.toml")


class Slower(FakeEngine):
    """The second arm takes half as long again, and nobody can say why: the link has no log."""

    def __init__(self) -> None:
        super().__init__(factors={"tcp": 1.5})


@pytest.fixture
def run(tmp_path: Path) -> RunFolder:
    sample_study(find_study(TINY, rounds=10), tmp_path / "run", RunOptions(Slower()), Observer())
    return RunFolder.open(tmp_path / "run")


def explain(folder: RunFolder, engine: FakeEngine, *cells: str) -> list[Status]:
    return [answer.status for answer in explain_run(folder, ExplainRequest(cells), RunOptions(engine), Observer())]


def test_a_run_whose_loads_left_no_trace_says_so(run: RunFolder) -> None:
    engine = Slower()
    statuses = explain(run, engine)
    assert statuses and set(statuses) == {Status.FAILED}
    assert engine.ran
    assert {answer.reason for answer in read_answers(run.path / FOLDER)} == {
        "no round has a load of both arms that went well while it was traced"
    }


def test_damaged_answers_are_refused_before_a_trial_runs(run: RunFolder) -> None:
    engine = Slower()
    (run.path / FOLDER).mkdir()
    (run.path / FOLDER / ANSWERS).write_text("[{")
    with pytest.raises(InputError, match="is damaged"):
        explain(run, engine)
    assert engine.ran == []


def test_a_run_is_explained_by_one_command_at_a_time(run: RunFolder) -> None:
    with RunFolder.open(run.path), pytest.raises(InputError, match="in use by another longlook"):
        explain(run, Slower())


def test_samples_that_cannot_be_read_are_named(run: RunFolder) -> None:
    (run.path / "samples.parquet").write_text("no table")
    with pytest.raises(InputError, match=r"samples\.parquet cannot be read"):
        explain(run, Slower())
    (run.path / "samples.parquet").unlink()
    with pytest.raises(InputError, match=r"has no samples\.parquet"):
        explain(run, Slower())


def test_a_cell_that_is_not_there_is_named_as_it_was_written(run: RunFolder) -> None:
    with pytest.raises(InputError, match="cell nowhere is not a cell of this run"):
        explain(run, Slower(), "nowhere")


def test_a_cell_without_a_round_that_went_well_on_both_arms_states_its_outcomes(run: RunFolder) -> None:
    path = run.path / "samples.parquet"
    samples = pd.read_parquet(path)
    samples.loc[samples["arm"] == "tcp", "outcome"] = "failed"
    samples.to_parquet(path)
    assert set(explain(run, Slower(), "all")) == {Status.FAILED}
    assert all("10 failed" in answer.reason for answer in read_answers(run.path / FOLDER))
