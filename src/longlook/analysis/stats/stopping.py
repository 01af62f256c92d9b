"""Which cells need more rounds, and on which side of a gate what was found lies. Pure."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from enum import Enum

from longlook.analysis.stats.scales import PERCENT
from longlook.analysis.stats.verdicts import most_unseen
from longlook.core import Analysis, Estimate, Study, Verdict, find_metric, margin_of


class AllowedSide(Enum):
    """The side on which the values lie that the rounds allow for."""

    BEYOND = "beyond"
    WITHIN = "within"
    ACROSS = "across"  # on both sides, so that the rounds do not decide


def looks(first: int, most: int) -> Iterator[int]:
    """Yield after how many rounds to look: `first`, then a fifth more each time, at last `most`.

    Not after each round, so that cores find work between looks.
    """
    count = min(first, most)
    while count < most:
        yield count
        count = min(most, count + max(2, count // 5))
    yield most


def undecided(estimates: Iterable[Estimate], study: Study) -> frozenset[str]:
    """Return the ids of the cells in which more rounds could still decide something (docs/explanation/method.md).

    `estimates` are from the rounds so far, of which every cell has had `min_rounds` or more.
    """
    by_cell: dict[str, list[Estimate]] = {}
    for item in estimates:
        by_cell.setdefault(item.cell_id, []).append(item)
    return frozenset(cell_id for cell_id, items in by_cell.items() if not _decided(items, study))


_ROUNDING = 1e-9
"""By so much of itself is a level lowered, so that rounding never makes a part decide before the whole."""


def deciding_apart(study: Study, cells: int) -> Study:
    """Return the study by which some cells decide alone when to stop, of a plan of `cells` cells in all.

    A correction compares the p values of all cells, and the other cells are not known. So each p value is multiplied by
    the number of all tests (Bonferroni). No correction makes a p value larger than that. A cell that is decided alone
    is therefore decided with the others, too, and never stops before it would there.
    A gate asks for intervals and failures, which are not corrected: it gets the study as it is.
    """
    if study.stopping is None or study.stopping.gate_pct is not None or study.analysis.correction == "none":
        return study
    families = Counter(contrast.family or f"contrast {contrast.name}" for contrast in study.contrasts)
    tests = cells * max(families.values(), default=1)
    alpha = study.analysis.alpha / tests * (1 - _ROUNDING)
    return replace(study, analysis=replace(study.analysis, correction="none", alpha=alpha))


def metric_side(item: Estimate, gate_pct: float, analysis: Analysis) -> AllowedSide:
    """Return on which side of −`gate_pct` the whole interval of an effect lies; of a difference, of −its margin.

    If no round of either arm had any of what the metric counts, there is no interval; then the contender's mean lies
    within if the most that the rounds may have missed does (`verdicts.most_unseen`). The bound has the error of one
    end of an interval. No look before the one at which it is first within can pass, so that looks do not add up.
    """
    found = item.effect
    if found is None:
        return AllowedSide.ACROSS
    allowed = gate_pct if found.unit == PERCENT else found.margin or 0.0
    if (most := most_unseen(item, (1 + analysis.confidence) / 2)) is not None:
        return AllowedSide.WITHIN if most <= allowed else AllowedSide.ACROSS
    return interval_side(found.low, found.high, allowed)


def interval_side(low: float | None, high: float | None, allowed: float) -> AllowedSide:
    """Return on which side of −`allowed` a whole interval lies; a bound that is None is unknown."""
    if high is not None and high < -allowed:
        return AllowedSide.BEYOND
    return AllowedSide.WITHIN if low is not None and low >= -allowed else AllowedSide.ACROSS


def failures_side(item: Estimate, analysis: Analysis) -> AllowedSide:
    """Return whether the contender fails more often than the baseline, at the level of one end of an interval."""
    if item.n_contender_failed <= item.n_baseline_failed:
        return AllowedSide.WITHIN
    return AllowedSide.BEYOND if item.p_failures < (1 - analysis.confidence) / 2 else AllowedSide.ACROSS


def _decided(items: list[Estimate], study: Study) -> bool:
    """Return whether a cell is decided; one in which an arm never had a value would not be by any number of rounds."""
    if any(item.n_baseline == 0 or item.n_contender == 0 for item in items):
        return True
    gate_pct = study.stopping.gate_pct if study.stopping is not None else None
    if gate_pct is None:
        return all(_beyond_doubt(item, study.analysis) for item in items)
    failures = failures_side(items[0], study.analysis)  # the same for every metric
    if failures is AllowedSide.BEYOND:
        return True
    measured = [item for item in items if item.n_pairs >= study.analysis.min_rounds]
    sides = [metric_side(item, gate_pct, study.analysis) for item in measured]
    return failures is AllowedSide.WITHIN and len(measured) == len(items) and AllowedSide.ACROSS not in sides


def _beyond_doubt(item: Estimate, analysis: Analysis) -> bool:
    found = item.effect
    low, high = (None, None) if found is None else (found.low, found.high)
    return beyond_doubt(item.verdict, low, high, margin_in_unit(item, analysis))


def margin_in_unit(item: Estimate, analysis: Analysis) -> float:
    """Return the margin of equivalence of an estimate in the unit of its effect; 0 if none was fixed."""
    if item.difference is not None and item.difference.margin is not None:
        return item.difference.margin
    return margin_of(find_metric(item.metric), analysis).size


def beyond_doubt(verdict: Verdict, low: float | None, high: float | None, margin: float) -> bool:
    """Return whether an effect is shown to be within the margin of equivalence, or significant and wholly beyond it.

    A significant effect across the margin might still prove equivalent.
    """
    if verdict is Verdict.EQUIVALENT:
        return True
    if verdict is Verdict.INCONCLUSIVE or low is None or high is None:
        return False
    return low > margin or high < -margin
