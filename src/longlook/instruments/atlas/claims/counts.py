"""Claims counted by what a source states: a number or a sentence counts once, whatever number of cells repeat it.

Pure. `Claim.statement` names what a claim repeats (docs/explanation/method.md).
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from longlook.analysis import NO_DIFFERENCE_PCT, SIZE_FACTOR
from longlook.core import Agreement, Claim, ClaimKind

MIXED = "mixed"
"""The result of a statement whose cells differ."""

RESULTS: tuple[str, ...] = tuple(Agreement)
"""Results of claims, in the order in which they are shown."""

STATEMENT_RESULTS: tuple[str, ...] = (
    *(item for item in Agreement if item not in (Agreement.NOT_TESTABLE, Agreement.NOT_RUN)),
    MIXED,
    Agreement.NOT_TESTABLE,
    Agreement.NOT_RUN,
)
"""Results of statements, in the order in which they are shown."""

_DIRECTIONS = (Agreement.OTHER_SIZE, Agreement.SAME_DIRECTION, Agreement.SAME_SIZE)
"""Results with the direction that was published, the weakest first."""

_JUDGED_BY_NONE = (Agreement.NOT_TESTABLE, Agreement.NOT_RUN)


RULE = (
    "Each number and each sentence counts once, whatever number of cells repeats it. A number is of the same size if "
    "it lies in our interval, its reading error granted. It also is if the ratios of the arms differ by a factor of "
    f"at most {SIZE_FACTOR:g}. It is of another size if only its direction agrees. “No difference” is found again if "
    f"ours is equivalent, or its interval within ±{NO_DIFFERENCE_PCT:g} %. Sentences without a number, and levels "
    "within bounds that a study chose, have words of their own."
)
"""The words of the results in short."""


class Judged(Protocol):
    """A claim with its result."""

    @property
    def claim(self) -> Claim:
        """The claim."""

    @property
    def result(self) -> Agreement:
        """Its result."""


@dataclass(frozen=True)
class Statement:
    """A number or a sentence that a source states, with the claims that repeat it by result."""

    name: str
    kind: ClaimKind
    cells: Mapping[Agreement, int]

    @property
    def in_order(self) -> dict[str, int]:
        """The number of its claims by result, in the order of results."""
        return {found: self.cells.get(found, 0) for found in Agreement}

    @property
    def result(self) -> str:
        """The result that all of its claims share, those aside that are not run or not testable; else MIXED.

        If all have the direction of the statement, some with its size and some with another, it is of another size.
        """
        judged = [item for item in self.cells if item not in _JUDGED_BY_NONE]
        if not judged:
            return Agreement.NOT_RUN if Agreement.NOT_RUN in self.cells else Agreement.NOT_TESTABLE
        if len(judged) == 1:
            return judged[0]
        return next((item for item in _DIRECTIONS if set(judged) <= set(_DIRECTIONS) and item in judged), MIXED)


def statements(claims: Iterable[Judged]) -> list[Statement]:
    """Return the statements of claims, in the order of their first claims."""
    kinds: dict[str, ClaimKind] = {}
    cells: dict[str, Counter[Agreement]] = {}
    for item in claims:
        name = item.claim.statement
        kinds.setdefault(name, item.claim.kind)
        cells.setdefault(name, Counter())[item.result] += 1
    return [Statement(name, kind, cells[name]) for name, kind in kinds.items()]


def result_counts(claims: Iterable[Judged]) -> dict[str, int]:
    """Return the number of claims by result, for every result."""
    counts = Counter(item.result for item in claims)
    return {found: counts[found] for found in Agreement}


def statement_counts(claims: Iterable[Judged], kinds: Sequence[ClaimKind] = tuple(ClaimKind)) -> dict[str, int]:
    """Return the number of statements of some kinds by result, for every result."""
    counts = Counter(item.result for item in statements(claims) if item.kind in kinds)
    return {result: counts[result] for result in STATEMENT_RESULTS}


def counts_by_kind(claims: Iterable[Judged]) -> dict[str, dict[str, int]]:
    """Return the number of statements by kind and result."""
    known = list(claims)
    return {kind: statement_counts(known, [kind]) for kind in ClaimKind}


def in_words(counts: Mapping[str, int]) -> str:
    """Return counts that are not 0: `12 same size, 8 other size, 1 open`."""
    return ", ".join(f"{count} {result}" for result, count in counts.items() if count) or "none"
