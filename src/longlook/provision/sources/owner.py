"""Which stack's sources a commit has."""

import tempfile
from pathlib import Path

from longlook.core import Stack, registry
from longlook.provision.sources import git
from longlook.provision.sources.resolve import read_commit, stack_of
from longlook.provision.sources.snapshot import write_files


def stack_at(repository: Path, revision: str) -> Stack:
    """Return the one stack whose sources a revision of a repository has; InputError if it is none, or several."""
    commit = git.commit_of(repository, revision)
    with tempfile.TemporaryDirectory(prefix="longlook-sources-") as temporary:
        folder = Path(temporary, "tree")
        unneeded = [
            path for stack in registry.stacks().values() if stack.from_sources for path in stack.from_sources.unneeded
        ]
        write_files(read_commit(repository, commit.name, unneeded), folder)
        return stack_of(folder, f"{repository} at {revision}")
