"""One result in every form that a command's options may ask for."""

import json
from pathlib import Path

import pytest
from rich.text import Text
from syrupy.assertion import SnapshotAssertion

from longlook.terminal.console import PlainConsole, output_console
from longlook.terminal.printer import (
    FilePrinter,
    JsonLinesPrinter,
    JsonPrinter,
    MarkdownPrinter,
    PeoplePrinter,
    Printer,
    Printers,
    Prose,
    Renderings,
)

LONG = " ".join(["word"] * 60)
RESULT = Renderings(
    people=lambda: [LONG, Text(LONG)],
    data=lambda: {"answer": 1},
    lines=lambda: [{"event": "first"}, {"event": "last"}],
    markdown=lambda: "# Answer\n",
)


def _never() -> list[str]:
    raise AssertionError


def printed(printer: Printer, capsys: pytest.CaptureFixture[str], result: Renderings = RESULT) -> str:
    printer.report("half of it", event="step", done=1)
    printer.report("", event="quiet")
    printer.show(result)
    return capsys.readouterr().out


def test_people_get_texts_and_a_plain_text_keeps_its_line(capsys: pytest.CaptureFixture[str]) -> None:
    told, unwrapped, *wrapped = printed(PeoplePrinter(output_console()), capsys).splitlines()
    assert (told, unwrapped) == ("half of it", LONG)
    assert len(wrapped) == 2 and " ".join(line.strip() for line in wrapped) == LONG


def test_prose_breaks_between_words_on_a_terminal_and_stays_whole_in_a_pipe(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    result = Renderings(people=lambda: [Prose(LONG)])
    PeoplePrinter(output_console()).show(result)
    assert capsys.readouterr().out == LONG + "\n"
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    PeoplePrinter(PlainConsole(width=40)).show(result)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) > 1 and all(len(line) <= 40 and line.split(" ")[-1] in {"word", ""} for line in lines)
    assert " ".join(line.strip() for line in lines) == LONG


def test_machines_get_one_document_or_a_line_for_everything(
    capsys: pytest.CaptureFixture[str], snapshot: SnapshotAssertion
) -> None:
    assert json.loads(printed(JsonPrinter(), capsys)) == {"answer": 1}
    events = [json.loads(line)["event"] for line in printed(JsonLinesPrinter(), capsys).splitlines()]
    assert events == ["step", "quiet", "first", "last"]
    assert printed(MarkdownPrinter(output_console()), capsys) == snapshot


def test_a_form_is_made_only_if_it_is_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    assert json.loads(printed(JsonPrinter(), capsys, Renderings(_never, list, _never))) == []


def test_a_file_has_every_result_so_far_beside_what_is_printed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = [FilePrinter(tmp_path / "answer.md", "markdown"), FilePrinter(tmp_path / "answer.xml", "junit")]
    printers = Printers([JsonPrinter(), *files])
    printers.show(RESULT)
    assert (tmp_path / "answer.md").read_text() == "# Answer\n"
    printers.show(RESULT)
    assert (tmp_path / "answer.md").read_text() == "# Answer\n\n# Answer\n"
    assert not (tmp_path / "answer.xml").exists(), "the result has no such form"
    assert capsys.readouterr().out.count('"answer"') == 2
