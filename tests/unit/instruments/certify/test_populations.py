"""From samples to advantages: contrasts, an arm against itself, and the verdict that the report would have."""

from functools import partial

import numpy as np
import pytest

from longlook.analysis.stats import estimate, procedures, sequential
from longlook.core.model import Analysis, Better
from longlook.instruments.certify.populations import one_verdict, populations, twins, verdicts
from tests.data.certification import loads, normal, plain, study, table

METRIC = "page_load_time"


def test_a_population_has_the_advantages_of_the_rounds_that_both_arms_have() -> None:
    (made,) = populations(table({"a": [1.0, 2.0, None, 1.0], "b": [2.0, 1.0, 1.0, 1.0]}), study(["a", "b"]))
    assert made.contrast == "a → b"
    assert made.advantages == pytest.approx([-np.log(2), np.log(2), 0.0])
    assert made.moved_to(0.5).mean == pytest.approx(0.5)


def test_a_twin_is_made_of_rounds_that_follow_one_another() -> None:
    values = [1.0, 2.0, 3.0, 5.0, None, 7.0, 11.0, 13.0]
    (first, second) = twins(table({"a": values, "b": values}), study(["a", "b"]), METRIC)
    assert (first.contrast, second.contrast) == ("a", "b")
    assert np.abs(first.advantages) == pytest.approx(np.log([2 / 1, 5 / 3, 13 / 11]))


def test_a_coin_decides_which_round_is_the_contenders() -> None:
    growing = [1.01**number for number in range(200)]
    (twin,) = twins(table({"a": growing, "b": []}), study(["a"]), METRIC)
    assert len(twin.advantages) == 100
    assert 30 < np.sum(twin.advantages > 0) < 70
    (again,) = twins(table({"a": growing, "b": []}), study(["a"]), METRIC)
    assert np.array_equal(twin.advantages, again.advantages)


@pytest.mark.parametrize("slower", [1.0, 1.005, 1.02, 1.05, 1.5])
@pytest.mark.parametrize("spread", [0.0, 0.001, 0.03])
def test_verdict_and_interval_are_those_of_the_report(slower: float, spread: float) -> None:
    samples = table({"a": loads(12).tolist(), "b": (slower * loads(12) * loads(12, 1.0, spread, 2)).tolist()})
    made = study(["a", "b"])
    (reported,) = estimate(samples, made)
    verdict, paired = one_verdict(populations(samples, made)[0], made.analysis)
    assert verdict is reported.verdict
    assert paired.p == reported.p_paired
    low = procedures.effect_pct(paired.low, Better.LOWER, is_log=True)
    assert low == reported.ci_low_pct


def test_cells_are_corrected_together() -> None:
    family = plain(20, 10) + normal(1, 10, mean=0.008)
    alone = [one_verdict(cell, Analysis(alpha=0.05))[0] for cell in family]
    together = [verdict for verdict, _ in verdicts(family, Analysis(alpha=0.05, equivalence_margin_pct=0.01))]
    assert len(together) == len(alone) == 21
    assert all(verdict == "inconclusive" for verdict in together[:20])


def test_the_procedure_can_be_the_sequential_one() -> None:
    (population,) = normal(1, 30, mean=0.1)
    advantages = population.advantages
    _, paired = one_verdict(population, Analysis(), partial(sequential.paired, last=False))
    assert paired.low == sequential.paired(advantages, 0.03, 0.95, last=False).low
    assert paired.low != procedures.paired(advantages, 0.03, 0.95).low


def test_populations_and_twins_have_the_random_losses_of_their_rounds() -> None:
    samples = table({"a": [1.0, 2.0, 1.0, 1.5], "b": [2.0, 1.0, 1.0, 1.0]})
    losses = samples["round"] + samples["arm"].map({"a": 1.0, "b": 0.0})
    lossy = samples.assign(loses_at_random=True, random_losses=losses)
    made = study(["a", "b"])
    (population,) = populations(lossy, made)
    assert population.losses is not None
    assert population.losses.tolist() == [0.0, 1.0, 2.0, 3.0]
    assert [twin.losses.tolist() for twin in twins(lossy, made, METRIC) if twin.losses is not None] == [[1, 3], [0, 2]]
    assert populations(samples, made)[0].losses is None
    drawn = population.sample(np.random.default_rng(1), 50)
    by_advantage = dict(zip(population.advantages.tolist(), population.losses.tolist(), strict=True))
    assert drawn.losses is not None
    assert [by_advantage[value] for value in drawn.advantages.tolist()] == drawn.losses.tolist()


def test_a_verdict_where_packets_are_lost_at_random_is_that_of_the_report() -> None:
    samples = table({"a": loads(12).tolist(), "b": (1.5 * loads(12) * loads(12, 1.0, 0.03, 2)).tolist()})
    lossy, made = samples.assign(loses_at_random=True, random_losses=1.0), study(["a", "b"])
    (reported,) = estimate(lossy, made)
    verdict, paired = one_verdict(populations(lossy, made)[0], made.analysis)
    assert (verdict, paired.p) == (reported.verdict, reported.p_paired)
    assert procedures.effect_pct(paired.low, Better.LOWER, is_log=True) == reported.ci_low_pct
    assert paired.low != one_verdict(populations(samples, made)[0], made.analysis)[1].low
