"""Explanations of real runs in virtual time: a planted cause is found, confirmed and told; what is none is not."""

import json
import os
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from longlook.core.run_folder import RunFolder
from tests.support.command_line import longlook

pytestmark = [pytest.mark.lab, pytest.mark.slow, pytest.mark.timeout(900)]

PLUGINS = {**os.environ, "LONGLOOK_PLUGINS": str(Path(__file__).parents[1] / "support" / "regressed")}

STUDY = """
schema = 1
title = "A small initial window"
question = "What does an initial window of two packets cost?"
rounds = 10
timeout = "30s"
metrics = ["page_load_time"]

[arms.usual]
label = "32 packets"

[arms.small]
label = "2 packets"
server_knobs.initial_window = 2

[defaults]
protocol = "h3"
connection = "cold"
server = "quic-go@0.65.0+knobs"
client = "quic-go"

[workload]
kind = "page"
objects = 1

[network]
rtt = "36ms"
rate = "20Mbit"
queue = "1bdp"

[[factors]]
name = "size"
sets = "workload.object"
levels = ["1KB", "100KB"]

[[contrasts]]
name = "small vs usual"
baseline = "usual"
contender = "small"
metric = "page_load_time"
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run in which one of two cells has a loser, whose cause is known."""
    folder = tmp_path_factory.mktemp("explain")
    (folder / "small.toml").write_text(STUDY)
    answer = longlook("run", str(folder / "small.toml"), "--out", str(folder / "run"))
    assert answer.returncode == 0, answer.stderr + answer.stdout
    return folder / "run"


def explained(run: Path, *arguments: str) -> list[dict[str, Any]]:
    answer = longlook("explain", str(run), *arguments, "--json")
    assert answer.returncode == 0, answer.stderr + answer.stdout
    return [json.loads(line) for line in answer.stdout.splitlines()]


@pytest.fixture(scope="module")
def lines(run: Path) -> list[dict[str, Any]]:
    """The lines of the whole explanation."""
    return explained(run)


def test_the_planted_cause_is_confirmed_both_ways(lines: list[dict[str, Any]]) -> None:
    findings = {line["cause"]: line for line in lines if line["event"] == "finding"}
    found = findings["initial_window"]
    assert (found["arm"], found["role"]) == ("small", "server")
    assert found["verdict"] == "confirmed both ways"
    assert found["share_pct"] == pytest.approx(100, abs=5)
    assert found["ci_low_pct"] <= found["share_pct"] <= found["ci_high_pct"]
    assert "32 packets" in found["intervention"]


def test_no_other_cause_is_confirmed(lines: list[dict[str, Any]]) -> None:
    confirmed = {line["cause"] for line in lines if line["event"] == "finding" and "confirmed" in line["verdict"]}
    assert confirmed == {"initial_window"}


def test_the_sentence_says_who_lost_why_and_how_it_was_shown(lines: list[dict[str, Any]]) -> None:
    (answer,) = [line for line in lines if line["event"] == "answer"]
    assert answer["cell_id"] == "100KB"
    for part in ("2 packets", "32 packets", "first window", "confirmed"):
        assert part in answer["sentence"]
    assert answer["line"].startswith("because: smaller initial window (")


def test_the_ledgers_of_both_arms_add_up_to_their_loads(lines: list[dict[str, Any]]) -> None:
    (answer,) = [line for line in lines if line["event"] == "answer"]
    sums = {arm: sum(classes.values()) for arm, classes in answer["ledger_ms"].items()}
    medians = {"small": answer["loser_level"], "usual": answer["winner_level"]}
    assert all(sums[arm] == pytest.approx(1000 * medians[arm], rel=0.05) for arm in sums)


def test_the_files_beside_the_run_hold_the_same(run: Path, lines: list[dict[str, Any]]) -> None:
    table = pd.read_parquet(run / "explain" / "findings.parquet")
    assert set(table["cause"]) == {line["cause"] for line in lines if line["event"] == "finding"}
    folders = [RunFolder.open(path) for path in (run / "explain").glob("100KB~*/trials-*")]
    ids = [trial.id for folder in folders for trial in folder.plan.trials]
    assert len(ids) > 20
    assert len(ids) == len(set(ids))  # cures, and then what depends on them; none runs twice
    assert (run / "explain" / "index.html").exists()


def test_again_it_says_the_same_from_what_is_there(run: Path, lines: list[dict[str, Any]]) -> None:
    def answers(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return [{**line, "command": ""} for line in found if line["event"] in ("finding", "answer")]

    assert answers(explained(run)) == answers(lines)


def test_a_cell_without_a_gap_has_nothing_to_explain(run: Path) -> None:
    (answer,) = [line for line in explained(run, "1KB") if line["event"] == "answer"]
    assert answer["status"] in ("no gap", "undecided")
    assert "othing to explain" in answer["sentence"]


def test_without_a_budget_findings_are_suspected_and_none_is_called_a_cause(run: Path) -> None:
    found = explained(run, "100KB", "--budget", "0")
    findings = [line for line in found if line["event"] == "finding"]
    assert findings
    assert {line["verdict"] for line in findings} == {"untestable"}
    assert "None of the suspected causes is confirmed" in found[-1]["sentence"]


def test_unknown_cells_and_contrasts_are_named(run: Path) -> None:
    answer = longlook("explain", str(run), "5GB")
    assert answer.returncode == 2
    assert "5GB" in answer.stderr and "100KB" in answer.stderr
    answer = longlook("explain", str(run), "--contrast", "small vs usul")
    assert answer.returncode == 2
    assert "did you mean 'small vs usual'?" in answer.stderr


def test_what_a_comparison_finds_worse_is_explained_by_the_side_that_changed(tmp_path: Path) -> None:
    network = ["--on", "20mbit,30ms", "--size", "100KB", "--rounds", "10", "--explain", "--out", "run", "--json"]
    answer = longlook("compare", "regressed@2.0", "regressed@4.0", *network, cwd=tmp_path, env=PLUGINS)
    assert answer.returncode == 1, answer.stderr
    found = [json.loads(line) for line in answer.stdout.splitlines()]
    verdicts = {line["cause"]: line["verdict"] for line in found if line["event"] == "finding"}
    assert verdicts["client_version"] == "shows which end"  # from 4.0 on the client offers small windows
    assert verdicts["server_version"] == "changes nothing"  # packet for packet
