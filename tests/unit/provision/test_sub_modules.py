"""Sub-modules of repositories whose sources are built: needed ones are refused if they are missing, others left out."""

import subprocess
from pathlib import Path

import pytest

from longlook.core import InputError
from longlook.provision.sources import git


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Return a repository with a file, and the sub-module tests/munit, which is not checked out."""
    folder = tmp_path / "repository"
    (folder / "tests" / "munit").mkdir(parents=True)
    (folder / "CMakeLists.txt").write_text("project(ngtcp2)\n")
    run = ("git", "-C", str(folder), "-c", "user.name=A", "-c", "user.email=a@example.org")
    for arguments in (
        ("init", "--quiet", "--initial-branch=main"),
        ("add", "CMakeLists.txt"),
        ("update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},tests/munit"),
        ("commit", "--quiet", "--message=one"),
    ):
        subprocess.run((*run, *arguments), check=True)
    return folder


def test_a_sub_module_that_nothing_needs_is_left_out_of_folders_and_commits(repository: Path) -> None:
    commit = git.commit_of(repository, "main").name
    assert git.listed(repository, ("tests/munit",)) == [Path("CMakeLists.txt")]
    assert [str(blob.path) for blob in git.blobs(repository, commit, ("tests/munit",))] == ["CMakeLists.txt"]


def test_any_other_is_refused(repository: Path) -> None:
    commit = git.commit_of(repository, "main").name
    with pytest.raises(InputError, match="tests/munit is not checked out"):
        git.listed(repository, ("tests/other",))
    with pytest.raises(InputError, match="tests/munit is a sub-module"):
        list(git.blobs(repository, commit))
