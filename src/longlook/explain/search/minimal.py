"""Delta debugging: the fewest of some things that still do what all of them do. Pure.

Zeller and Hildebrandt, "Simplifying and isolating failure-inducing input", IEEE Transactions on Software Engineering 28
(2002), 183-200, algorithm ddmin (fig. 3): try each of n parts alone, then everything but one part, then finer parts.
What it ends with is 1-minimal: without any one of its elements it does it no more. It need not be the smallest of all.
"""

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from itertools import pairwise

AT_ONCE = 4
"""How many subsets are tried at the same time; those behind the first that does it are tried for nothing."""


@dataclass(frozen=True)
class Fewest:
    """What is left, in the order it was given; `tests` is how many subsets were tried."""

    items: tuple[int, ...]  # places in what was given
    tests: int
    is_minimal: bool  # false: the tests were spent before it was known


Tries = Generator[list[tuple[int, ...]], list[bool], Fewest]
"""Yields subsets as places, is sent whether each does it, and returns what is left."""


def fewest(count: int, most_tests: int) -> Tries:
    """Find the fewest of `count` things, all of which together do it, with at most so many tests.

    The same answers give the same tests. What was tried once is not tried again.
    """
    known: dict[tuple[int, ...], bool] = {}
    current, parts = tuple(range(count)), 2
    while len(current) >= 2:
        pieces = _split(current, parts)
        others = [tuple(place for place in current if place not in set(piece)) for piece in pieces] if parts > 2 else []
        tries, found = [*pieces, *others], None
        for start in range(0, len(tries), AT_ONCE):
            some = tries[start : start + AT_ONCE]
            if batch := [one for one in some if one not in known][: most_tests - len(known)]:
                known.update(zip(batch, (yield batch), strict=True))
            found = next((one for one in some if known.get(one)), None)
            if found is not None:
                break
            if any(one not in known for one in some):
                return Fewest(current, len(known), is_minimal=False)
        if found is not None:
            parts = 2 if found in pieces else max(parts - 1, 2)
            current = found
        elif parts < len(current):
            parts = min(2 * parts, len(current))
        else:
            break
    return Fewest(current, len(known), is_minimal=True)


def _split(items: Sequence[int], parts: int) -> list[tuple[int, ...]]:
    """Return so many parts of a sequence, in order, none of which has two elements more than another."""
    edges = [len(items) * number // parts for number in range(parts + 1)]
    return [tuple(items[first:last]) for first, last in pairwise(edges)]
