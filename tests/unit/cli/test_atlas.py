"""The atlas on a terminal and as JSON."""

import json

import pytest

from longlook.cli.show.atlas import show_to_run
from longlook.pipeline.atlas import ToRun

STUDIES = [ToRun("one", 80, 10, 30, ()), ToRun("two", 100, 0, None, ("quic-go@0.29.2",))]
LEFT_OUT = {"certify": "it checks the laboratory itself"}


def test_what_is_to_run_is_counted(capsys: pytest.CaptureFixture[str]) -> None:
    show_to_run(STUDIES, LEFT_OUT, as_json=False)
    lines = capsys.readouterr().out.splitlines()
    assert next(line for line in lines if line.split()[:1] == ["one"]).split() == ["one", "80", "10", "30", "40"]
    assert next(line for line in lines if line.split()[:1] == ["two"]).split()[3:] == ["?", "100", "quic-go@0.29.2"]
    assert next(line for line in lines if line.split()[:1] == ["all"]).split() == ["all", "180", "10", "140"]
    assert lines[-1] == "left out: certify: it checks the laboratory itself"


def test_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    show_to_run(STUDIES, LEFT_OUT, as_json=True)
    found = json.loads(capsys.readouterr().out)
    assert [item["to_run"] for item in found["studies"]] == [40, 100] and found["left_out"] == LEFT_OUT
