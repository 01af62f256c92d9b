"""Whether a recorded page agrees with itself: its bytes with those of its objects, these with what arrived. Pure."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

FACTOR = 2
"""Sums that differ by more are contradictions: headers, retransmissions and rounding make less."""


@dataclass(frozen=True)
class Measured:
    """What a HAR has of one answer of the page load beside what is replayed of it."""

    size_bytes: int
    arrived_bytes: int | None  # `_bytesIn`: with headers
    may_be_empty: bool  # by its method, status and kind


@dataclass(frozen=True)
class Contradiction:
    """What does not agree, under the name of its check."""

    check: str
    problem: str


def contradictions(answers: Sequence[Measured], page_bytes: int | None, late_bytes: int = 0) -> Iterator[Contradiction]:
    """Yield what disagrees in a page load.

    `page_bytes` is the whole page's `_bytesIn`, if the tool counted that, and `late_bytes` what came after its load
    event, which the page has and the answers lack.
    """
    empty = [answer for answer in answers if not answer.size_bytes and not answer.may_be_empty]
    if empty:
        problem = f"{len(empty)} of {len(answers)} answers have no bytes, though their status and type promise some"
        yield Contradiction("sizes_of_0", problem)
    larger = [
        answer for answer in answers if answer.arrived_bytes and answer.size_bytes > FACTOR * answer.arrived_bytes
    ]
    if larger:
        problem = f"{len(larger)} of {len(answers)} answers have over {FACTOR} times the bytes that arrived of them"
        yield Contradiction("size_above_arrived", problem)
    total = late_bytes + sum(answer.size_bytes for answer in answers)
    if page_bytes and not page_bytes <= FACTOR * total:
        yield Contradiction("objects_below_page", f"its objects have {total} bytes, where the page had {page_bytes}")
    elif page_bytes and total > FACTOR * page_bytes:
        yield Contradiction("objects_above_page", f"its objects have {total} bytes, where the page had {page_bytes}")


def unrecorded(answers: Sequence[Measured]) -> tuple[int, int] | None:
    """Return how many answers of how many lack their size, if those are most of a page of several; else None."""
    empty = sum(not answer.size_bytes and not answer.may_be_empty for answer in answers)
    return (empty, len(answers)) if len(answers) > 1 and 2 * empty > len(answers) else None
