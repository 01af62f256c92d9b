"""How often the contender wins a round, and effects on the worst loads."""

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from longlook.analysis.stats.tails import (
    quantile_interval,
    rounds_needed,
    rounds_won,
    spread_table,
    tail_effects,
)
from longlook.core.model import Stopping
from tests.data.samples import rows, study


def test_a_round_is_won_by_the_better_value_and_a_tie_is_no_win() -> None:
    samples = rows([3.0, 3.0, 3.0, 3.0, None], [2.0, 4.0, 3.0, 1.0, 1.0])
    (found,) = rounds_won(samples, study())
    assert (found.n_pairs, found.won, found.tied, found.share_pct) == (4, 2, 1, 50.0)
    # Clopper and Pearson: 2 of 4 at 95 %.
    assert found.ci_low_pct == pytest.approx(6.76, abs=0.01)
    assert found.ci_high_pct == pytest.approx(93.24, abs=0.01)
    faster = rounds_won(rows([3.0, 3.0], [2.0, 4.0], metric="throughput"), study(metric="throughput"))
    assert faster[0].won == 1


def test_a_cell_without_a_common_round_has_neither() -> None:
    samples = rows([None, 1.0], [1.0, None])
    assert rounds_won(samples, study()) == []
    assert tail_effects(samples, study()) == []
    assert spread_table([]).empty


def test_where_the_data_decide_the_number_of_rounds_there_is_neither() -> None:
    decided = replace(study(), stopping=Stopping())
    samples = rows([1.0] * 200, [2.0] * 200)
    assert rounds_won(samples, decided) == []
    assert tail_effects(samples, decided) == []


@pytest.mark.parametrize(("worst", "needed"), [(0.05, 86), (0.01, 437)])
def test_the_least_number_of_rounds_is_the_one_from_which_on_there_is_an_interval(worst: float, needed: int) -> None:
    assert rounds_needed(worst, 0.95) == needed
    values = np.arange(1.0, needed + 1)
    assert quantile_interval(values, 1 - worst, 0.975) is not None
    assert quantile_interval(values, worst, 0.975) is not None
    assert quantile_interval(values[:-1], 1 - worst, 0.975) is None
    assert quantile_interval(values[:-1], worst, 0.975) is None


def test_too_few_rounds_say_nothing_of_the_worst_and_how_many_would() -> None:
    found = tail_effects(rows([1.0] * 86, [2.0] * 86), study())
    assert [(item.worst_pct, item.rounds_needed, item.effect_pct) for item in found] == [
        (5, 86, -100.0),
        (1, 437, None),
    ]
    assert [item.baseline_value for item in found] == [1.0, None]


def test_an_effect_on_the_worst_has_the_sign_of_the_mean_effect() -> None:
    random = np.random.default_rng(5)
    slow = np.exp(random.normal(0, 0.3, 400))
    found = tail_effects(rows(slow.tolist(), (slow * 0.8).tolist()), study())[0]
    assert found.effect_pct == pytest.approx(20)
    assert found.ci_low_pct is not None
    assert found.ci_high_pct is not None
    assert found.ci_low_pct < 20 < found.ci_high_pct
    metric = "throughput"
    rates = tail_effects(rows(slow.tolist(), (slow * 1.25).tolist(), metric=metric), study(metric=metric))[0]
    assert rates.effect_pct == pytest.approx(25)
    assert rates.ci_low_pct is not None
    assert rates.ci_high_pct is not None
    assert rates.ci_low_pct < 25 < rates.ci_high_pct
    assert rates.baseline_value == pytest.approx(np.quantile(slow, 0.05))


def test_intervals_hold_the_effect_on_the_worst_as_often_as_they_say() -> None:
    random = np.random.default_rng(7)
    held = 0
    for _ in range(200):
        common = random.normal(0, 0.2, 120)
        tcp = np.exp(common + random.exponential(0.3, 120))
        quic = np.exp(common + random.exponential(0.3, 120)) * math.exp(-0.1)
        found = tail_effects(rows(tcp.tolist(), quic.tolist()), study())[0]
        assert found.ci_low_pct is not None
        assert found.ci_high_pct is not None
        held += found.ci_low_pct <= 100 * (1 - math.exp(-0.1)) <= found.ci_high_pct
    assert held >= 190


def test_values_that_are_not_positive_have_no_ratio() -> None:
    found = tail_effects(rows([0.0, *[1.0] * 99], [1.0] * 100), study())[0]
    assert (found.effect_pct, found.baseline_value, found.contender_value) == (None, None, 1.0)


def test_tables_have_the_cell_and_its_levels() -> None:
    samples = pd.concat([rows([3.0, 3.0], [2.0, 4.0]), rows([1.0], [2.0], cell="b")])
    won = spread_table(rounds_won(samples, study(("a", "b"))))
    assert won[["cell", "factor.rate", "n_pairs", "won"]].to_numpy().tolist() == [
        ["id-a", "a", 2, 1],
        ["id-b", "b", 1, 0],
    ]
    tails = spread_table(tail_effects(samples, study(("a", "b"))))
    assert tails["worst_pct"].tolist() == [5, 1, 5, 1]
    assert tails["effect_pct"].isna().all()
