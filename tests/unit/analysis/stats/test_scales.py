"""A verdict fits the quantity of its metric: ratios, differences in a unit, distances from 1, and nothing at all."""

import json
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from longlook.analysis.stats import estimate
from longlook.analysis.stats.frames import dependences_table, estimates_from_table, estimates_table
from longlook.analysis.stats.scales import compared
from longlook.analysis.stats.verdicts import known_direction, missed_pct
from longlook.core import Analysis, Estimate, Quantity, Verdict, codec, find_metric, registry
from tests.data.samples import only, rows, study


def test_every_metric_in_percent_is_a_share_or_says_otherwise() -> None:
    """A ratio to a share of 0 has no meaning, so a new metric in % has to choose."""
    ratios = {
        name
        for name, metric in registry.load("metrics").items()
        if metric.unit == "%" and metric.quantity is Quantity.RATIO
    }
    assert ratios == {"fair_share", "competitor_fair_share"}  # rates by a constant, which may be above 100


def test_every_margin_is_positive_and_has_a_reason() -> None:
    for metric in registry.load("metrics").values():
        assert metric.margin.size > 0
        assert len(metric.margin.reason) > 10


def test_one_zero_makes_no_effect_of_200_percent() -> None:
    tcp, quic = [0.0, 2, 1, 3, 2, 1, 2, 2, 1, 3], [0.0, 0, 0, 1, 0, 0, 0, 1, 0, 0]
    result = only(rows(tcp, quic, metric="stalls"), metric="stalls")
    assert result.effect_pct is None
    assert result.difference is not None
    assert result.difference.value == pytest.approx(1.5)  # fewer stalls: better
    assert (result.difference.unit, result.difference.margin) == ("stalls", 0.1)
    assert result.verdict is Verdict.BETTER
    assert result.p_paired == 2 / 2**9  # nine rounds differ, all the same way


def test_nothing_seen_is_neither_equivalent_nor_better() -> None:
    nothing = [0.0] * 10
    for metric in ("stalls", "stall_share", "stall_time"):
        result = only(rows(nothing, nothing, metric=metric), metric=metric)
        assert result.verdict is Verdict.INCONCLUSIVE
        assert result.reason is not None
        assert result.reason.startswith(
            "none seen in 10 rounds of either arm: at 95 % confidence at most 26 % of loads"
        )
        assert (result.p_paired, result.p_adjusted) == (None, None)


def test_cells_in_which_nothing_was_seen_do_not_count_in_the_correction() -> None:
    nothing, some = rows([0.0] * 10, [0.0] * 10, "a", "stalls"), rows([2.0] * 10, [1.0] * 10, "b", "stalls")
    own = replace(study(("a", "b"), "stalls"), around={"network.rtt": "± 5%"})
    found = {item.cell["rate"]: item for item in estimate(pd.concat([nothing, some]), own)}
    assert found["b"].p_adjusted == found["b"].p_paired == 2 / 1024


def test_the_bound_of_nothing_seen_is_clopper_and_pearsons() -> None:
    assert missed_pct(10, 0.95) == pytest.approx(100 * (1 - 0.05**0.1))


def test_an_index_near_1_is_judged_by_its_distance_from_1() -> None:
    noise = np.linspace(-0.001, 0.001, 10)
    result = only(rows(list(0.976 + noise), list(0.957 - noise / 2), metric="jain_index"), metric="jain_index")
    assert result.verdict is Verdict.WORSE  # by a ratio it is 2 % less and within 3 %
    assert result.difference is not None
    assert result.difference.value == pytest.approx(100 * ((1 / 0.976 - 1) ** 0.5 - (1 / 0.957 - 1) ** 0.5), abs=0.05)
    assert result.difference.unit == "points of spread"


@pytest.mark.parametrize("metric", ["page_load_time", "stalls", "stall_share", "jain_index", "video_qoe"])
def test_swapping_the_arms_mirrors_an_effect(metric: str) -> None:
    one, other = np.linspace(0.2, 0.4, 10), np.linspace(0.3, 0.9, 10) ** 2
    first, _ = compared(one, other, find_metric(metric), Analysis())
    second, _ = compared(other, one, find_metric(metric), Analysis())
    assert first == pytest.approx(-second)


def test_a_study_s_own_margin_is_for_ratios_alone() -> None:
    tcp, quic = list(np.linspace(1, 1.1, 10)), list(np.linspace(1.041, 1.1399, 10))
    assert only(rows(tcp, quic), equivalence_margin_pct=10.0).verdict is Verdict.EQUIVALENT
    assert only(rows(tcp, quic)).verdict is not Verdict.EQUIVALENT
    share = only(
        rows([40, *tcp[1:]], quic, metric="share_of_used"), metric="share_of_used", equivalence_margin_pct=10.0
    )
    assert share.difference is not None and share.difference.margin == pytest.approx(1.0)


def _drawn(tcp: Sequence[float], quic: Sequence[float], **analysis: object) -> Estimate:
    (found,) = estimate(rows(tcp, quic), replace(study(**analysis), around={"network.rtt": "± 5%"}))
    return found


def test_equal_rounds_are_without_error_at_a_point_and_draws_in_a_neighbourhood() -> None:
    tcp, quic = [1.0] * 2, [0.5] * 2
    assert only(rows(tcp, quic), min_rounds=2).verdict is Verdict.BETTER
    drawn = _drawn(tcp, quic, min_rounds=2)
    assert drawn.verdict is Verdict.INCONCLUSIVE
    assert drawn.p_paired == 0.5
    ten = _drawn([1.0] * 10, [0.5] * 10)
    assert ten.verdict is Verdict.BETTER
    assert ten.ci_low_pct is not None and 0 < ten.ci_low_pct < 49
    assert ten.reason is not None and "at most 26 % of such rounds differ" in ten.reason


def test_one_program_against_itself_is_equivalent_in_a_neighbourhood() -> None:
    times = list(np.linspace(1, 1.2, 10))
    found = _drawn(times, times)
    assert found.verdict is Verdict.EQUIVALENT
    assert (found.effect_pct, found.ci_low_pct, found.ci_high_pct) == (0, 0, 0)


def test_an_equivalent_effect_may_have_a_known_direction() -> None:
    generator = np.random.default_rng(3)
    tcp = 1 + 0.01 * generator.standard_normal(30)
    quic = tcp * (0.99 + 0.001 * generator.standard_normal(30))
    result = only(rows(list(tcp), list(quic)))
    assert result.verdict is Verdict.EQUIVALENT
    assert known_direction(result, Analysis()) is Verdict.BETTER
    assert known_direction(only(rows(list(quic), list(tcp))), Analysis()) is Verdict.WORSE
    assert known_direction(replace(result, p_adjusted=0.5), Analysis()) is None


def test_differences_survive_tables_and_json() -> None:
    tcp, quic = [0.0, 2, 1, 3, 2, 1, 2, 2, 1, 3], [0.0, 0, 0, 1, 0, 0, 0, 1, 0, 0]
    result = only(rows(tcp, quic, metric="stalls"), metric="stalls")
    assert estimates_from_table(estimates_table([result]), dependences_table([result])) == [result]
    assert codec.decode(Estimate, json.loads(json.dumps(codec.encode(result)))) == result
    time = only(rows([1.0, 2, 3] * 4, [1.0, 1.5, 2] * 4))
    assert "difference" not in codec.encode(time)  # files of older versions stay as they are
    assert estimates_from_table(estimates_table([time])) == [time]
