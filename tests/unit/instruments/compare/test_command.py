"""`longlook compare` on the command line, with made-up results in place of a laboratory."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from longlook.cli import app
from longlook.core.errors import InputError
from longlook.engines.fake import FakeEngine
from longlook.instruments.compare.spec import CONTENDER


@pytest.fixture(autouse=True)
def made_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("longlook.pipeline.analyse.write_report", lambda folder, _content: folder / "index.html")
    monkeypatch.setattr("longlook.engines.choice.make_engine", lambda _name: FakeEngine(factors={CONTENDER: 1.15}))


def compare(out: Path, *options: str) -> Result:
    arguments = ["compare", "quic-go", "quic-go", "--on", "10mbit,36ms", "--rounds", "10", "--out", str(out / "run")]
    return CliRunner().invoke(app, [*arguments, "--markdown", str(out / "answer.md"), *options])


def test_markdown_says_nothing_of_explanations_unless_they_are_asked_for(tmp_path: Path) -> None:
    assert compare(tmp_path).exit_code == 1
    text = (tmp_path / "answer.md").read_text()
    assert "worse" in text
    assert "nothing to explain" not in text


def test_an_explanation_follows_the_answer_in_the_markdown_and_in_json_lines(tmp_path: Path) -> None:
    answer = compare(tmp_path, "--explain", "--json")
    assert answer.exit_code == 1
    events = [json.loads(line)["event"] for line in answer.stdout.splitlines()]
    assert events[-1] == "answer"
    assert events.count("gate") == 1
    text = (tmp_path / "answer.md").read_text()
    assert "\n\n### " in text
    assert "no round has a load of both arms that went well while it was traced" in text.lower()


def test_an_explanation_that_cannot_be_given_loses_nothing_of_the_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise InputError("it cannot be explained")

    monkeypatch.setattr("longlook.instruments.compare.run.explain_worse", refuse)
    answer = compare(tmp_path, "--explain")
    assert isinstance(answer.exception, InputError)
    assert "worse" in answer.stdout
    assert "worse" in (tmp_path / "answer.md").read_text()
