"""Made-up rounds with known truth, and samples of stacks, for tests of the certification."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pandas as pd

from longlook.analysis.stats.procedures import Floats
from longlook.core.model import Arm, Contrast, Study
from longlook.instruments.certify.populations import Population
from tests.data import samples


def normal(count: int, rounds: int, spread: float = 0.01, mean: float = 0.0, seed: int = 1) -> list[Population]:
    """Populations of normal advantages whose mean is exactly `mean`."""
    random = np.random.default_rng(seed)
    return [
        Population("normal", f"cell {number}", random.normal(0, spread, rounds)).moved_to(mean)
        for number in range(count)
    ]


def plain(count: int, rounds: int, spread: float = 0.01, seed: int = 1) -> list[Population]:
    """Populations of normal advantages around 0, with the mean that chance gives."""
    random = np.random.default_rng(seed)
    return [Population("twin", f"cell {number}", random.normal(0, spread, rounds)) for number in range(count)]


def skewed(count: int, rounds: int, seed: int = 1) -> list[Population]:
    """Populations that are 0 but for rare large advantages, as a timeout in one of twenty loads makes them."""
    random = np.random.default_rng(seed)
    rare = [np.where(np.arange(rounds) % 20 == 0, 1.0, random.normal(0, 0.001, rounds)) for _ in range(count)]
    return [Population("skewed", f"cell {number}", values) for number, values in enumerate(rare)]


def study(arms: Sequence[str]) -> Study:
    """A study of one cell with these arms, each the baseline of the next."""
    made = replace(samples.study(), arms=tuple(Arm(name, name, {}) for name in arms))
    pairs = pairwise(arms)
    return replace(made, contrasts=tuple(Contrast(f"{a} → {b}", a, b, "page_load_time") for a, b in pairs))


def table(values: Mapping[str, Sequence[float | None]]) -> pd.DataFrame:
    """Samples of one cell: for each arm its value in each round; None is a trial that failed."""
    return pd.DataFrame(
        [
            samples.row(arm, number, value, "ok" if value is not None else "failed")
            for arm, column in values.items()
            for number, value in enumerate(column)
        ]
    )


def loads(rounds: int, median_s: float = 0.2, spread: float = 0.05, seed: int = 1) -> Floats:
    """Log-normal page load times, seconds."""
    return median_s * np.exp(np.random.default_rng(seed).normal(0, spread, rounds))
