"""The search for the first version that is worse, among versions in order of age. Pure, but for the test it calls."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum


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

    Assumes that every version after the first bad one is bad too. Where a version is untestable, the candidate that is
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
