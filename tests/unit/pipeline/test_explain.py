"""A run folder is explained, or refused before anything runs, with made-up results in place of a laboratory."""

import re
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from longlook.core.errors import InputError
from longlook.core.job import Job
from longlook.core.model import Run, Scalar
from longlook.core.run_folder import RunFolder
from longlook.engines.fake import FakeEngine
from longlook.explain.answer import Answer, Status
from longlook.explain.attribution import Conclusion
from longlook.explain.cause import Cause, Change, Finding, Intervention, Purpose, Sign, Target, Touches
from longlook.explain.ledger import LedgerClass
from longlook.explain.pair import Pair
from longlook.pipeline.answers import ANSWERS, FOLDER, read_answers
from longlook.pipeline.explain import ExplainRequest, explain_run
from longlook.pipeline.explain.session import TracedChange
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


SLOW = side(None, (USEFUL, 100.0), (LedgerClass.TIMER, 50.0))
TUNED = replace(SLOW.trial, server=replace(SLOW.trial.server, knobs={"gso": True}))
PAIR = pair(SLOW, side(None, trial=TUNED))
"""Arms whose servers differ: a cause of one that both have alike would be none."""


def made_up(name: str, setting: str, value: Scalar) -> Cause:
    cure = Intervention(Purpose.CURE, Target.LOSER, Touches.MECHANISM, Change(f"another {name}", {setting: value}))
    return Cause(
        name, name, "it is so", "nobody", "server", (), (), lambda _pair: Sign(10**7), lambda _finding, _pair: (cure,)
    )


def suspect_all(monkeypatch: pytest.MonkeyPatch, *known: Cause) -> None:
    traced = dict.fromkeys(range(10), PAIR)
    monkeypatch.setattr("longlook.pipeline.explain.run.traced_pairs", lambda *_: (traced, []))
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


def test_a_cause_is_asked_what_to_change_in_a_round_that_shows_it(
    run: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Pair] = []
    other = pair(SLOW, side(None, trial=TUNED))

    def change(_finding: Finding, shown: Pair) -> list[Intervention]:
        asked.append(shown)
        return []

    made = made_up("a", "tcp_initial_window", 20)
    cause = replace(made, detect=lambda shown: Sign(10**9) if shown is other else None, interventions=change)
    suspect_all(monkeypatch, cause)
    traced = {**dict.fromkeys(range(10), PAIR), 7: other}
    monkeypatch.setattr("longlook.pipeline.explain.run.traced_pairs", lambda *_: (traced, []))
    search_nothing(monkeypatch)
    explain(run, Slower(), run.plan.trials[0].cell_id)
    assert asked == [other]


class InVirtualTime(FakeEngine):
    """Trials that repeat: TCP takes half as long again, but not with a first window of 20 packets or more; QUIC does
    with 7 streams."""

    name = "virtual"

    def run(self, job: Job) -> Run:
        """Run one made-up trial."""
        trial = job.trial
        ill = int(trial.tcp.get("initial_window_packets", 10)) < 20
        if trial.protocol == "h3":
            ill = trial.server.knobs.get("max_incoming_streams") == 7
        self.factors[trial.arm] = 1.5 if ill else 1.0
        return super().run(job)


def window(packets: int, kind: Purpose = Purpose.CURE) -> Intervention:
    change = Change(f"a window of {packets}", {"tcp_initial_window": packets})
    return Intervention(kind, Target.LOSER, Touches.MECHANISM, change, float(packets))


ILL = Intervention(
    Purpose.TRANSPLANT, Target.WINNER, Touches.MECHANISM, Change("7 streams", {"server_knobs.max_incoming_streams": 7})
)


def in_virtual_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rounds: int, *items: Intervention
) -> tuple[Answer, dict[str, int]]:
    """Explain a cell by one cause with these interventions; return the answer and the trials of each changed arm."""
    engine = InVirtualTime()
    study = replace(find_study(TINY, rounds=rounds), metrics=("page_load_time",))
    sample_study(study, tmp_path / "run", RunOptions(engine), Observer())
    folder = RunFolder.open(tmp_path / "run")
    cause = Cause(
        "a", "a", "it is so", "nobody", "server", (), (), lambda _pair: Sign(10**7), lambda _finding, _pair: items
    )
    suspect_all(monkeypatch, cause)
    search_nothing(monkeypatch)
    engine.ran.clear()
    (answer,) = explain_run(folder, ExplainRequest((folder.plan.trials[0].cell_id,)), RunOptions(engine), Observer())
    assert len(engine.ran) == len(set(engine.ran))  # none runs twice
    texts = [path.read_text() for path in (tmp_path / "run" / FOLDER).rglob("trials/*/trial.json")]
    counted = {item.label: 0 for item in (one.change for one in items)}
    for item in items:
        key, value = next(iter(item.change.settings.items()))
        name = {"tcp_initial_window": "initial_window_packets"}.get(key, key.rpartition(".")[2])
        counted[item.change.label] = sum(f'"{name}":{value}' in text.replace(" ", "") for text in texts)
    return answer, counted


def test_transplants_and_doses_run_for_what_a_cure_confirmed_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    items = (window(20), window(25, Purpose.DOSE), window(30, Purpose.DOSE), ILL)
    answer, trials = in_virtual_time(tmp_path, monkeypatch, 10, *items)
    assert answer.findings[0].conclusion is Conclusion.CONFIRMED_BOTH_WAYS
    assert set(trials.values()) == {10}
    assert answer.trials == 40


def test_for_what_no_cure_confirmed_neither_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answer, trials = in_virtual_time(tmp_path, monkeypatch, 10, window(12), window(25, Purpose.DOSE), ILL)
    assert not answer.findings[0].is_confirmed
    assert trials == {"a window of 12": 11, "a window of 25": 0, "7 streams": 0}  # one more, to look into it
    assert answer.trials == 11


def test_a_change_after_which_the_cause_is_as_before_is_untestable_and_refutes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = TracedChange(PAIR, frozenset())
    monkeypatch.setattr("longlook.pipeline.explain.session.traced_change", lambda *_: seen)
    answer, _ = in_virtual_time(tmp_path, monkeypatch, 10, window(12))
    item = answer.findings[0]
    assert (item.conclusion, item.cures[0].conclusion) == (Conclusion.UNTESTABLE, Conclusion.UNTOUCHED)
    assert "shows the cause as before" in item.untestable[0]


def test_a_transplant_runs_where_the_cure_is_what_the_arm_has(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    none = Intervention(Purpose.CURE, Target.LOSER, Touches.MECHANISM, Change("nothing else", {"protocol": "h2"}))
    answer, trials = in_virtual_time(tmp_path, monkeypatch, 10, none, ILL)
    assert answer.findings[0].conclusion is Conclusion.CONFIRMED
    assert trials["7 streams"] == 10


def test_in_a_cell_of_many_rounds_a_change_stops_as_soon_as_its_verdict_is_firm(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer, trials = in_virtual_time(tmp_path, monkeypatch, 20, window(20), window(12), window(30, Purpose.DOSE), ILL)
    item = answer.findings[0]
    assert item.conclusion is Conclusion.CONFIRMED_BOTH_WAYS
    cured, small = item.cures
    assert cured.conclusion is Conclusion.CONFIRMED
    assert cured.share is not None and cured.share.ci_low_pct is not None and cured.share.ci_high_pct is not None
    assert cured.share.ci_low_pct < cured.share.share_pct < cured.share.ci_high_pct
    assert cured.rounds == trials["a window of 20"] == trials["a window of 30"] < 16
    assert small.rounds == trials["a window of 12"] - 1  # one more, to look into what is refuted
    assert small.conclusion is not Conclusion.CONFIRMED
    assert answer.trials == sum(trials.values()) < 60


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
    with pytest.raises(InputError, match=r"samples\.parquet was changed since"):
        explain(run, Slower())
    (run.path / "samples.parquet").unlink()
    with pytest.raises(InputError, match=r"samples\.parquet"):
        explain(run, Slower())


def test_a_cell_that_is_not_there_is_named_as_it_was_written(run: RunFolder) -> None:
    with pytest.raises(InputError, match="cell nowhere is not a cell of this run"):
        explain(run, Slower(), "nowhere")


def test_a_cell_without_a_round_that_went_well_on_both_arms_states_its_outcomes(run: RunFolder) -> None:
    path = run.path / "samples.parquet"
    samples = pd.read_parquet(path)
    samples.loc[samples["arm"] == "tcp", "outcome"] = "failed"
    samples.to_parquet(path)
    run.seal(["samples.parquet"])
    assert set(explain(run, Slower(), "all")) == {Status.FAILED}
    assert all("10 failed" in answer.reason for answer in read_answers(run.path / FOLDER))
