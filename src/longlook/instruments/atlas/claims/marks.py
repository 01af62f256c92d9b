"""Two marks of a claim, for its direction and for its size: a result says both in one word, which readers overlook.

Pure. `marks_of` reads them from the result (docs/guide/atlas-site.md has the table).
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from longlook.core import Agreement, ClaimKind
from longlook.instruments.atlas.claims.counts import Judged


class Mark(StrEnum):
    """Whether what was found agrees with what was published, in one respect."""

    AGREES = "as published"
    DIFFERS = "not as published"
    OPEN = "open"
    NOT_PUBLISHED = "not published"  # the source says nothing of it
    UNTESTED = "not tested"


SYMBOLS = {Mark.AGREES: "✓", Mark.DIFFERS: "✗", Mark.OPEN: "?", Mark.NOT_PUBLISHED: "·", Mark.UNTESTED: "–"}


@dataclass(frozen=True)
class ClaimMarks:
    """The marks of a claim: of its direction, of which no difference is one, and of its size."""

    direction: Mark
    size: Mark

    @property
    def symbols(self) -> str:
        """Both in two characters, the direction first."""
        return SYMBOLS[self.direction] + SYMBOLS[self.size]

    @property
    def words(self) -> str:
        """Both in words: `direction as published, size not as published`."""
        return f"direction {self.direction}, size {self.size}"


_AGREEING = {
    Agreement.SAME_SIZE: ClaimMarks(Mark.AGREES, Mark.AGREES),
    Agreement.OTHER_SIZE: ClaimMarks(Mark.AGREES, Mark.DIFFERS),
    Agreement.SAME_DIRECTION: ClaimMarks(Mark.AGREES, Mark.NOT_PUBLISHED),
    Agreement.NO_DIFFERENCE: ClaimMarks(Mark.AGREES, Mark.NOT_PUBLISHED),
    Agreement.WITHIN_BOUNDS: ClaimMarks(Mark.NOT_PUBLISHED, Mark.AGREES),
}
_OTHERWISE = {
    Agreement.CONTRADICTED: Mark.DIFFERS,
    Agreement.OPEN: Mark.OPEN,
    Agreement.NOT_TESTABLE: Mark.UNTESTED,
    Agreement.NOT_RUN: Mark.UNTESTED,
}


def marks_of(result: Agreement, kind: ClaimKind) -> ClaimMarks:
    """Return the marks of a claim of a kind by its result.

    A contradicted number has both marks against it. A claim without a number has no mark of its size, and a level of
    one arm none of its direction.
    """
    if result in _AGREEING:
        return _AGREEING[result]
    mark = _OTHERWISE[result]
    size = mark if kind in (ClaimKind.NUMBER, ClaimKind.LEVEL) else Mark.NOT_PUBLISHED
    return ClaimMarks(Mark.NOT_PUBLISHED if kind is ClaimKind.LEVEL else mark, size)


@dataclass(frozen=True)
class MarkCounts:
    """The number of claims by mark, of their directions and of their sizes; without what no source published."""

    direction: dict[Mark, int]
    size: dict[Mark, int]


def mark_counts(claims: Iterable[Judged]) -> MarkCounts:
    """Return how many claims have each mark."""
    found = [marks_of(item.result, item.claim.kind) for item in claims]
    return MarkCounts(_counted(item.direction for item in found), _counted(item.size for item in found))


def _counted(marks: Iterable[Mark]) -> dict[Mark, int]:
    counts = Counter(marks)
    return {mark: counts[mark] for mark in Mark if counts[mark] and mark is not Mark.NOT_PUBLISHED}
