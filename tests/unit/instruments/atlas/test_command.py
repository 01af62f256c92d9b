"""The atlas on a terminal and as JSON."""

import json

import pytest
from syrupy.assertion import SnapshotAssertion

from longlook.instruments.atlas.run import ToRun
from longlook.instruments.atlas.show import to_run_shown
from longlook.terminal.console import output_console
from longlook.terminal.printer import JsonPrinter, PeoplePrinter

STUDIES = [ToRun("one", 80, 10, 30, (), 0.42, "2026-11-23"), ToRun("two", 100, 0, None, ("quic-go@0.29.2",), 12.3)]
LEFT_OUT = {"certify": "it checks the laboratory itself"}


def test_what_is_to_run_is_counted(capsys: pytest.CaptureFixture[str], snapshot: SnapshotAssertion) -> None:
    PeoplePrinter(output_console()).show(to_run_shown(STUDIES, LEFT_OUT))
    lines = capsys.readouterr().out.splitlines()
    rows = {line.split()[0]: line.split()[1:] for line in lines if line}
    assert rows["one"] == ["80", "10", "30", "40", "0.4", "2026-11-23"]
    assert rows["two"] == ["100", "0", "?", "100", "12", "quic-go@0.29.2"]
    assert rows["all"] == ["180", "10", "140", "13"]
    assert lines[-1] == snapshot


def test_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    JsonPrinter().show(to_run_shown(STUDIES, LEFT_OUT))
    found = json.loads(capsys.readouterr().out)
    assert [(item["to_run"], item["minutes"]) for item in found["studies"]] == [(40, 0.42), (100, 12.3)]
    assert found["left_out"] == LEFT_OUT
