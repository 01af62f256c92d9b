"""Reads repositories by git, without running anything that a repository names, and without writing to it.

No hook, filter or monitor of a repository's configuration runs: files of a commit are its blobs, byte for byte.
"""

import os
import subprocess
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from longlook.core import InputError, MachineError

_SAFE = ("-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "core.quotePath=false")
_LINK, _EXECUTABLE, _MODULE = "120000", "100755", "160000"


@dataclass(frozen=True)
class Commit:
    """A commit: its full name, the first line of its message, its author's name and ISO date."""

    name: str
    title: str
    author: str
    authored: str


@dataclass(frozen=True)
class Blob:
    """A file of a commit; `is_link` says that its contents are the target of a symbolic link."""

    path: PurePosixPath
    contents: bytes
    is_executable: bool
    is_link: bool


def is_in_repository(folder: Path) -> bool:
    """Return whether a folder belongs to a repository's work tree; InputError if git refuses to read the repository,
    such as one that belongs to somebody else.
    """
    try:
        return _text(folder, "rev-parse", "--is-inside-work-tree").strip() == "true"
    except InputError as error:
        if "not a git repository" in error.message:
            return False
        raise


def commit_of(repository: Path, revision: str) -> Commit:
    """Return the commit of a revision; InputError if the repository or the revision is not there."""
    if not repository.is_dir():
        raise InputError(f"there is no folder {repository}", "name a repository on this machine")
    _text(repository, "rev-parse", "--git-dir")
    try:
        name = _text(repository, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
    except InputError as error:
        raise InputError(f"{repository} has no revision {revision!r}", _missing(repository)) from error
    lines = _text(repository, "show", "-s", "--no-show-signature", "--format=%s%n%an%n%as", name.strip()).split("\n")
    return Commit(name.strip(), *lines[:3])


def _missing(repository: Path) -> str:
    if _text(repository, "rev-parse", "--is-shallow-repository").strip() == "true":
        return "the clone is shallow: git fetch --unshallow, or in a pipeline fetch-depth: 0"
    return "git -C REPOSITORY branch --all and git tag show what there is; fetch what a server has"


def described(repository: Path, revision: str) -> str:
    """Return the nearest tag before a revision; "" if there is none."""
    try:
        return _text(repository, "describe", "--tags", "--abbrev=0", "--end-of-options", revision).strip()
    except InputError:
        return ""


def merge_base(repository: Path, revision: str, other: str) -> Commit:
    """Return the newest commit that two revisions have in common; InputError if there is none."""
    first, second = commit_of(repository, revision), commit_of(repository, other)
    try:
        name = _text(repository, "merge-base", first.name, second.name)
    except InputError as error:
        raise InputError(f"{revision} and {other} have no commit in common", _missing(repository)) from error
    return commit_of(repository, name.strip())


def file_at(repository: Path, commit: str, path: str) -> bytes | None:
    """Return the contents of a file of a commit, by its path from the repository's root; None if it has none."""
    if not _run(repository, "ls-tree", "--full-tree", commit, "--", path):
        return None
    return _run(repository, "cat-file", "blob", f"{commit}:{path}")


def branch_of(folder: Path) -> str:
    """Return the branch that a work tree is on; "" if it is on none."""
    return _text(folder, "branch", "--show-current").strip()


def changed(folder: Path) -> bool:
    """Return whether files below a folder, or in its sub-modules, differ from the commit, or are unknown to git and not
    ignored.

    Filters of the repository do not run, so that their files count as changed if git has to look at these.
    """
    options = ("--porcelain=v1", "-z", "--untracked-files=normal", "--ignore-submodules=dirty")
    if _run(folder, "status", *options, "--", ".", also=_no_filters(folder)):
        return True
    inside = (folder / name for name in _names(_run(folder, "ls-files", "-z", "--cached")))
    return any(changed(path) for path in inside if path.is_dir() and (path / ".git").exists())


def _no_filters(folder: Path) -> dict[str, str]:
    """Return variables for git with which no filter of a repository's configuration runs (gitattributes(5), filter)."""
    known = _names(_run(folder, "config", "-z", "--name-only", "--list"))
    drivers = {name[: name.rindex(".")] for name in known if name.startswith("filter.") and name.count(".") > 1}
    off = {"clean": "", "smudge": "", "process": "", "required": "false"}
    pairs = [(f"{driver}.{key}", value) for driver in sorted(drivers) for key, value in off.items()]
    found = {"GIT_CONFIG_COUNT": str(len(pairs))}
    for number, (key, value) in enumerate(pairs):
        found |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
    return found


def root_of(folder: Path) -> Path:
    """Return the folder of the work tree that a folder belongs to."""
    return Path(_text(folder, "rev-parse", "--show-toplevel").removesuffix("\n"))


def listed(folder: Path, unneeded: Collection[str] = ()) -> list[Path]:
    """Return the files below a folder that git knows or would add, relative to it; sub-modules with their own files.

    Sub-modules that are `unneeded` are left out. InputError if another is not checked out.
    """
    found: list[Path] = []
    for name in sorted({*_names(_run(folder, "ls-files", "-z", "--cached", "--others", "--exclude-standard"))}):
        path = folder / name
        if path.is_dir() and not path.is_symlink():
            if name in unneeded:
                continue
            if not (path / ".git").exists():
                raise InputError(f"the sub-module {path} is not checked out", "git submodule update --init --recursive")
            found += [Path(name) / inner for inner in listed(path)]
        elif path.is_symlink() or path.exists():  # one that was removed and not committed is in the index yet
            found.append(Path(name))
    return found


def blobs(folder: Path, commit: str, unneeded: Collection[str] = ()) -> Iterator[Blob]:
    """Yield the files that a commit has below a folder of its repository.

    Sub-modules that are `unneeded` are left out; InputError if there is another.
    """
    prefix = _text(folder, "rev-parse", "--show-prefix").strip()
    entries = []
    for line in _names(_run(folder, "ls-tree", "-r", "-z", "--full-tree", f"{commit}:{prefix}")):
        facts, _, path = line.partition("\t")
        mode, _, name = facts.split(" ")
        if mode == _MODULE:
            if path in unneeded:
                continue
            raise InputError(
                f"{path} is a sub-module, whose files commit {commit[:7]} does not have",
                "check the revision out with its sub-modules, and name the folder: ./PATH",
            )
        entries.append((path, mode, name))
    request = "".join(f"{name}\n" for _, _, name in entries)
    answer = _run(folder, "cat-file", "--batch", "--buffer", given=request.encode())
    at = 0
    for path, mode, _ in entries:
        end = answer.index(b"\n", at)
        size = int(answer[at:end].split(b" ")[2])
        yield Blob(PurePosixPath(path), answer[end + 1 : end + 1 + size], mode == _EXECUTABLE, mode == _LINK)
        at = end + 1 + size + 1


def lines(folder: Path, *arguments: str) -> list[str]:
    """Return the lines that a command of git prints which reads only; InputError with git's words if it fails."""
    return _text(folder, *arguments).splitlines()


def _names(answer: bytes) -> list[str]:
    return [name for name in os.fsdecode(answer).split("\0") if name]


def _text(folder: Path, *arguments: str) -> str:
    return os.fsdecode(_run(folder, *arguments))


def _run(folder: Path, *arguments: str, given: bytes = b"", also: Mapping[str, str] | None = None) -> bytes:
    env = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    env |= {
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_TERMINAL_PROMPT": "0",
        "LC_ALL": "C",
        "GIT_NO_LAZY_FETCH": "1",
        **(also or {}),
    }
    try:
        done = subprocess.run(
            ("git", *_SAFE, "-C", str(folder), *arguments), input=given, capture_output=True, check=False, env=env
        )
    except FileNotFoundError as error:
        raise MachineError("git is not installed", "sudo apt-get install git") from error
    if done.returncode != 0:
        said = [line for line in os.fsdecode(done.stderr).splitlines() if line.strip()]
        why = said[0].removeprefix("fatal: ") if said else f"git {arguments[0]} failed"
        raise InputError(f"{folder}: {why}", said[-1].strip() if len(said) > 1 else "is it a repository?")
    return done.stdout
