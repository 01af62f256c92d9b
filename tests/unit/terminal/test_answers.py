"""Answers on a terminal."""

from dataclasses import replace
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from longlook.terminal.answers import answers_shown
from longlook.terminal.console import output_console
from longlook.terminal.printer import PeoplePrinter
from tests.data.answers import answer


def test_square_brackets_of_reasons_are_printed_and_causes_that_could_not_be_asked_are_named(
    capsys: pytest.CaptureFixture[str], snapshot: SnapshotAssertion
) -> None:
    made = answer()
    reason = "[/x] in [network.surgery]: unknown"
    finding = replace(made.findings[0], cures=(), transplants=(), untestable=(reason,))
    broken = {"mine": "its detector failed with ValueError: [/x]"}
    shown_answers = answers_shown([replace(made, findings=(finding,), broken=broken)], Path("run"))
    PeoplePrinter(output_console()).show(shown_answers)
    shown = " ".join(capsys.readouterr().out.split())
    assert reason in shown
    assert shown == snapshot
