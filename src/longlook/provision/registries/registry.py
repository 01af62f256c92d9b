"""A registry of packages as a stack's releases need it."""

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from longlook.core import MachineError

_FINAL = re.compile(r"\d+(?:\.\d+)*", re.ASCII)
_SHOWN = 4


@dataclass(frozen=True)
class Published:
    """A release that a registry has."""

    version: str
    date: str  # ISO date of its publication; "" if the registry states none


@dataclass(frozen=True)
class Registry(ABC):
    """The packages of one stack in a registry; the first has the stack's version.

    All methods raise MachineError if the registry cannot be asked.
    """

    packages: tuple[str, ...]
    title: ClassVar[str]  # as part of a sentence
    has_sources: ClassVar[bool] = True  # whether `fetch` can be asked
    lists_all: ClassVar[bool] = True  # whether `versions` has more than the newest

    @property
    def package(self) -> str:
        """The package that has the stack's version."""
        return self.packages[0]

    @abstractmethod
    def versions(self) -> Sequence[str]:
        """Return all versions that the registry lists, in no order."""

    @abstractmethod
    def find(self, version: str) -> Published | None:
        """Return a release; None if the registry does not have it."""

    @abstractmethod
    def fetch(self, stack: str, version: str, into: Path) -> str:
        """Put the sources of a release into a new folder; return what they are and the checksum with which the registry
        vouches for them. MachineError, too, if it has none.
        """

    def unreachable(self, reason: str) -> MachineError:
        """Return the error for a registry that gives no answer."""
        return MachineError(f"{self.title} cannot be asked for {self.package}: {reason}", "this needs the network")


def numbers_of(version: str) -> tuple[int, ...]:
    """Return the numbers that a version begins with; none if it begins with something else."""
    found = _FINAL.match(version)
    return tuple(map(int, found[0].split("."))) if found else ()


def releases(versions: Iterable[str]) -> list[str]:
    """Return the versions that consist of numbers alone, oldest first: no candidates, and nothing for tests."""
    return sorted({each for each in versions if _FINAL.fullmatch(each)}, key=numbers_of)


def nearest_releases(versions: Iterable[str], to: str) -> list[str]:
    """Return the releases next to a version that is none, oldest first."""
    known, own = releases(versions), numbers_of(to)
    older = [each for each in known if numbers_of(each) <= own]
    newer = known[len(older) :]
    return [*older[-(_SHOWN - min(len(newer), _SHOWN // 2)) :], *newer[: _SHOWN // 2]]


def last_line(text: str) -> str:
    """Return the last line of what a client said, which has the reason of its failure."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else "it failed and said nothing"
