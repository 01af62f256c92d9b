"""Gates with real programs in virtual time: a stack with a history, of which some versions really are slower."""

import json
import os
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from longlook.core.run_folder import RunFolder
from tests.support.command_line import call_longlook, longlook

pytestmark = [pytest.mark.lab, pytest.mark.slow, pytest.mark.timeout(600)]

PLUGINS = {**os.environ, "LONGLOOK_PLUGINS": str(Path(__file__).parents[1] / "support" / "regressed")}
FAST = ["--on", "20mbit,30ms", "--size", "100KB", "--rounds", "10"]


def test_a_version_that_is_slower_fails_the_gate(tmp_path: Path) -> None:
    files = ["--out", "run", "--junit", "gate.xml", "--markdown", "gate.md"]
    answer = longlook(
        "compare", "regressed@2.0", "regressed@4.0", *FAST, "--gate", "5%", *files, cwd=tmp_path, env=PLUGINS
    )
    assert answer.returncode == 1, answer.stderr
    assert "does not pass a gate of 5 %" in answer.stdout
    suite = ET.parse(tmp_path / "gate.xml").getroot()[0]
    assert suite.attrib["failures"] == "1"
    assert "regressed@4.0 against regressed@2.0" in (tmp_path / "gate.md").read_text()
    assert (tmp_path / "run" / "report" / "index.html").exists()
    assert {"regressed@2.0", "regressed@4.0"} <= RunFolder.open(tmp_path / "run").manifest["programs"].keys()


def test_versions_that_are_alike_pass(tmp_path: Path) -> None:
    network = ["--on", "20mbit,30ms", "--size", "100KB"]
    answer = longlook("compare", "regressed@1.0", "regressed@2.0", *network, "--json", cwd=tmp_path, env=PLUGINS)
    assert answer.returncode == 0, answer.stderr
    last = json.loads(answer.stdout.splitlines()[-1])
    assert (last["event"], last["passed"], last["answer"]) == ("gate", True, "passed")
    assert {case["rounds"] for case in last["cases"]} == {10}  # they decided


def test_a_contender_that_loses_half_of_its_transfers_fails_the_gate(tmp_path: Path) -> None:
    network = ["--on", "20mbit,30ms,0.5%", "--size", "100KB"]
    answer = longlook("compare", "regressed@2.0", "regressed@7.0", *network, "--json", cwd=tmp_path, env=PLUGINS)
    assert answer.returncode == 1, answer.stderr
    last = json.loads(answer.stdout.splitlines()[-1])
    assert (last["event"], last["passed"], last["answer"]) == ("gate", False, "worse")
    failures = last["cases"][-1]
    assert (failures["metric"], failures["answer"]) == ("failed rounds", "worse")
    assert 0 < failures["failed"]["contender"] < failures["rounds"]


def test_the_first_slower_version_is_found_past_one_that_cannot_be_built(tmp_path: Path) -> None:
    arguments = ["regressed@1.0", "regressed@6.0", *FAST, "--out", "search", "--json"]
    answer = longlook("bisect", *arguments, cwd=tmp_path, env=PLUGINS)
    assert answer.returncode == 0, answer.stderr
    lines = [json.loads(line) for line in answer.stdout.splitlines()]
    steps = {line["version"]: line["finding"] for line in lines if line["event"] == "step"}
    assert steps == {"6.0": "bad", "3.0": "untestable", "4.0": "bad", "2.0": "good"}
    found = lines[-1]
    assert (found["last_good"], found["first_bad"], found["untestable_between"]) == ("2.0", "4.0", ["3.0"])
    assert all(effect["value"] < -5 for effect in found["effects"].values())


def test_a_bad_end_that_is_not_worse_is_an_error(tmp_path: Path) -> None:
    answer = longlook("bisect", "regressed@4.0", "regressed@6.0", *FAST, cwd=tmp_path, env=PLUGINS)
    assert answer.returncode == 1
    assert "regressed@6.0 is not worse than regressed@4.0 by more than 5 %" in answer.stderr


@pytest.mark.parametrize(
    ("arguments", "messages"),
    [
        (["compare", "regressed@1.0", "regressed@9.0"], ["9.0", "known"]),
        (["compare", "regressed@1.0", "regresed"], ["regresed", "regressed"]),
        (["compare", "regressed@1.0", "regressed", "--role", "sever"], ["sever", "server"]),
        (["compare", "regressed@1.0", "regressed", "--gate", "5"], ["--gate", "5%"]),
        (["compare", "regressed@1.0", "regressed", "--junit", "nowhere/gate.xml"], ["--junit", "nowhere"]),
        (["bisect", "regressed@4.0", "regressed@1.0"], ["not older", "1.0, 2.0"]),
        (["bisect", "regressed@4.0", "quic-go"], ["different stacks"]),
    ],
)
def test_bad_input(tmp_path: Path, arguments: list[str], messages: list[str]) -> None:
    answer = call_longlook(*arguments, "--on", "20mbit,30ms", cwd=tmp_path, env=PLUGINS)
    assert answer.returncode == 2, answer.stderr
    assert all(message in answer.stderr for message in messages), answer.stderr
    assert "Traceback" not in answer.stderr
