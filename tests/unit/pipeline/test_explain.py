"""A run folder is explained, or refused before anything runs, with made-up results in place of a laboratory."""

import re
from pathlib import Path

import pandas as pd
import pytest

from longlook.core.errors import InputError
from longlook.core.model import Scalar
from longlook.core.run_folder import RunFolder
from longlook.engines.fake import FakeEngine
from longlook.explain.answer import Status
from longlook.explain.attribution import Conclusion
from longlook.explain.cause import Cause, Change, Intervention, Kind, Sign, Target
from longlook.explain.ledger import LedgerClass
from longlook.pipeline.answers import ANSWERS, FOLDER, read_answers
from longlook.pipeline.explain import ExplainRequest, explain_run
from longlook.pipeline.options import Observer, RunOptions
from longlook.pipeline.sample import sample_study
from longlook.study.files import find_study
from tests.data.sides import USEFUL, pair, side

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


PAIR = pair(side(None, (USEFUL, 100.0), (LedgerClass.TIMER, 50.0)))


def made_up(name: str, setting: str, value: Scalar) -> Cause:
    cure = Intervention(Kind.CURE, Target.LOSER, Change(f"another {name}", {setting: value}))
    return Cause(
        name, name, "it is so", "nobody", "server", (), (), lambda _pair: Sign(10**7), lambda _finding, _pair: (cure,)
    )


def suspect_all(monkeypatch: pytest.MonkeyPatch, *known: Cause) -> None:
    traced = dict.fromkeys(range(10), PAIR)
    monkeypatch.setattr("longlook.pipeline.explain.run.traced_pairs", lambda *_: traced)
    monkeypatch.setattr("longlook.pipeline.explain.run.causes", lambda: {cause.name: cause for cause in known})


def search_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let what detectors suspect be all that is tried, whatever it leaves of the gap."""
    monkeypatch.setattr("longlook.pipeline.explain.run.is_needed", lambda *_: False)


@pytest.mark.parametrize(
    ("budget", "trials", "tested", "has_together"),
    [(None, 30, 2, True), (30, 30, 2, True), (29, 20, 2, False), (19, 10, 1, True), (9, 0, 0, False), (0, 0, 0, False)],
)
def test_no_more_trials_run_than_the_budget_allows(
    run: RunFolder,
    monkeypatch: pytest.MonkeyPatch,
    budget: int | None,
    trials: int,
    tested: int,
    has_together: bool,
) -> None:
    suspect_all(monkeypatch, made_up("a", "tcp_initial_window", 20), made_up("b", "tcp_mss", "1000B"))
    search_nothing(monkeypatch)
    cell = run.plan.trials[0].cell_id
    engine = Slower()  # a changed arm has another name, and is as fast as the other one
    (answer,) = explain_run(run, ExplainRequest((cell,), budget=budget), RunOptions(engine), Observer())
    ran = [trial for path in (run.path / FOLDER).rglob("trials/*/trial.json") for trial in [path.read_text()]]
    assert answer.trials == trials
    assert len({text for text in ran if '"tcp~' in text}) == trials
    assert [item.conclusion for item in answer.findings].count(Conclusion.CONFIRMED) == tested
    assert len(answer.left_out) == 2 - tested
    assert (answer.together is not None) is has_together


def test_a_change_that_the_engine_refuses_cannot_be_tested_and_the_others_are(
    run: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    suspect_all(monkeypatch, made_up("a", "tcp_mss", "1000B"), made_up("b", "tcp_initial_ssthresh", 90))
    search_nothing(monkeypatch)
    cell = run.plan.trials[0].cell_id
    (answer,) = explain_run(run, ExplainRequest((cell,)), RunOptions(Slower()), Observer())
    assert [item.conclusion for item in answer.findings] == [Conclusion.CONFIRMED, Conclusion.UNTESTABLE]
    assert "which in real time would change Cubic" in answer.findings[1].untestable[0]


def test_where_no_detector_speaks_a_search_says_what_it_takes_more_than_the_budget(
    run: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    suspect_all(monkeypatch)
    cell = run.plan.trials[0].cell_id
    (answer,) = explain_run(run, ExplainRequest((cell,), budget=5), RunOptions(Slower()), Observer())
    assert answer.screening is not None and answer.losses is not None
    assert re.fullmatch(
        r"a screening of \d+ settings takes \d+ trials \(\d+ combinations in 3 rounds\), and the budget leaves 5",
        answer.screening.reason,
    )
    assert answer.losses.reason.endswith("virtual time")
    assert (answer.status, answer.trials) == (Status.UNEXPLAINED, 0)
    assert answer.reason == "no detector saw a cause, and settings were not screened"


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
