"""When the rounds of a change are enough: its verdict is firm, whatever further rounds and other changes bring. Pure.

An ordinary test must not be looked at again and again. Where a cell has enough rounds, changes are tested as studies
with `rounds = "decide"` are (`analysis.stats.sequential`), which holds however often one looks. Its p values have a
floor that falls with the rounds, so that few rounds cannot decide by it; such cells are read once, after all rounds.
"""

from collections.abc import Sequence

from longlook.analysis.stats import sequential
from longlook.analysis.stats.stopping import looks
from longlook.core.model import Analysis
from longlook.explain.attribution import Closed

LATEST_FIRST_LOOK = 0.75
"""The share of the rounds by which the first look must come: fewer are not worth what the last look loses by it."""


def looks_at(rounds: int, tests: int, analysis: Analysis) -> Sequence[int]:
    """Return after how many of the rounds to look, the last time after all; that alone where fewer are no use.

    `tests` is the number of changes whose p values are adjusted together.
    """
    first = next((count for count in range(2, rounds) if _floor(count, tests, analysis) < analysis.alpha), rounds)
    return tuple(looks(first if first <= LATEST_FIRST_LOOK * rounds else rounds, rounds))


def is_firm(result: Closed, tests: int, analysis: Analysis) -> bool:
    """Return whether a change is confirmed or refuted already, whatever the p values of the other tests will be.

    Times the number of tests (Bonferroni) a p value is at least what Holm's correction makes of it in the end. An
    advantage of the winner is never firm: the loser may yet prove to gain.
    """
    count = 1 if analysis.correction == "none" else tests
    return any(p is not None and p * count < analysis.alpha for p in (result.p, result.p_none))


def _floor(count: int, tests: int, analysis: Analysis) -> float:
    return sequential.least_p(count) * (1 if analysis.correction == "none" else tests)
