"""The grammar of sources behind `@`: `./tree`, `/abs/tree`, `git:PATH#REV`, `0.65.0+fix.patch`, and a release `0.64.0`.

Behind any of them `,of=RELEASE` says which known version they are nearest to.
"""

import re
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from longlook.core import InputError

_GIT = "git:"
_FOLDERS = ("./", "../", "/", "~/")
_PATCHES = (".patch", ".diff")
_OF = ",of="
_RELEASE = re.compile(r"(?P<version>\d+(?:\.\d+)+[A-Za-z0-9.-]*)(?:~recipe-(?P<recipe>.+))?", re.ASCII)


@dataclass(frozen=True)
class Folder:
    """A folder as it is now, with changes that nobody committed."""

    path: Path
    of: str

    def __str__(self) -> str:
        """The specification with absolute paths."""
        return f"{self.path}{_written(self.of)}"


@dataclass(frozen=True)
class Revision:
    """A revision of a repository on this machine. `path` is the repository, or the folder in it that has the stack."""

    path: Path
    revision: str
    of: str

    def __str__(self) -> str:
        """The specification with absolute paths."""
        return f"{_GIT}{self.path}#{self.revision}{_written(self.of)}"


@dataclass(frozen=True)
class Patched:
    """A known version with patches, in the order of their application."""

    release: str
    patches: tuple[Path, ...]

    @property
    def of(self) -> str:
        """The known version that it is nearest to."""
        return self.release

    def __str__(self) -> str:
        """The specification with absolute paths."""
        return "+".join((self.release, *map(str, self.patches)))


@dataclass(frozen=True)
class RegistryRelease:
    """A release of a registry, which is no known version: it is built as version `of` is."""

    version: str
    of: str

    @property
    def name(self) -> str:
        """The name in results, which says how it is built: `0.64.0~recipe-0.63.0`."""
        return f"{self.version}~recipe-{self.of}"

    def __str__(self) -> str:
        """The specification."""
        return f"{self.version}{_written(self.of)}"


Spec = Folder | Revision | Patched | RegistryRelease


def parse_release(text: str) -> RegistryRelease | None:
    """Return the release that a text names as people write it, or as results do; None if it names none."""
    text, _, of = text.partition(_OF)
    found = _RELEASE.fullmatch(text)
    return RegistryRelease(found["version"], of or found["recipe"] or "") if found else None


def parse_spec(text: str, known: Collection[str], below: Path) -> Spec | None:
    """Return the sources that a text names, None if it names none; InputError if half of it does.

    `known` are the versions of the stack. Relative paths begin at the folder `below`.
    """
    text, _, of = text.partition(_OF)
    if text.startswith(_GIT):
        path, sign, revision = text.removeprefix(_GIT).rpartition("#")
        if not sign or not path or not revision:
            raise InputError(f"{text}: no path and revision behind git:", "write git:PATH#REV, such as git:.#main")
        return Revision(_place(path, below), revision, of)
    if text.startswith(_FOLDERS) or text in (".", "..", "~"):
        return Folder(_place(text, below), of)
    release = max((name for name in known if text.startswith(f"{name}+")), key=len, default="")
    if not text.endswith(_PATCHES) or not release:
        return None
    return Patched(release, tuple(_place(part, below) for part in _split(text.removeprefix(f"{release}+"))))


def _split(text: str) -> list[str]:
    """Return the paths of patches between plus signs; a path may have such a sign itself."""
    found, rest = [], text
    while rest:
        ends = [rest.find(f"{suffix}+") + len(suffix) for suffix in _PATCHES if f"{suffix}+" in rest]
        end = min(ends, default=len(rest))
        found.append(rest[:end])
        rest = rest[end + 1 :]
    return found


def _written(of: str) -> str:
    return f"{_OF}{of}" if of else ""


def _place(path: str, below: Path) -> Path:
    return (below / Path(path).expanduser()).absolute()
