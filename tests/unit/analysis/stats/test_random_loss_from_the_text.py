"""The allowance for random loss, written a second time from docs/explanation/statistics.md alone, and compared."""

from functools import partial

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from longlook.analysis.stats import procedures, rare_losses
from longlook.core.model import Better
from tests.data.samples import only, rows

Floats = NDArray[np.float64]
CONFIDENCE = 0.95


def students(values: Floats, margin: float) -> tuple[float, float, float, float]:
    """Lower and upper end, p, and p of equivalence (the larger one of two one-sided tests)."""
    interval = stats.t.interval(CONFIDENCE, len(values) - 1, values.mean(), stats.sem(values))
    above = stats.ttest_1samp(values, -margin, alternative="greater").pvalue
    below = stats.ttest_1samp(values, margin, alternative="less").pvalue
    return interval[0], interval[1], stats.ttest_1samp(values, 0.0).pvalue, max(above, below)


def halls(values: Floats, margin: float) -> tuple[float, float, float]:
    """Lower and upper end, and the larger p of equivalence."""
    n, mean, s = len(values), values.mean(), values.std(ddof=1)
    gamma = stats.moment(values, 3) / stats.moment(values, 2) ** 1.5
    q = stats.t.ppf(0.975, n - 1) / np.sqrt(n)

    def end(target: float) -> float:
        shifted = target - gamma / (6 * n)
        return float(mean - s * (shifted if abs(gamma) < 1e-6 else 3 / gamma * (np.cbrt(1 + gamma * shifted) - 1)))

    def p(mean: float, gamma: float) -> float:
        t = (mean + margin) / s
        return float(stats.t.sf(np.sqrt(n) * (t + gamma * t**2 / 3 + gamma**2 * t**3 / 27 + gamma / (6 * n)), n - 1))

    return end(q), end(-q), max(p(mean, gamma), p(-mean, -gamma))


def from_the_text(
    advantages: Floats, losses: list[list[float]], margin: float, *, is_log: bool
) -> tuple[float, float, float, float, float]:
    """Mean, lower and upper end, p, p of equivalence. `losses` has a list for each arm whose path loses at random."""
    fewest = 1 / np.sqrt(max(1.0, np.mean(np.min(losses, axis=0))))
    d = np.log(1 + fewest) if is_log else fewest
    usual = np.median(advantages)
    below, above = (np.append(advantages, usual + end) for end in (-d, d))
    of_below, of_above = students(below, margin), students(above, margin)
    alone, hall = students(advantages, margin), halls(advantages, margin)
    mean = advantages.mean()
    against, p_against = (below, of_below[2]) if mean > 0 else (above, of_above[2])
    if against.mean() * np.sign(mean) <= 0:
        p_against = 1.0
    return (
        mean,
        min(alone[0], hall[0], of_below[0]),
        max(alone[1], hall[1], of_above[1]),
        max(alone[2], p_against),
        max(alone[3], hall[2], of_below[3], of_above[3]),
    )


def drawn(random: np.random.Generator, number: int) -> Floats:
    """Advantages of 2 to 60 rounds: normal, skewed, with rare timeouts or heavy tails, near to 0 or not."""
    count, shift = int(random.integers(2, 61)), random.normal(0, 0.3) * (number % 3 > 0)
    shapes = (
        random.normal(0, 0.05, count),
        random.exponential(0.2, count),
        np.where(random.random(count) < 0.1, -1.0, random.normal(0, 0.002, count)),
        random.standard_t(3, count) * 0.1,
    )
    shape: Floats = shapes[number % 4]
    return shape + shift


@pytest.mark.parametrize("is_log", [True, False])
def test_the_text_suffices_to_reimplement_the_allowance(is_log: bool) -> None:
    random = np.random.default_rng(39)
    margin = procedures.margin(3.0, is_log)
    analyse = partial(procedures.paired, margin=margin, confidence=CONFIDENCE)
    turned = 0
    for number in range(240):
        advantages = drawn(random, number)
        lost = [random.poisson(random.choice([0.1, 1.0, 8.0]), len(advantages)).astype(float) for _ in range(2)]
        found = rare_losses.analysed(analyse, advantages, np.minimum(*lost), is_log=is_log)
        expected = from_the_text(advantages, [values.tolist() for values in lost], margin, is_log=is_log)
        result = (found.mean, found.low, found.high, found.p, found.p_equivalence)
        assert result == pytest.approx(expected, rel=1e-12, abs=1e-12)
        turned += found.p == 1
    assert 20 < turned < 200


@pytest.mark.parametrize("zero", [False, True])
def test_an_estimate_follows_the_text_from_values_to_per_cent(zero: bool) -> None:
    """Both arms' path loses packets at random, and each counts with its own losses; a zero is no logarithm."""
    random = np.random.default_rng(40 + zero)
    for _ in range(8):
        count = int(random.integers(10, 40))
        tcp, quic = random.lognormal(0, 0.3, count), random.lognormal(-0.3, 0.2, count)
        if zero:
            quic[0] = 0.0
        lost = {"tcp": random.poisson(2.0, count), "quic": random.poisson(3.0, count)}
        samples = rows(tcp.tolist(), quic.tolist()).assign(loses_at_random=True)
        samples["random_losses"] = [
            float(lost[arm][number]) for arm, number in zip(samples["arm"], samples["round"], strict=True)
        ]
        size = float(np.mean(np.abs(np.append(tcp, quic))))
        advantages = -np.log(quic / tcp) if not zero else (tcp - quic) / size
        margin = np.log(1.03) if not zero else 0.0  # no margin was fixed for differences of a ratio metric
        losses = [values.astype(float).tolist() for values in lost.values()]
        mean, low, high, p, p_equivalence = from_the_text(advantages, losses, margin, is_log=not zero)
        found = only(samples)

        def in_pct(advantage: float, size: float = size) -> float:
            return size * advantage if zero else procedures.effect_pct(advantage, Better.LOWER, is_log=True) or 0.0

        assert found.random_losses == pytest.approx(np.mean(np.min(losses, axis=0)), rel=1e-12)
        assert found.effect is not None and found.effect.unit == ("s" if zero else "%")
        effects = (found.effect.value, found.effect.low, found.effect.high)
        assert effects == pytest.approx([in_pct(end) for end in (mean, low, high)], rel=1e-11)
        assert (found.p_paired, found.p_equivalence) == pytest.approx((p, p_equivalence), rel=1e-11, abs=1e-12)
