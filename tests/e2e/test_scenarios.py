"""Scenarios that come with Longlook hold on the installed senders, and a planted wrong expectation fails readably."""

import json
from pathlib import Path
from typing import Any

import pytest

from longlook.report import wording
from longlook.study.files import scenario_files
from tests.support.command_line import longlook

pytestmark = [pytest.mark.lab, pytest.mark.slow, pytest.mark.timeout(900)]

LONGEST_LINES = 30


def judged(folder: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((folder / "expectations.json").read_text())
    return found


@pytest.mark.parametrize("name", ["first-loss", "tail-loss", "late-packet", "burst-loss", "rate-halved", "two-flows"])
def test_a_scenario_holds_on_every_sender(tmp_path: Path, name: str) -> None:
    assert len(scenario_files()[name].read_text().splitlines()) <= LONGEST_LINES
    answer = longlook("run", name, "--out", str(tmp_path / "run"))
    assert answer.returncode == 0, answer.stdout + answer.stderr
    assert all(each["holds"] for each in judged(tmp_path / "run"))
    assert "FAILED" not in answer.stdout and f"passed {name}::" in answer.stdout


def test_a_wrong_expectation_fails_with_the_value_and_the_time(tmp_path: Path) -> None:
    out = tmp_path / "run"
    planted = ("--set", "expect.window_after_loss=within 49 to 51 %", "--set", "expect.timeouts=from 30s = 0")
    answer = longlook("run", "first-loss", "--only", "sender=quic-go", *planted, "--out", str(out))
    assert answer.returncode == 1
    lines = [line.replace(wording.NBSP, " ") for line in answer.stdout.splitlines() if line.startswith("FAILED")]
    assert len(lines) == 2
    assert lines[0].startswith(
        "FAILED first-loss::timeouts [quic-go]: expected from 30s = 0, saw nothing: the load ended"
    )
    assert lines[1].startswith(
        "FAILED first-loss::window_after_loss [quic-go]: expected within 49 to 51 %, saw 70.0 % at "
    )
    assert "4 of 6 expectations hold in the trial" in answer.stderr
    again = longlook("report", str(out), "--json")
    assert again.returncode == 1
    result = json.loads(again.stdout.splitlines()[-1])
    assert [each["holds"] for each in result["expectations"]] == [each["holds"] for each in judged(out)]
