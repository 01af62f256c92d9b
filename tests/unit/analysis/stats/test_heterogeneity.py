"""Does an effect differ between levels? Known values, and the level of the test in simulation."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from statsmodels.stats.oneway import anova_oneway

from longlook.analysis.stats.heterogeneity import heterogeneity, heterogeneity_table, welch_anova
from longlook.core import Factor, Level, Stopping
from longlook.report.wording import between_levels
from tests.data.samples import rows, study


def test_one_group_has_the_p_of_welch_s_anova() -> None:
    generator = np.random.default_rng(1)
    samples = [generator.normal(mean, spread, 10) for mean, spread in ((0, 1), (0.5, 2), (1, 0.5))]
    q, p = _tested(samples)
    assert p == pytest.approx(anova_oneway(samples, use_var="unequal").pvalue)
    means, weights = [np.mean(own) for own in samples], [10 / np.var(own, ddof=1) for own in samples]
    assert q == pytest.approx(np.sum(weights * (means - np.average(means, weights=weights)) ** 2))


def test_of_two_levels_it_is_welch_s_t_test() -> None:
    one, other = np.random.default_rng(2).normal(size=(2, 10)) * [[1], [3]]
    assert _tested([one, other])[1] == pytest.approx(stats.ttest_ind(one, other, equal_var=False).pvalue)


def _tested(samples: Sequence[np.ndarray]) -> tuple[float, float]:
    variances = [float(np.var(own, ddof=1)) / len(own) for own in samples]
    return welch_anova([float(np.mean(own)) for own in samples], variances, [len(own) for own in samples])


_LAWS = {
    "normal": lambda g, shape: g.normal(size=shape),
    "skewed": lambda g, shape: g.exponential(size=shape),
    "heavy tails": lambda g, shape: g.standard_t(3, size=shape),
}


@pytest.mark.parametrize("law", _LAWS)
@pytest.mark.parametrize("levels", [2, 12])
def test_levels_with_one_effect_differ_at_the_rate_of_the_level(law: str, levels: int) -> None:
    """Twelve levels of nothing: the chi-square law of Q would call them different in 20 % of cases."""
    generator = np.random.default_rng(5)
    spreads = np.geomspace(1, 4, levels)[:, None]
    mean = 1.0 if law == "skewed" else 0.0
    p = np.array([_tested(list((_LAWS[law](generator, (levels, 10)) - mean) * spreads))[1] for _ in range(600)])
    allowed = 0.18 if law == "skewed" else 0.075  # docs/explanation/method.md: skewed rounds
    assert np.mean(p < 0.05) < allowed


def _cells(effects: Sequence[float], seed: int = 3) -> pd.DataFrame:
    generator = np.random.default_rng(seed)
    parts = []
    for label, effect in zip("abcdefghijkl", effects, strict=False):
        tcp = np.exp(0.05 * generator.standard_normal(10))
        quic = tcp * np.exp(0.05 * generator.standard_normal(10)) * (1 - effect)
        parts.append(rows(list(tcp), list(quic), label))
    return pd.concat(parts)


def test_a_factor_of_nonsense_is_one_effect_and_a_real_one_is_not() -> None:
    own = study(tuple("abcd"))
    (nonsense,) = heterogeneity(_cells([0.3] * 4), own)
    assert nonsense.p > 0.01
    assert (nonsense.factor, nonsense.cells, nonsense.df, nonsense.unit) == ("rate", 4, 3, "%")
    assert "not shown to differ between the levels of rate" in between_levels(nonsense, 0.01)
    (real,) = heterogeneity(_cells([0.1, 0.3, 0.3, 0.6]), own)
    assert real.p < 1e-6
    assert 0.8 < real.i2 < 1
    assert (real.low, real.high) == (pytest.approx(10, abs=5), pytest.approx(60, abs=5))
    assert between_levels(real, 0.01).startswith("The effect differs between the levels of rate (+")


def test_other_factors_stay_equal_and_each_factor_has_its_test() -> None:
    own = study(tuple("ab"))
    factors = (*own.factors, Factor("size", (Level("small", {}), Level("large", {}))))
    small, large = _cells([0.1, 0.1], 3), _cells([0.5, 0.5], 4)
    samples = pd.concat(
        [
            small.assign(**{"factor.size": "small"}),
            large.assign(**{"factor.size": "large", "cell": large["cell"] + "-large"}),
        ]
    )
    found = {item.factor: item for item in heterogeneity(samples, replace(own, factors=factors))}
    assert found["size"].p < 1e-6
    assert found["rate"].p > 0.01
    assert {item.df for item in found.values()} == {2}
    table = heterogeneity_table(list(found.values()))
    assert list(table["factor"]) == ["rate", "size"]


def test_there_is_none_with_one_level_without_a_spread_or_if_data_decide_the_rounds() -> None:
    own = study(tuple("ab"))
    assert heterogeneity(_cells([0.3]), own) == []
    constant = pd.concat([rows([1.0] * 10, [0.5] * 10, "a"), rows([1.0] * 10, [0.7] * 10, "b")])
    assert heterogeneity(constant, own) == []
    assert heterogeneity(_cells([0.1, 0.6]), replace(own, stopping=Stopping())) == []


def test_differences_of_counts_are_compared_in_their_unit() -> None:
    generator = np.random.default_rng(9)
    few = rows(list(generator.poisson(3, 20) * 1.0), list(generator.poisson(3, 20) * 1.0), "a", "stalls")
    many = rows(list(generator.poisson(9, 20) * 1.0), list(generator.poisson(1, 20) * 1.0), "b", "stalls")
    (found,) = heterogeneity(pd.concat([few, many]), study(tuple("ab"), "stalls"))
    assert found.p < 1e-4
    assert (found.unit, found.high) == ("stalls", pytest.approx(8, abs=1.5))
