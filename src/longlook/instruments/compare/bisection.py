"""The search for the first version or commit that is worse, among those between a good and a bad one."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from longlook.core import InputError, build_name, is_build, release_name


class VersionFinding(StrEnum):
    """The finding about a version or a commit."""

    GOOD = "good"
    BAD = "bad"
    UNTESTABLE = "untestable"


class Order(Protocol):
    """Candidates from a good one to a bad one, each after its ancestors: versions in a row, or commits with merges."""

    @property
    def good(self) -> str:
        """The candidate that is known to be good."""

    @property
    def bad(self) -> str:
        """The candidate that is known to be bad."""

    def suspects(self, good: Sequence[str], bad: str) -> Sequence[str]:
        """Return the candidates that may be the first bad one instead of `bad`, the one to try next first.

        No ancestor of one of `good` may be, and no candidate that is not an ancestor of `bad`.
        """

    def by_age(self, names: Sequence[str]) -> tuple[str, ...]:
        """Return candidates with ancestors first."""


@dataclass(frozen=True)
class Row:
    """Versions in order of age, of which the first is good and the last is bad."""

    versions: Sequence[str]

    @property
    def good(self) -> str:
        """The first."""
        return self.versions[0]

    @property
    def bad(self) -> str:
        """The last."""
        return self.versions[-1]

    def suspects(self, good: Sequence[str], bad: str) -> Sequence[str]:
        """Return the versions between the newest good one and `bad`, those nearest to the middle first."""
        low, high = max(map(self.versions.index, good)), self.versions.index(bad)
        middle = (low + high) / 2
        nearest = sorted(range(low + 1, high), key=lambda index: (abs(index - middle), index))
        return [self.versions[index] for index in nearest]

    def by_age(self, names: Sequence[str]) -> tuple[str, ...]:
        """Return versions, the oldest first."""
        return tuple(sorted(names, key=self.versions.index))


@dataclass(frozen=True)
class BisectionResult:
    """`first_bad` and the good one that was found last; `between` are candidates that could not be tested, so any of
    them may be the first."""

    last_good: str
    first_bad: str
    between: tuple[str, ...]


def first_bad(order: Order, test: Callable[[str], VersionFinding]) -> BisectionResult:
    """Narrow the candidates down until none that can be tested is left between good ones and a bad one.

    Assumes that every descendant of the first bad one is bad too. If a candidate is untestable, the next of
    `Order.suspects` is tried in its place.
    """
    good, bad = [order.good], order.bad
    untestable: set[str] = set()
    while True:
        suspects = order.suspects(good, bad)
        candidates = [name for name in suspects if name not in untestable]
        if not candidates:
            return BisectionResult(good[-1], bad, order.by_age(suspects))
        finding = test(candidates[0])
        if finding is VersionFinding.UNTESTABLE:
            untestable.add(candidates[0])
        elif finding is VersionFinding.BAD:
            bad = candidates[0]
        else:
            good.append(candidates[0])


@dataclass(frozen=True)
class Candidates:
    """`versions` in order of age, the good end first and the bad end last; and those between them that are not tried.

    `left_out` are versions of another kind than both ends: builds between two releases, for example.
    """

    versions: tuple[str, ...]
    left_out: tuple[str, ...]

    def left_out_between(self, known: Sequence[str], last_good: str, first_bad: str) -> tuple[str, ...]:
        """Return those left out between two versions. `known` are all names of the stack in order of age."""
        between = known[known.index(last_good) : known.index(first_bad)]
        return tuple(name for name in self.left_out if name in between)


def candidates(known: Sequence[str], good: str, bad: str) -> Candidates:
    """Return which of the `known` names, in order of age, a search from `good` to `bad` tries.

    Releases are searched between two releases. Builds are searched between two builds: builds of the same name if both
    ends are called alike (`0.64.1+knobs` and `0.65.0+knobs`), else all. Between a release and a build both releases and
    the builds of that build's release are searched. InputError if `good` is not the older one.
    """
    first, last = known.index(good), known.index(bad)
    if first >= last:
        raise InputError(f"{good} is not older than {bad}", f"in order of age: {', '.join(known)}")
    kept = [name for name in known[first + 1 : last] if _is_step(name, good, bad)]
    left_out = [name for name in known[first + 1 : last] if name not in kept]
    return Candidates((good, *kept, bad), tuple(left_out))


def _is_step(name: str, good: str, bad: str) -> bool:
    builds = [end for end in (good, bad) if is_build(end)]
    if len(builds) == 2:
        alike = build_name(good) == build_name(bad)
        return build_name(name) == build_name(good) if alike else is_build(name)
    return not is_build(name) or any(release_name(name) == release_name(end) for end in builds)
