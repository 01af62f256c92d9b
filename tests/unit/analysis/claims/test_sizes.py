"""Published sizes beside ours, as ratios of the arms."""

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from longlook.analysis.claims.sizes import (
    SIZE_FACTOR,
    SizeComparison,
    compare_sizes,
    is_clipped,
    our_effect,
    ratio_of,
)
from longlook.core.metric import find_metric
from longlook.core.model import Analysis, Better, Claim
from longlook.core.results import Estimate
from tests.data.samples import only, rows
from tests.unit.analysis.claims.test_judge import CLAIM, ESTIMATE

POINT = replace(ESTIMATE, ci_low_pct=None, ci_high_pct=None)
EXACT = replace(CLAIM, uncertainty_pct=0.0, clipped_at_pct=None)


def sizes(claim: Claim, estimate: Estimate) -> SizeComparison | None:
    ours = our_effect(estimate, Analysis())
    assert ours is not None
    return compare_sizes(claim, ours, find_metric(estimate.metric).better)


@given(published=st.floats(-900, 90), ours=st.floats(-900, 90))
def test_the_factor_is_the_same_both_ways_and_at_least_one(published: float, ours: float) -> None:
    one = sizes(replace(EXACT, effect_pct=published), replace(POINT, effect_pct=ours))
    other = sizes(replace(EXACT, effect_pct=ours), replace(POINT, effect_pct=published))
    assert one is not None and other is not None and one.factor is not None
    assert one.factor == other.factor >= 1
    assert one.factor == pytest.approx(max((1 - ours / 100) / (1 - published / 100), (100 - published) / (100 - ours)))
    assert one.agrees == (one.factor <= SIZE_FACTOR or ours == published)


def test_a_metric_of_which_more_is_better_has_another_ratio() -> None:
    assert ratio_of(50.0, Better.HIGHER) == 1.5 and ratio_of(50.0, Better.LOWER) == 0.5
    assert ratio_of(100.0, Better.LOWER) is None and ratio_of(-100.0, Better.HIGHER) is None
    found = sizes(replace(EXACT, effect_pct=20.0), replace(POINT, metric="throughput", effect_pct=50.0))
    assert found is not None and found.factor == pytest.approx(1.25)


def test_an_effect_that_is_no_ratio_has_no_size_beside_a_percentage() -> None:
    estimate = only(rows([1.0, 2.0, 0.0] * 4, [1.5, 2.5, 1.0] * 4))
    ours, usual = our_effect(estimate, Analysis()), our_effect(ESTIMATE, Analysis())
    assert ours is not None and ours.ratio is None and usual is not None and usual.ratio == 0.6
    assert ours.unit == "s" and not ours.in_pct  # a published percentage cannot stand beside seconds
    assert sizes(replace(EXACT, effect_pct=40.0), estimate) is None
    impossible = sizes(replace(EXACT, effect_pct=100.0), ESTIMATE)
    assert impossible is not None and impossible.factor is None and not impossible.agrees


def test_the_reading_error_widens_the_interval_and_not_the_factor() -> None:
    far = replace(ESTIMATE, effect_pct=90.0, ci_low_pct=89.0, ci_high_pct=91.0)
    for published, error, agrees in ((87.0, 2.0, True), (87.0, 1.9, False), (93.0, 2.0, True), (93.0, 0.0, False)):
        found = sizes(replace(EXACT, effect_pct=published, uncertainty_pct=error), far)
        assert found is not None and found.agrees is agrees
        assert found.factor == pytest.approx(math.exp(abs(math.log(10 / (100 - published)))))


def test_only_a_value_at_the_end_of_the_scale_is_a_bound() -> None:
    assert is_clipped(replace(CLAIM, effect_pct=-99.0)) and is_clipped(replace(CLAIM, effect_pct=99.0))
    assert not is_clipped(CLAIM) and not is_clipped(replace(CLAIM, effect_pct=None))
    assert not is_clipped(replace(CLAIM, effect_pct=99.0, clipped_at_pct=None))
    beyond = replace(POINT, effect_pct=99.5)
    found = sizes(replace(CLAIM, effect_pct=99.0), beyond)
    assert found is not None and found.agrees and found.factor == 1 and "≥ +99 % agrees with" in found.interval


def test_without_a_number_there_is_no_size() -> None:
    assert sizes(replace(CLAIM, effect_pct=None), ESTIMATE) is None
    assert our_effect(replace(ESTIMATE, effect_pct=None), Analysis()) is None


def test_a_published_percentage_says_nothing_of_an_effect_in_another_unit() -> None:
    ours = our_effect(ESTIMATE, Analysis(equivalence_margin_pct=5.0))
    assert ours is not None and ours.in_pct and ours.text(ours.margin) == "5 %"
    stalls = replace(ours, unit="stalls", ratio=None, margin=0.5)
    assert compare_sizes(CLAIM, stalls, Better.LOWER) is None and stalls.text(stalls.margin) == "0.5 stalls"


def test_an_interval_lies_within_a_limit_as_a_whole() -> None:
    ours = our_effect(replace(ESTIMATE, ci_low_pct=-10.0, ci_high_pct=10.0), Analysis())
    assert ours is not None and ours.lies_within(10.0) and not ours.lies_within(9.9)
    assert not replace(ours, low=None).lies_within(10.0)
