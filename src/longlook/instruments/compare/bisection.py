"""The search for the first version that is worse, among the versions between two, in order of age."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from longlook.core import InputError, build_name, is_build, release_name


class VersionFinding(StrEnum):
    """The finding about a version."""

    GOOD = "good"
    BAD = "bad"
    UNTESTABLE = "untestable"


@dataclass(frozen=True)
class BisectionResult:
    """`first_bad` and the newest good version before it; `between` are versions between them that could not be tested,
    so any of them may be the first."""

    last_good: str
    first_bad: str
    between: tuple[str, ...]


def first_bad(versions: Sequence[str], test: Callable[[str], VersionFinding]) -> BisectionResult:
    """Halve `versions`, whose first is good and whose last is bad, until no version that can be tested is between.

    Assumes that every version after the first bad one is bad too. If a version is untestable, the candidate that is
    nearest to the middle is tried in its place.
    """
    low, high = 0, len(versions) - 1
    untestable: set[int] = set()
    while candidates := [index for index in range(low + 1, high) if index not in untestable]:
        middle = (low + high) / 2
        index = min(candidates, key=lambda index: (abs(index - middle), index))
        finding = test(versions[index])
        if finding is VersionFinding.UNTESTABLE:
            untestable.add(index)
        elif finding is VersionFinding.BAD:
            high = index
        else:
            low = index
    return BisectionResult(versions[low], versions[high], tuple(versions[low + 1 : high]))


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
