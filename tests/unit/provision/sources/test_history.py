"""The commits between two revisions: the order of `git bisect`, and histories in which no search makes sense."""

import random
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from longlook.core import InputError
from longlook.instruments.compare.bisection import BisectionResult, VersionFinding, first_bad
from longlook.provision.sources.git import Commit
from longlook.provision.sources.history import History, read_history
from tests.support.repository import Repository, new_repository


@pytest.fixture
def row(tmp_path: Path) -> tuple[Repository, list[str]]:
    """Return a repository with five commits in a row, and their names, the oldest first."""
    made = new_repository(tmp_path / "row")
    names: list[str] = []
    for number in range(5):
        names.append(made.commit(f"Commit {number}", names[-1:], {"a": str(number)}, number + 1))
    made.branch("main", names[-1])
    return made, names


def _files_of(folder: Path) -> Mapping[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_commits_between_are_read_without_a_trace(row: tuple[Repository, list[str]]) -> None:
    repository, names = row
    before = _files_of(repository.folder)
    history = read_history(repository.folder, names[0], "main~1")
    assert history.names == tuple(names[1:4])
    assert history.commit(history.bad) == Commit(names[3], "Commit 3", "Ada Example", "2026-01-04")
    assert set(history.suspects([names[0]], names[3])) == {names[1], names[2]}
    assert not history.is_merge(names[3])
    assert _files_of(repository.folder) == before


def test_a_bare_repository_and_a_work_tree_of_another_are_read(
    row: tuple[Repository, list[str]], tmp_path: Path
) -> None:
    repository, names = row
    repository.git("clone", "-q", "--bare", ".", str(tmp_path / "bare.git"))
    repository.git("worktree", "add", "-q", "--detach", str(tmp_path / "beside"), names[2])
    for folder, bad in ((tmp_path / "bare.git", "main"), (tmp_path / "beside", "main"), (tmp_path / "beside", "HEAD")):
        assert read_history(folder, names[0], bad).names == tuple(names[1 : 3 if bad == "HEAD" else 5])


def test_ends_that_are_none_are_refused(row: tuple[Repository, list[str]], tmp_path: Path) -> None:
    repository, names = row
    stranger = repository.commit("Begin anew", [], {"b": ""})
    for good, bad, message in (
        ("main", names[4], "are the same commit"),
        ("main", names[1], "is an ancestor of main"),
        (stranger, "main", "have no commit in common"),
        ("main", "mainn", "has no revision 'mainn'"),
        ("--all", "main", "has no revision '--all'"),
    ):
        with pytest.raises(InputError, match=message):
            read_history(repository.folder, good, bad)
    with pytest.raises(InputError, match="not a git repository"):
        read_history(tmp_path, "main~1", "main")


def test_a_shallow_clone_is_searched_if_it_has_all_commits_between(
    row: tuple[Repository, list[str]], tmp_path: Path
) -> None:
    repository, names = row
    repository.git("clone", "-q", "--depth=3", f"file://{repository.folder}", str(tmp_path / "shallow"))
    shallow = tmp_path / "shallow"
    assert read_history(shallow, names[2], "main").names == tuple(names[3:])
    with pytest.raises(InputError) as caught:
        read_history(shallow, names[0], "main")
    assert "shallow" in (caught.value.hint or "")
    Repository(shallow).git("fetch", "-q", "--depth=1", "origin", f"{names[0]}:refs/heads/old")
    with pytest.raises(InputError, match="shallow") as caught:
        read_history(shallow, "old", "main")
    assert "--unshallow" in (caught.value.hint or "")


def test_a_good_commit_of_another_branch_has_the_merge_base_tried(row: tuple[Repository, list[str]]) -> None:
    repository, names = row
    side = repository.commit("Beside", [names[1]], {"a": "side"}, 9)
    history = read_history(repository.folder, side, "main")
    assert (history.merge_bases, history.names) == ((names[1],), tuple(names[2:]))


def _random_history(made: Repository, draw: random.Random, count: int) -> dict[str, tuple[str, ...]]:
    """Make commits with one or two parents among the newest; return the parents by name, ancestors first."""
    parents: dict[str, tuple[str, ...]] = {made.commit("Begin", [], {"a": ""}): ()}
    for number in range(count):
        near = list(parents)[-3:]
        chosen = tuple(draw.sample(near, min(len(near), draw.choice((1, 1, 2)))))
        parents[made.commit(f"Commit {number}", chosen, {"a": str(number)}, 1 + number)] = chosen
    made.branch("main", list(parents)[-1])
    return parents


def _bad_from(culprit: str, parents: Mapping[str, tuple[str, ...]]) -> set[str]:
    found = {culprit}
    for name, own in parents.items():
        if found.intersection(own):
            found.add(name)
    return found


def _as_git_finds(folder: Path, good: str, bad: set[str], skipped: set[str]) -> set[str]:
    """Let `git bisect` itself search; return the commits that it says may be the first bad one."""
    made = Repository(folder)
    answer = made.git("bisect", "start", "--no-checkout", "main", good)
    while "first bad commit" not in answer:
        tried = made.git("rev-parse", "BISECT_HEAD")
        finding = "skip" if tried in skipped else "bad" if tried in bad else "good"
        try:
            answer = made.git("bisect", finding)
        except subprocess.CalledProcessError as error:  # only skipped commits are left
            answer = error.stdout
    lines = answer.splitlines()
    if "could be any of" not in answer:
        return {next(line.split(" ")[0] for line in lines if "is the first bad commit" in line)}
    return {line for line in lines if len(line) == 40 and set(line) <= set("0123456789abcdef")}


def _search(history: History, bad: set[str], skipped: set[str]) -> tuple[BisectionResult, list[str]]:
    tried: list[str] = []

    def test(name: str) -> VersionFinding:
        tried.append(name)
        if name in skipped:
            return VersionFinding.UNTESTABLE
        return VersionFinding.BAD if name in bad else VersionFinding.GOOD

    return first_bad(history, test), tried


@pytest.mark.parametrize("seed", range(6))
def test_histories_with_merges_end_as_git_bisect_ends_them(seed: int, tmp_path: Path) -> None:
    draw = random.Random(seed)
    made = new_repository(tmp_path / "merges")
    parents = _random_history(made, draw, 14)
    root, *_, head = parents
    history = read_history(made.folder, root, "main")
    assert set(history.names) == set(made.git("rev-list", "main", f"^{root}").splitlines())
    culprit = draw.choice(history.names)
    bad = _bad_from(culprit, parents)
    skipped = {name for name in history.names if name != head and draw.random() < seed * 0.1}
    found, tried = _search(history, bad, skipped)
    shutil.copytree(made.folder, tmp_path / "copy")
    assert {found.first_bad, *found.between} == _as_git_finds(tmp_path / "copy", root, bad, skipped)
    assert len(set(tried)) == len(tried)
    assert culprit in {found.first_bad, *found.between}
    assert found.between == tuple(name for name in history.names if name in found.between)
    if not skipped:
        assert (found.first_bad, found.between) == (culprit, ())
        assert len(tried) <= 5  # of 14 commits at most
