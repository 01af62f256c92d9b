"""Git repositories for tests: commits with chosen parents and files, made without a work tree."""

import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

_IDENTITY = {
    f"GIT_{who}_{what}": value
    for who in ("AUTHOR", "COMMITTER")
    for what, value in (("NAME", "Ada Example"), ("EMAIL", "ada@example.org"))
}


@dataclass(frozen=True)
class Repository:
    """A repository in `folder`, whose branch is `main`."""

    folder: Path

    def git(self, *arguments: str, given: str = "") -> str:
        """Return what a git command prints; CalledProcessError if it fails."""
        env = {**os.environ, **_IDENTITY, "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null"}
        done = subprocess.run(
            ("git", "-C", str(self.folder), *arguments),
            input=given, capture_output=True, text=True, check=True, env=env,
        )  # fmt: skip
        return done.stdout.strip()

    def commit(self, title: str, parents: Sequence[str], files: Mapping[str, str], day: int = 1) -> str:
        """Make a commit with these files alone, authored on a day of January 2026; return its name."""
        rows = [f"100644 blob {self.git('hash-object', '-w', '--stdin', given=files[name])}\t{name}" for name in files]
        tree = self.git("mktree", given="".join(f"{row}\n" for row in sorted(rows)))
        date = f"2026-01-{day:02}T12:00:00+0000"
        marked = [part for parent in parents for part in ("-p", parent)]
        env = {"GIT_AUTHOR_DATE": date, "GIT_COMMITTER_DATE": date}
        done = subprocess.run(
            ("git", "-C", str(self.folder), "commit-tree", tree, "-m", title, *marked),
            capture_output=True, text=True, check=True, env={**os.environ, **_IDENTITY, **env},
        )  # fmt: skip
        return done.stdout.strip()

    def branch(self, name: str, commit: str) -> None:
        """Let a branch end at a commit."""
        self.git("update-ref", f"refs/heads/{name}", commit)


def new_repository(folder: Path) -> Repository:
    """Return a new repository without commits, in a new folder."""
    folder.mkdir()
    made = Repository(folder)
    made.git("init", "-q", "--initial-branch=main")
    return made
