"""A change of sources in a pipeline: the script that pipelines call, on a local repository, with real trials."""

import json
import os
import subprocess
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from longlook.stacks import caddy, quic_go
from tests.support.command_line import call_longlook

ROOT = Path(__file__).parents[2]
_WINDOW = "initialCongestionWindow    = 32"
_DAY = "2026-11-20T12:00:00Z"


def _git(tree: Path, *arguments: str) -> None:
    who = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
    env = {**os.environ, "GIT_AUTHOR_DATE": _DAY, "GIT_COMMITTER_DATE": _DAY}  # a commit is called the same every day
    subprocess.run(("git", "-C", str(tree), *who, *arguments), check=True, capture_output=True, env=env)


def _narrow(quic: Path) -> None:
    """Let connections of quic-go begin with 4 packets."""
    sender = quic / "internal" / "congestion" / "cubic_sender.go"
    text = sender.read_text()
    assert _WINDOW in text
    sender.write_text(text.replace(_WINDOW, "initialCongestionWindow    = 4"))


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """quic-go 0.65.0 as a repository: `main`, and the branch `feature` with a change of a document."""
    tree = tmp_path_factory.mktemp("sources") / "quic-go"
    assert quic_go.STACK.from_sources is not None
    quic_go.STACK.from_sources.unpack("0.65.0", tree)
    (tree / "longlook.toml").write_text('[[gate.cases]]\nname = "clean"\non = "10mbit,36ms"\nsize = "100KB"\n')
    _git(tree, "init", "-q", "-b", "main")
    _git(tree, "add", "-A")
    _git(tree, "commit", "-q", "-m", "Release 0.65.0")
    _git(tree, "checkout", "-q", "-b", "feature")
    (tree / "README.md").write_text("another text\n")
    _git(tree, "commit", "-q", "-a", "-m", "Another text")
    return tree


def _gate(tree: Path, out: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "LONGLOOK_TREE": str(tree), "LONGLOOK_OUT": str(out), "LONGLOOK_EXPLAIN": "false", **variables}
    env["PATH"] = f"{ROOT / '.venv' / 'bin'}:{env['PATH']}"
    return subprocess.run(
        (ROOT / "ci" / "gate.sh",), env=env, capture_output=True, text=True, check=False, cwd=out.parent
    )


def test_a_change_of_a_document_needs_no_trial(repository: Path, tmp_path: Path) -> None:
    summary = tmp_path / "summary.md"
    done = _gate(repository, tmp_path / "out", GITHUB_STEP_SUMMARY=str(summary))
    assert done.returncode == 0, done.stderr
    assert "equal byte for byte" in done.stdout
    assert not (tmp_path / "out" / "run").exists()
    assert summary.read_text() == (tmp_path / "out" / "comment.md").read_text()


def test_a_change_that_hurts_fails_and_cannot_widen_its_gate(repository: Path, tmp_path: Path) -> None:
    _narrow(repository)
    (repository / "longlook.toml").write_text('[gate]\nallows = "99%"\n')
    try:
        done = _gate(repository, tmp_path / "out")
    finally:
        _git(repository, "checkout", "-q", ".")
    assert done.returncode == 1, done.stdout + done.stderr
    out = tmp_path / "out"
    comment = (out / "comment.md").read_text()
    assert comment.startswith("<!-- longlook gate -->\n### ")
    assert "longlook.toml of the change is not used" in comment and "does not pass a gate of 5 %" in comment
    (failed,) = ET.parse(out / "junit.xml").getroot().iter("failure")
    assert "worse" in str(failed.get("message"))
    (result,) = json.loads((out / "results.sarif").read_text())["runs"][0]["results"]
    assert (result["ruleId"], result["level"]) == ("page_load_time", "error")
    (row,) = json.loads((out / "benchmark.json").read_text())
    (measures,) = json.loads((out / "bencher.json").read_text()).values()
    assert row["unit"] == "s" and measures["page_load_time"]["value"] == row["value"] > 0


def test_a_change_that_does_not_build_says_so(repository: Path, tmp_path: Path) -> None:
    broken = repository / "broken.go"
    broken.write_text("package quic\n\nfunc broken() int { return nothing }\n")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "comment.md").write_text("the answer of an earlier run")
    try:
        done = _gate(repository, tmp_path / "out")
    finally:
        broken.unlink()
    assert done.returncode == 3
    assert "the change, does not build" in done.stderr and "undefined: nothing" in done.stderr
    assert "undefined: nothing" in (tmp_path / "out" / "comment.md").read_text()


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_a_quic_go_inside_caddy_is_judged_by_its_folder_against_a_commit(tmp_path: Path) -> None:
    tree = tmp_path / "caddy"
    assert caddy.STACK.from_sources is not None and quic_go.STACK.from_sources is not None
    caddy.STACK.from_sources.unpack("2.11.7", tree)
    quic_go.STACK.from_sources.unpack("0.63.0", tree / "quic-go")
    module = tree / "go.mod"
    module.write_text(f"{module.read_text()}\nreplace github.com/quic-go/quic-go => ./quic-go\n")
    _git(tree, "init", "-q", "-b", "main")
    _git(tree, "add", "-A")
    _git(tree, "commit", "-q", "-m", "Caddy 2.11.7 with its own quic-go")
    _narrow(tree / "quic-go")
    options = ["--role", "server", "--on", "10mbit,36ms", "--size", "100KB", "--rounds", "10", "--gate", "5%"]
    sides = (f"caddy@git:{tree}#main", f"caddy@{tree}")
    answer = call_longlook("compare", *sides, *options, "--out", str(tmp_path / "out"))
    assert answer.returncode == 1, answer.stdout + answer.stderr
    assert "does not pass a gate of 5 %" in answer.stdout
    assert "of 10 rounds the contender failed in 0, the baseline in 0" in answer.stdout
