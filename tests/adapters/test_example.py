"""The example to copy (adapters/example): a plug-in root, so it is tested from outside, by its README's commands."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from longlook.core.paths import adapters_dir

ROOT = Path(__file__).parents[2]
EXAMPLE = adapters_dir() / "example"


def run(plugins: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """A module of this Python with the stacks of one more plug-in root."""
    env = {**os.environ, "LONGLOOK_PLUGINS": str(plugins)}
    return subprocess.run(
        (sys.executable, "-m", *arguments), cwd=ROOT, env=env, capture_output=True, text=True, check=False
    )


def commands(heading: str) -> str:
    """The commands below a heading of the README: the lines that are indented by four."""
    section = (EXAMPLE / "README.md").read_text().split(f"## {heading}\n")[1].split("\n## ")[0]
    return "".join(re.findall(r"^    (.*\n)", section, re.MULTILINE))


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_example_fulfils_the_contract_on_loopback() -> None:
    assert ".venv/bin/pytest tests/adapters -k example" in commands("Try it")
    options = ("-q", "-p", "no:cacheprovider", "-k", "example and h1")
    answer = run(EXAMPLE / "plugin", "pytest", "tests/adapters", *options)
    assert answer.returncode == 0, answer.stdout
    assert int(re.findall(r"(\d+) passed", answer.stdout)[0]) >= 25


@pytest.mark.lab
@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_example_conforms_over_a_link(tmp_path: Path) -> None:
    assert "longlook stacks check example" in commands("Try it")
    answer = run(EXAMPLE / "plugin", "longlook", "stacks", "check", "example", "--json", "--out", str(tmp_path / "out"))
    (report,) = json.loads((tmp_path / "out" / "conformance.json").read_text())
    status = {line["check"]: line["status"] for line in report["results"]}
    status.pop("SIGTERM over h1 (server)")  # a second of the wall clock, which a busy machine may take; see above
    assert "failed" not in status.values(), answer.stderr
    assert status["several connections over h1 (client)"] == "passed"


@pytest.mark.slow
def test_a_copy_made_as_the_readme_says_is_a_stack_of_its_own(tmp_path: Path) -> None:
    shutil.copytree(EXAMPLE, tmp_path / "adapters" / "example", ignore=shutil.ignore_patterns("__pycache__"))
    subprocess.run(("bash", "-ec", commands("Make it yours").replace("NAME", "mine")), cwd=tmp_path, check=True)
    plugins = tmp_path / "adapters" / "mine" / "plugin"
    answer = run(plugins, "longlook", "stacks", "list", "--json")
    assert {entry["stack"] for entry in json.loads(answer.stdout)} >= {"mine", "quic-go"}
    options = ("-q", "-p", "no:cacheprovider", "-k", "mine and h1 and (page_arrives or several or undeclared)")
    answer = run(plugins, "pytest", "tests/adapters", *options)
    assert answer.returncode == 0, answer.stdout
    assert int(re.findall(r"(\d+) passed", answer.stdout)[0]) >= 4
