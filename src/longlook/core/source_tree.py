"""Sources of a stack that are no release: a folder, a commit, or a release with patches, copied into the cache.

`provision.sources` copies them. A copy never changes, and its name in results is the name of a version of its stack.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from longlook.core import codec, files
from longlook.core.paths import cache_dir

SOURCE_RECORD = "source.json"
_TREE = "tree"
_OF_RUNS: "dict[tuple[str, str], SourceTree]" = {}


@dataclass(frozen=True)
class SourceTree:
    """A copy of sources. `of` is the known version that they are nearest to: its adapter, knobs and protocols count.

    `digest` is of the paths, the permission to execute, and the contents of all files. If there are
    changes that nobody committed, `commit` is the commit below them.
    """

    stack: str
    version: str  # the name in results: `main~3-4f2a91c`, `main-4f2a91c-dirty-07c1e2a`, `0.65.0+fix-91d0aa3`
    of: str
    origin: str  # as it was named, with absolute paths
    digest: str
    says: str = ""  # the version that the sources state, or git by their tags
    commit: str = ""
    title: str = ""  # of the commit
    author: str = ""  # its name, without an address
    authored: str = ""  # ISO date
    dirty: bool = False
    made_of: str = ""  # of a tunable build: the digest of the sources and of the knobs' patches
    untunable: str = ""  # why the knobs' patches of `of` do not apply

    @property
    def reported(self) -> str:
        """The version that its program reports: `0.65.0+sources`. Which sources these are, the program's digest says:
        equal code has to give equal bytes, whatever its folder or commit is called.
        """
        return f"{self.of}+sources"

    @property
    def folder(self) -> Path:
        """The folder of the copy."""
        return tree_folder(self.stack, self.version) / _TREE


def tree_folder(stack: str, version: str) -> Path:
    """Return the folder of the cache that holds a copy and its record."""
    return cache_dir() / "sources" / stack / version


def find_tree(stack: str, version: str) -> SourceTree | None:
    """Return the record of this name, of a copy or of a run folder that was opened; None if there is none."""
    if not version or "/" in version or version in (".", ".."):
        return None
    try:
        return codec.decode(SourceTree, files.read_json(tree_folder(stack, version) / SOURCE_RECORD))
    except (OSError, ValueError, TypeError, KeyError):
        return _OF_RUNS.get((stack, version))


def remember(records: Any) -> None:
    """Know the sources that a run folder names, of which this machine may have no copy; ValueError if it is damaged."""
    if not isinstance(records, list):
        raise ValueError("no list")  # noqa: TRY004 (of a file)
    for record in records:
        tree = codec.decode(SourceTree, record)
        _OF_RUNS[tree.stack, tree.version] = tree
