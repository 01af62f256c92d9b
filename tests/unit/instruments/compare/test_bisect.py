"""A bisection from its two ends to its answer, over a stack of made-up versions and made-up results."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion
from typer.testing import CliRunner

from longlook.cli import app
from longlook.core import registry
from longlook.core.job import Job
from longlook.core.model import Run
from longlook.engines.fake import FakeEngine
from tests.support.made_up_stack import add_stack

SLOW_FROM = "0.65.0+04-3959a97"
COMMITS = tuple(
    f"0.65.0+0{number}-{commit}"
    for number, commit in enumerate(("4b653fe", "98afe1f", "77c01d2", "21cc78a", "3959a97", "c0ffee1", "9a0a390"))
)
RELEASES = ("0.63.0", "0.64.1", "0.65.0+knobs", "0.65.0")


class SlowFrom(FakeEngine):
    """Loads take a fifth longer from one version on."""

    def __init__(self, known: tuple[str, ...], slow: str) -> None:
        super().__init__(sigma=0.001)
        self._slow = known[known.index(slow) :]

    def run(self, job: Job) -> Run:
        slow = job.trial.client.version in self._slow
        self.factors = {job.trial.arm: 1.2 if slow else 1.0}
        return super().run(job)


@pytest.fixture(autouse=True)
def no_report(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr("longlook.pipeline.analyse.write_report", lambda folder, _content: folder / "index.html")
    registry.forget()
    yield
    registry.forget()


def bisect(
    monkeypatch: pytest.MonkeyPatch, out: Path, known: tuple[str, ...], slow: str, ends: tuple[str, str], *more: str
) -> str:
    """Return what `longlook bisect` prints for a stack with these versions, one of which brings the fault."""
    add_stack(out / "plugins", monkeypatch, "tree", ((name, "") for name in known))
    monkeypatch.setattr("longlook.engines.choice.make_engine", lambda _name: SlowFrom(known, slow))
    sides = [f"tree@{end}" for end in ends]
    arguments = ["bisect", *sides, "--on", "10mbit,36ms", "--rounds", "10", "--out", str(out / "runs"), *more]
    done = CliRunner().invoke(app, arguments, catch_exceptions=False)
    assert done.exit_code == 0
    return done.stdout


def test_the_commit_that_brought_the_fault_is_found_among_builds(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    answer = bisect(monkeypatch, tmp_path, COMMITS, SLOW_FROM, (COMMITS[0], COMMITS[-1]))
    assert f"first worse: tree@{SLOW_FROM}; tree@{COMMITS[3]} is not worse yet" in answer
    assert "not tried" not in answer


def test_releases_are_bisected_and_the_builds_between_them_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, snapshot: SnapshotAssertion
) -> None:
    answer = bisect(monkeypatch, tmp_path, RELEASES, "0.65.0", ("0.63.0", "0.65.0"))
    assert answer == snapshot


def test_json_names_what_was_left_out(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    lines = bisect(monkeypatch, tmp_path, RELEASES, "0.64.1", ("0.63.0", "0.65.0"), "--json").splitlines()
    found = json.loads(lines[-1])
    assert (found["first_bad"], found["last_good"], found["left_out"]) == ("0.64.1", "0.63.0", ["0.65.0+knobs"])
