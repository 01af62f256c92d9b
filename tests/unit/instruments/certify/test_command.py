"""`longlook certify`: its table, its JSON, and its errors."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from longlook.cli import app
from longlook.core.errors import InputError, LonglookError
from longlook.engines import choice
from longlook.engines.fake import FakeEngine
from longlook.instruments.certify import trial_bank
from tests.unit.instruments.certify.test_run import TINY

PARTS = ("--part", "a-against-a", "--part", "power")


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(choice.ENGINES, "virtual", FakeEngine)  # type: ignore[arg-type]
    monkeypatch.setattr(trial_bank, "QUICK", replace(TINY, name="quick"))


EVENTS = ("rate", "certificate")


@pytest.mark.usefixtures("quick")
def test_it_prints_rates_beside_their_levels_and_where_the_files_are(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["certify", "--quick", "--out", str(tmp_path), *PARTS])
    assert result.exception is None or isinstance(result.exception, LonglookError)
    assert "verdict better or worse" in result.output
    assert "≤ 1.0 %" in result.output
    assert "smallest found in 80 %" in result.output
    assert str(tmp_path / "certificate.json") in result.output
    assert (tmp_path / "figures" / "error-rates.svg").exists()


@pytest.mark.usefixtures("quick")
def test_json_has_each_rate_with_its_finding_and_the_whole_certificate(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["certify", "--quick", "--out", str(tmp_path), "--part", "a-against-a", "--json"])
    *rates, line = [made for text in result.stdout.splitlines() if (made := json.loads(text))["event"] in EVENTS]
    assert line["event"] == "certificate"
    assert [rate["rate"] for rate in rates] == line["certificate"]["parts"]["a-against-a"]["rates"]
    assert {rate["finding"] for rate in rates} <= {"held", "compatible", "missed", "measured"}
    assert line["certificate"] == json.loads((tmp_path / "certificate.json").read_text())


def test_an_unknown_part_names_those_that_there_are(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["certify", "--part", "coverages", "--out", str(tmp_path / "new")])
    assert isinstance(result.exception, InputError)
    assert "coverage" in str(result.exception.hint)
    assert not (tmp_path / "new").exists()
