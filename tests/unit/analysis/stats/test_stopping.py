"""Which cells need more rounds."""

from dataclasses import replace
from typing import Any

import pytest

from longlook.analysis.stats.stopping import AllowedSide, failures_side, metric_side, undecided
from longlook.core.model import Analysis, Stopping, Verdict
from longlook.core.results import Estimate
from tests.data.gates import estimate, failed
from tests.data.samples import study

STUDY = replace(study(), stopping=Stopping())
GATED = replace(study(), stopping=Stopping(5.0))
BETTER, WORSE, EQUIVALENT, INCONCLUSIVE = Verdict.BETTER, Verdict.WORSE, Verdict.EQUIVALENT, Verdict.INCONCLUSIVE


def needs_more(*items: Estimate, gated: bool = False) -> bool:
    return bool(undecided(items, GATED if gated else STUDY))


@pytest.mark.parametrize(
    ("effect", "half", "verdict", "more"),
    [
        (0.2, 1.0, EQUIVALENT, False),
        (6.0, 2.0, BETTER, False),
        (-6.0, 2.0, WORSE, False),
        (4.0, 2.0, BETTER, True),  # from 2 to 6: it may yet be equivalent
        (-4.0, 2.0, WORSE, True),
        (9.0, 2.0, INCONCLUSIVE, True),  # beyond the margin of 3 %, but not significant after correction
        (0.0, 9.0, INCONCLUSIVE, True),
    ],
)
def test_a_contrast_is_decided_wholly_within_or_wholly_beyond_the_margin(
    effect: float, half: float, verdict: Verdict, more: bool
) -> None:
    assert needs_more(estimate(effect, half, verdict=verdict)) is more


def test_a_cell_waits_for_all_its_contrasts() -> None:
    done, waiting = estimate(0.0, verdict=EQUIVALENT), estimate(0.0, 9.0, verdict=INCONCLUSIVE, metric="goodput")
    other = replace(done, cell_id="other")
    assert undecided([done, waiting, other], STUDY) == {done.cell_id}


def test_an_arm_that_never_has_a_value_would_have_none_in_more_rounds_either() -> None:
    for gated in (False, True):
        assert not needs_more(estimate(None, n_contender=0, n_pairs=0, verdict=INCONCLUSIVE), gated=gated)


@pytest.mark.parametrize(
    ("item", "more"),
    [
        (estimate(-9.0), False),
        (estimate(-5.5), True),
        (estimate(3.0, 7.0, verdict=INCONCLUSIVE), False),
        (estimate(-9.0, ci_low_pct=None, ci_high_pct=None), True),
        (estimate(0.0, n_pairs=9), True),
        (failed(0), False),
        (failed(3), True),
        (failed(9), False),
        (failed(9, effect=-5.5), False),  # enough is known: it does not pass
        (failed(9, 9, 8), False),
    ],
)
def test_under_a_gate_sides_count_and_no_margin(item: Estimate, more: bool) -> None:
    assert needs_more(item, gated=True) is more


def test_sides_of_a_gate() -> None:
    analysis = Analysis(confidence=0.95)
    sides: list[tuple[dict[str, Any], AllowedSide]] = [
        ({"ci_low_pct": -5.0, "ci_high_pct": 2.0}, AllowedSide.WITHIN),
        ({"ci_low_pct": -5.1, "ci_high_pct": -5.0}, AllowedSide.ACROSS),
        ({"ci_low_pct": -9.0, "ci_high_pct": -5.1}, AllowedSide.BEYOND),
        ({"ci_low_pct": None, "ci_high_pct": None}, AllowedSide.ACROSS),
    ]
    for ends, side in sides:
        assert metric_side(estimate(-5.0, **ends), 5.0, analysis) is side
    assert [failures_side(failed(count), analysis) for count in (0, 5, 6)] == [
        AllowedSide.WITHIN,
        AllowedSide.ACROSS,
        AllowedSide.BEYOND,
    ]
