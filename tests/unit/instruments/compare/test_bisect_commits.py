"""`longlook bisect --git` and `compare --git-bisect-exit`, over a made-up stack whose sources are one file."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from longlook.cli import app
from longlook.core import LonglookError, find_tree, registry
from longlook.core.job import Job
from longlook.core.model import Run
from longlook.engines.fake import FakeEngine
from tests.support.made_up_stack import add_stack
from tests.support.repository import Repository, new_repository

NETWORK = ("--on", "10mbit,36ms", "--rounds", "10")


class AsSourcesSay(FakeEngine):
    """Loads take a fifth longer if the client's sources say that they are slow."""

    def __init__(self) -> None:
        super().__init__(sigma=0.001)

    def run(self, job: Job) -> Run:
        client = job.trial.client
        tree = find_tree(client.stack, client.version)
        slow = tree is not None and "slow" in (tree.folder / "program").read_text()
        self.factors = {job.trial.arm: 1.2 if slow else 1.0}
        return super().run(job)


@pytest.fixture(autouse=True)
def laboratory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr("longlook.pipeline.analyse.write_report", lambda folder, _content: folder / "index.html")
    monkeypatch.setattr("longlook.engines.choice.make_engine", lambda _name: AsSourcesSay())
    monkeypatch.setenv("LONGLOOK_CACHE", str(tmp_path / "cache"))
    add_stack(tmp_path / "plugins", monkeypatch, "made", [("1.0", "2026-01-01")])
    yield
    registry.forget()


def history(folder: Path, *programs: str) -> tuple[Repository, list[str]]:
    """Return a repository whose commits in a row have these programs, and their names."""
    made = new_repository(folder)
    names: list[str] = []
    for number, program in enumerate(programs):
        names.append(made.commit(f"Make it {program}", names[-1:], {"program": program}, number + 1))
    made.branch("main", names[-1])
    return made, names


def longlook(*arguments: str) -> Result:
    return CliRunner().invoke(app, [*arguments, *NETWORK])


def test_the_answer_names_the_commit_and_those_that_do_not_build_before_it(tmp_path: Path) -> None:
    made, names = history(tmp_path / "made", "fast", "fast 2", "fast", "broken", "slow", "slow 2")
    done = longlook("bisect", "--git", str(made.folder), names[0], "main", "--out", str(tmp_path / "runs"))
    assert done.exit_code == 0, done.output
    short = [name[:7] for name in names]
    steps = [line for line in done.stdout.splitlines() if line[:1].isdigit() and ". " in line[:4]]
    assert steps[0].startswith(f"1. {short[5]} Make it slow 2: worse: 10mbit,36ms: page_load_time")
    assert f"{short[3]} Make it broken: cannot be tested: syntax error" in done.stdout
    assert f"{short[2]} Make it fast: not worse: its program equals that of {short[0]} byte for byte" in done.stdout
    answer = done.stdout[done.stdout.index("first worse") :].splitlines()
    assert answer[:4] == [
        f"first worse: {short[4]} Make it slow (Ada Example, 2026-01-05)",
        f"  {short[2]} Make it fast (Ada Example, 2026-01-03) is not worse yet",
        "  between them could not be tested, so the first may be one of these:",
        f"    {short[3]} Make it broken (Ada Example, 2026-01-04)",
    ]
    folders = {path.name for path in (tmp_path / "runs").iterdir() if path.is_dir()}
    assert folders == {names[4][:12], names[5][:12]}  # neither a program that is the baseline's, nor one that is none


def test_json_has_the_commits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _, names = history(tmp_path / "made", "fast", "slow")
    monkeypatch.chdir(tmp_path)
    done = longlook("bisect", "--git", "made", "main~1", "main", "--stack", "made", "--json")
    found = json.loads(done.stdout.splitlines()[-1])
    effects = found.pop("effects")
    assert effects["10mbit,36ms: page_load_time"]["value"] == pytest.approx(-20, abs=1)
    assert found == {
        "event": "found",
        "stack": "made",
        "last_good": names[0],
        "first_bad": names[1],
        "untestable_between": [],
        "commits": {
            names[0]: {"title": "Make it fast", "author": "Ada Example", "authored": "2026-01-01"},
            names[1]: {"title": "Make it slow", "author": "Ada Example", "authored": "2026-01-02"},
        },
    }


def test_a_program_that_is_the_good_one_is_not_worse(tmp_path: Path) -> None:
    made, names = history(tmp_path / "made", "fast", "fast")
    done = longlook("bisect", "--git", str(made.folder), names[0], names[1], "--out", str(tmp_path / "runs"))
    assert isinstance(done.exception, LonglookError)
    assert "its program equals that of" in done.exception.message
    assert not (tmp_path / "runs").exists()


def test_a_merge_base_that_is_worse_ends_the_search(tmp_path: Path) -> None:
    made, names = history(tmp_path / "made", "slow", "slow 2")
    mended = made.commit("Mend it", [names[0]], {"program": "fast"}, 9)
    done = longlook("bisect", "--git", str(made.folder), mended, "main", "--out", str(tmp_path / "runs"))
    assert isinstance(done.exception, LonglookError)
    assert done.exception.message.startswith(f"the merge base {names[0][:7]} is worse, too")
    assert f"{mended[:7]} is no ancestor of BAD, so their merge base {names[0][:7]} is tried first" in done.output


def test_sources_of_no_stack_and_a_stack_without_a_repository_are_refused(tmp_path: Path) -> None:
    made = new_repository(tmp_path / "other")
    first = made.commit("Begin", [], {"letter": "a"})
    made.branch("main", made.commit("Go on", [first], {"letter": "b"}))
    done = longlook("bisect", "--git", str(made.folder), first, "main")
    assert f"{made.folder} at" in str(done.exception)
    assert "made: the sources have no program" in str(done.exception)
    done = longlook("bisect", "made@1.0", "made@1.0", "--stack", "made")
    assert "--stack is about the commits of --git" in str(done.exception)


@pytest.mark.parametrize(("program", "code"), [("fast 2", 0), ("slow", 1), ("broken", 125)])
def test_git_bisect_is_told_good_bad_and_neither(program: str, code: int, tmp_path: Path) -> None:
    made, names = history(tmp_path / "made", "fast", program)
    sides = [f"made@git:{made.folder}#{name}" for name in names]
    done = longlook("compare", *sides, "--git-bisect-exit", "--out", str(tmp_path / "run"))
    assert done.exit_code == code, done.output
    assert ("skipped: syntax error" in done.stdout) == (code == 125)
