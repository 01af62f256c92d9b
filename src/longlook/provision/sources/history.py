"""The commits between two revisions of a repository, as `git bisect` sees them; no ref of the repository is written."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from longlook.core import InputError
from longlook.provision.sources import git
from longlook.provision.sources.git import Commit

_CUT = "the clone is shallow, and commits between them are missing"
_DEEPEN = "git fetch --unshallow, or in a pipeline fetch-depth: 0"


@dataclass(frozen=True)
class History:
    """Commits of a repository that `bad` has and `good` lacks: `names`, parents before children, `bad` last.

    Commits have their full names here. `repository` is its folder, or the folder in it that has the stack.
    `merge_bases` are the best common ancestors, if `good` is no ancestor of `bad`; else there are none.
    """

    repository: Path
    good: str
    bad: str
    merge_bases: tuple[str, ...]
    names: tuple[str, ...]

    def suspects(self, good: Sequence[str], bad: str) -> list[str]:
        """Return the commits that may be the first bad one if no ancestor of one of `good` is, and if `bad` is bad.

        `bad` is not among them. The first splits the others best: of its ancestors and its other commits, the fewer
        are the most (`git rev-list --bisect-all`).
        """
        excluded = [f"^{name}" for name in good]
        found = git.lines(self.repository, "rev-list", "--bisect-all", bad, *excluded)
        return [name for name in (line.split(" ")[0] for line in found) if name != bad]

    def by_age(self, names: Sequence[str]) -> tuple[str, ...]:
        """Return commits with parents before children."""
        wanted = frozenset(names)
        return tuple(name for name in (*self.merge_bases, self.good, *self.names) if name in wanted)

    def commit(self, name: str) -> Commit:
        """Return what the repository says about a commit."""
        return git.commit_of(self.repository, name)

    def is_merge(self, name: str) -> bool:
        """Return whether a commit has several parents."""
        return len(git.lines(self.repository, "rev-list", "--max-count=1", "--min-parents=2", name)) == 1


def read_history(repository: Path, good: str, bad: str) -> History:
    """Return the commits between two revisions of a repository on this machine, which may be bare.

    InputError if it is no repository or lacks a revision, and if the clone is too shallow to have all commits between
    them. InputError, too, if they are one commit, in the wrong order or without a common ancestor.
    """
    first, last = (git.commit_of(repository, revision).name for revision in (good, bad))
    if first == last:
        raise InputError(f"{good} and {bad} are the same commit {first[:7]}", "name an older and a newer one")
    is_shallow = git.lines(repository, "rev-parse", "--is-shallow-repository") == ["true"]
    bases = _merge_bases(repository, first, last)
    if last in bases:
        raise InputError(f"{bad} is an ancestor of {good}", "name the older one first: GOOD BAD")
    is_ancestor = bases == (first,)
    if not bases or (is_shallow and not is_ancestor):
        _refuse_strangers(good, bad, is_shallow=is_shallow)
    between = ("rev-list", "--topo-order", "--reverse", last, f"^{first}")
    if is_shallow and git.lines(repository, *between, "--max-parents=0"):
        raise InputError(f"{good} and {bad}: {_CUT}", _DEEPEN)
    names = tuple(git.lines(repository, *between))
    return History(repository, first, last, () if is_ancestor else bases, names)


def _refuse_strangers(good: str, bad: str, *, is_shallow: bool) -> None:
    if is_shallow:
        raise InputError(f"{good} is no ancestor of {bad} as far as the clone goes, which is shallow", _DEEPEN)
    raise InputError(f"{good} and {bad} have no commit in common", "name revisions of one history")


def _merge_bases(repository: Path, good: str, bad: str) -> tuple[str, ...]:
    """Return the common ancestors of two commits that are no ancestors of others."""
    try:
        return tuple(git.lines(repository, "merge-base", "--all", good, bad))
    except InputError:  # git says nothing and fails if there are none
        return ()
