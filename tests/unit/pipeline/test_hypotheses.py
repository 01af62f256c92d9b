"""Hypotheses: registered before the first trial, judged by verdicts, and never changed afterwards."""

import hashlib
import json
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from longlook.analysis import judge_hypotheses
from longlook.core import Foresight, InputError, RunFolder
from longlook.core.model import Hypothesis, Study, Verdict
from longlook.engines.fake import FakeEngine
from longlook.pipeline.analyse import Result, analyse_run
from longlook.pipeline.options import Observer, RunOptions
from longlook.pipeline.run import run_study
from longlook.report import hypotheses_counted
from longlook.study.contrast_filter import with_contrasts
from longlook.study.files import find_study
from tests.unit.pipeline.test_pipeline import TINY

SMALL = {"size": "5KB"}


def hypothesis(expect: Verdict, at_least_pct: float | None = None, **cell: str) -> Hypothesis:
    return Hypothesis("one", "quic vs tcp", cell, expect, at_least_pct)


def study_with(*hypotheses: Hypothesis) -> Study:
    return replace(find_study(TINY, rounds=10), hypotheses=hypotheses)


def run(study: Study, out: Path, quic: float = 0.5, said: list[str] | None = None, **options: bool) -> Result:
    heard = Observer() if said is None else Observer(say=said.append)
    return run_study(study, out, RunOptions(FakeEngine(factors={"quic": quic}), **options), heard)


@pytest.mark.parametrize(
    ("quic", "foreseen", "result"),
    [
        (0.5, hypothesis(Verdict.BETTER), Foresight.HOLDS),
        (0.5, hypothesis(Verdict.BETTER, 10.0), Foresight.HOLDS),
        (0.5, hypothesis(Verdict.BETTER, 90.0), Foresight.REFUTED),
        (0.5, hypothesis(Verdict.WORSE), Foresight.REFUTED),
        (0.5, hypothesis(Verdict.EQUIVALENT), Foresight.REFUTED),
        (9.0, hypothesis(Verdict.WORSE, 50.0), Foresight.HOLDS),
    ],
)
def test_the_verdict_decides(tmp_path: Path, quic: float, foreseen: Hypothesis, result: Foresight) -> None:
    judged = run(study_with(foreseen), tmp_path / "run", quic).hypotheses
    assert [(each.result, each.cell["size"]) for each in judged] == [(result, "5KB"), (result, "100KB")]


@pytest.mark.parametrize(("expect", "result"), [("equivalent", Foresight.HOLDS), ("better", Foresight.REFUTED)])
def test_equivalence_is_a_verdict_as_well(tmp_path: Path, expect: str, result: Foresight) -> None:
    study = study_with(hypothesis(Verdict(expect)))
    found = [replace(each, verdict=Verdict.EQUIVALENT) for each in run(study, tmp_path / "run").estimates]
    assert {each.result for each in judge_hypotheses(study, found)} == {result}


def test_too_few_rounds_leave_it_open_and_other_cells_do_not_count(tmp_path: Path) -> None:
    study = replace(study_with(hypothesis(Verdict.BETTER, **SMALL)), rounds=3)
    judged = run(study, tmp_path / "run").hypotheses
    assert [(each.result, each.cell) for each in judged] == [(Foresight.OPEN, SMALL)]


def test_it_is_registered_before_any_trial_with_a_digest_that_can_be_checked(tmp_path: Path) -> None:
    said: list[str] = []
    result = run(study_with(hypothesis(Verdict.BETTER)), tmp_path / "run", said=said)
    text = (tmp_path / "run" / "registration.json").read_bytes()
    digest = hashlib.sha256(text).hexdigest()
    noted = RunFolder.open(tmp_path / "run").manifest["registered"]
    assert noted["sha256"] == digest
    assert any(digest in line for line in said)
    assert json.loads(text)["hypotheses"][0]["expect"] == "better"
    page = result.report.read_text()
    assert digest in page
    assert "before the first trial" in page
    table = pd.read_csv(tmp_path / "run" / "report" / "tables" / "hypotheses.csv")
    assert list(table["result"]) == ["holds", "holds"]


def test_no_trial_comes_from_the_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LONGLOOK_CACHE", str(tmp_path / "cache"))
    ran: list[int] = []
    for name in ("first", "second"):
        engine = FakeEngine()
        run_study(study_with(hypothesis(Verdict.BETTER)), tmp_path / name, RunOptions(engine), Observer())
        ran.append(len(engine.ran))
    assert ran == [40, 40]


def test_other_hypotheses_are_refused_when_it_goes_on(tmp_path: Path) -> None:
    run(study_with(hypothesis(Verdict.BETTER)), tmp_path / "run")
    with pytest.raises(InputError, match="are not those that"):
        run(study_with(hypothesis(Verdict.WORSE)), tmp_path / "run", resume=True)
    assert run(study_with(hypothesis(Verdict.BETTER)), tmp_path / "run", resume=True).hypotheses


def test_none_are_registered_behind_trials(tmp_path: Path) -> None:
    run(find_study(TINY, rounds=10), tmp_path / "run")
    with pytest.raises(InputError, match="has trials already"):
        run(study_with(hypothesis(Verdict.BETTER)), tmp_path / "run", resume=True)


def test_a_registration_that_was_edited_does_not_count(tmp_path: Path) -> None:
    run(study_with(hypothesis(Verdict.BETTER)), tmp_path / "run")
    file = tmp_path / "run" / "registration.json"
    file.write_text(file.read_text().replace("better", "worse"))
    with RunFolder.open(tmp_path / "run") as folder:
        page = analyse_run(folder, Observer()).report.read_text()
    assert "Not registered before the first trial: registration.json was changed" in page


@pytest.mark.parametrize(
    ("noted", "reason"),
    [
        ({"sha256": "0" * 64}, "has another digest than the manifest"),
        ({"unix_s": 1_000_000_000}, "a date before the run was begun"),
    ],
)
def test_a_manifest_that_was_edited_vouches_for_nothing(tmp_path: Path, noted: dict[str, object], reason: str) -> None:
    run(study_with(hypothesis(Verdict.BETTER)), tmp_path / "run")
    file = tmp_path / "run" / "manifest.json"
    manifest = json.loads(file.read_text())
    manifest["registered"] |= noted
    file.write_text(json.dumps(manifest))
    with RunFolder.open(tmp_path / "run") as folder:
        page = analyse_run(folder, Observer()).report.read_text()
    assert reason in page
    assert "Registered" not in page


def test_hypotheses_about_cells_that_did_not_run_are_counted(tmp_path: Path) -> None:
    small, large = (replace(hypothesis(Verdict.BETTER, size=size), id=size) for size in ("5KB", "100KB"))
    options = RunOptions(FakeEngine(factors={"quic": 0.5}), only=("size=5KB",))
    result = run_study(study_with(small, large), tmp_path / "run", options, Observer())
    assert hypotheses_counted(result.study.hypotheses, result.hypotheses) == "hypotheses: 1 holds, 1 not run"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('id = "a"\ncontrast = "quic vs sctp"\nexpect = "better"', "no such contrast"),
        ('id = "a"\ncontrast = "quic vs tcp"\nexpect = "best"', "allowed: better, worse, equivalent"),
        ('id = "a"\ncontrast = "quic vs tcp"\nexpect = "better"\ncell = { size = "6KB" }', "no such level"),
        ('id = "a"\ncontrast = "quic vs tcp"\nexpect = "better"\ncell = { loss = "1%" }', "no factor 'loss'"),
        ('id = "a"\ncontrast = "quic vs tcp"\nexpect = "equivalent"\nat_least = "5%"', "belongs to better and worse"),
        ('id = "a"\nexpect = "better"', "contrast"),
    ],
)
def test_mistakes_of_a_study_are_named(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(Path(TINY).read_text() + f"\n[[hypotheses]]\n{text}\n")
    with pytest.raises(InputError, match=message):
        find_study(str(file))


def test_they_are_read_from_a_study_and_go_with_their_contrast(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    stated = 'id = "a"\ncontrast = "quic vs tcp"\nexpect = "better"\nat_least = "5%"\nbecause = "it is so"'
    file.write_text(Path(TINY).read_text() + f"\n[[hypotheses]]\n{stated}\n")
    study = find_study(str(file))
    assert study.hypotheses == (Hypothesis("a", "quic vs tcp", {}, Verdict.BETTER, 5.0, "it is so"),)
    assert with_contrasts(study, ["contrast=quic vs tcp"]).hypotheses == study.hypotheses
