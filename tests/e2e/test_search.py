"""Gaps that no detector explains, in real runs: a setting is found by screening, and losses by delta debugging."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from longlook.core.run_folder import RunFolder
from longlook.engines.choice import make_engine
from longlook.explain.answer import Answer, FoundBy, LossSearch, Status
from longlook.explain.search import factors
from longlook.explain.search.suspects import Suspect
from longlook.explain.tape import Tape
from longlook.pipeline.answers import read_answers
from longlook.pipeline.explain import ExplainRequest, explain_run
from longlook.pipeline.explain.cells import gaps
from longlook.pipeline.explain.search import search_losses
from longlook.pipeline.explain.session import JudgedFindings, Session
from longlook.pipeline.explain.traced import traced_pairs
from longlook.pipeline.explain.trials import RunPlace
from longlook.pipeline.options import Observer, RunOptions
from longlook.report.causes.text import sentence
from longlook.terminal.answers import answers_shown
from longlook.terminal.printer import JsonLinesPrinter
from tests.support.command_line import longlook

pytestmark = [pytest.mark.lab, pytest.mark.slow, pytest.mark.timeout(900)]

STUDY = """
schema = 1
title = "Two arms"
question = "Why is one of them worse?"
rounds = 4
timeout = "60s"
metrics = ["page_load_time"]

[arms.a]
label = "arm a"

[arms.b]
label = "arm b"
{planted}

[defaults]
protocol = "h3"
connection = "cold"
{stacks}

[workload]
kind = "page"
objects = 1

[network]
rtt = "36ms"
rate = "20Mbit"
queue = "1bdp"
{network}

[[factors]]
name = "size"
sets = "workload.object"
levels = ["{size}"]

[[contrasts]]
name = "b vs a"
baseline = "a"
contender = "b"
metric = "page_load_time"

[analysis]
min_rounds = 4
"""
CAPPED = {
    "planted": "server_knobs.max_window = 10",
    "stacks": 'server = "quinn"\nclient = "quinn"',
    "network": "",
    "size": "300KB",
}
PATIENT = {
    "planted": "server_knobs.pto_factor = 8.0",
    "stacks": 'server = "quic-go@0.65.0+knobs"\nclient = "quic-go"',
    "network": 'loss = "8%"',
    "size": "20KB",
}


def ran(folder: Path, case: dict[str, str]) -> Path:
    (folder / "two.toml").write_text(STUDY.format(**case))
    answer = longlook("run", str(folder / "two.toml"), "--out", str(folder / "run"))
    assert answer.returncode == 0, answer.stderr + answer.stdout
    return folder / "run"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run whose loser has a small largest window."""
    return ran(tmp_path_factory.mktemp("capped"), CAPPED)


@pytest.fixture(autouse=True)
def _no_detector(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no detector speak, whatever they will know one day."""
    monkeypatch.setattr("longlook.pipeline.explain.run.causes", dict)


@pytest.fixture(autouse=True)
def _few_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    """Screen few settings, which takes a small design."""
    names = ("max_window", "send_buffer", "window_after_loss", "initial_stream_window")
    monkeypatch.setattr(factors, "KNOBS", {name: factors.KNOBS[name] for name in names})


def explained(run: Path, budget: int | None) -> Answer:
    options = RunOptions(make_engine("virtual"), jobs=1, command=("longlook", "explain", "run"))
    (answer,) = explain_run(RunFolder.open(run), ExplainRequest(budget=budget), options, Observer())
    return answer


def test_a_budget_too_small_for_a_design_says_what_one_takes(run: Path) -> None:
    answer = explained(run, 20)
    assert answer.screening is not None
    assert answer.screening.reason.startswith("a screening of 4 settings takes ")
    assert answer.screening.reason.endswith(" trials (8 combinations in 3 rounds), and the budget leaves 20")
    assert (answer.status, answer.trials) == (Status.UNEXPLAINED, 0)
    assert "No cause is suspected" in sentence(answer)


def test_a_setting_is_suspected_by_screening_and_confirmed_alone(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    answer = explained(run, None)
    JsonLinesPrinter().show(answers_shown([answer], run))
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    found = {line["cause"]: line for line in lines if line["event"] == "finding"}["server_knobs.max_window"]
    assert found["found_by"] == "screening"
    assert found["verdict"] == "confirmed both ways"
    assert found["share_pct"] == pytest.approx(100, abs=5)
    assert "Because: setting max_window of the server (100" in sentence(answer)
    assert answer.screening is not None
    assert answer.screening.effects[0].setting == "server_knobs.max_window"
    assert 1 <= sum(effect.is_suspected for effect in answer.screening.effects) <= 5
    assert any("window_after_loss" in text for text in answer.screening.left_out)  # quinn has it with Reno alone
    assert answer.losses is None  # nothing is left to explain
    assert "Searched beyond what traces show" in (run / "explain" / "index.html").read_text()
    assert read_answers(run / "explain") == [answer]


def searched(run: Path, budget: int | None) -> tuple[LossSearch, Suspect | None, Session]:
    """Look for losses in a run's cell, whatever its verdict."""
    folder = RunFolder.open(run)
    options, observer = RunOptions(make_engine("virtual"), jobs=1, command=("test",)), Observer()
    with folder:
        (gap,) = gaps(folder, ("all",), None)
        only = tuple(f"{factor}={label}" for factor, label in gap.estimate.cell.items())
        study, out = replace(folder.study, rounds=max(gap.rounds) + 1), folder.path / "explain" / "losses"
        pairs, _ = traced_pairs(study, gap, only, out, options, observer, Tape())
        session = Session(study, RunPlace(gap, only, out, budget, options, observer))
        return *search_losses(session, pairs), session


def judged(session: Session, suspect: Suspect) -> JudgedFindings:
    wanted = [(suspect.finding, suspect.interventions)]
    return session.tested(wanted, {suspect.finding.cause: suspect.cause}, suspect.found_by)


def test_the_fewest_losses_are_found_and_their_test_takes_the_trials_that_found_them(tmp_path: Path) -> None:
    """A sender whose probe timer is eight times too long waits at losses behind which nothing arrives."""
    run = ran(tmp_path, PATIENT)
    found, suspect, session = searched(run, None)
    assert (found.reason, suspect is None) == ("", False)
    assert suspect is not None
    for one in found.rounds:
        assert 1 <= one.fewest <= one.dropped
        assert one.is_minimal
        assert all("packet " in text and " ms" in text for text in one.packets)
    before = len(session.counterfactual)
    judgement = judged(session, suspect)
    assert len(session.counterfactual) == before
    (item,) = judgement.findings
    assert item.found_by is FoundBy.LOSSES
    assert item.cures[0].change == "these losses forgiven"
    assert item.seen_in == len(found.rounds)
    again, _, _ = searched(run, None)
    assert again == found
    refused, nothing, _ = searched(run, 3)
    assert nothing is None
    assert refused.reason.endswith("trials or more, and the budget leaves 3")
