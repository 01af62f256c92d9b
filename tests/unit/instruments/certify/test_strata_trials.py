"""Integrated against random losses in tables of samples whose means are known."""

import numpy as np
import pandas as pd
import pytest

from longlook.analysis.strata_plan import CellStrata
from longlook.instruments.certify.rates import RateFinding
from longlook.instruments.certify.strata_trials import means_compared, weights_checked
from longlook.instruments.certify.trial_bank import METRIC
from longlook.network.loss_law import NO_LOSS, LossLaw, LossLaws

TENTH = LossLaw((1.0,), (0.1,), ((1.0,),))


def samples(mean: float, spread: float, rounds: int, seed: int) -> pd.DataFrame:
    values = np.exp(np.random.default_rng(seed).normal(mean, spread, rounds))
    rows = {"cell": "c", "arm": "h3", "round": range(rounds), "metric": METRIC, "outcome": "ok", "value": values}
    return pd.DataFrame(rows)


def test_means_that_are_alike_are_near_and_others_far() -> None:
    strata = samples(-2.0, 0.01, 20, 1)
    for mean, far in ((-2.0, 0), (-1.5, 1)):
        (rate,) = means_compared(strata, samples(mean, 0.4, 200, 2))
        assert (rate.events, rate.trials) == (far, 1)
    failed = samples(5.0, 0.4, 200, 2).assign(outcome="failed")
    (rate,) = means_compared(strata, pd.concat([samples(-2.0, 0.4, 200, 2), failed]))
    assert rate.events == 0
    assert means_compared(strata, failed) == []


@pytest.mark.parametrize("up", [TENTH, NO_LOSS])
def test_probabilities_add_up_and_sampled_cells_are_counted(up: LossLaw) -> None:
    inside = {"up": (0, 1), "down": (0, 1, 2, 5)}
    integrated = CellStrata("c", "", LossLaws(up, TENTH, also_random=False), inside)
    sampled, differ = weights_checked([integrated, CellStrata("d", "several flows compete")])
    assert (sampled.events, sampled.trials, sampled.finding) == (1, 2, RateFinding.MISSED)
    assert (differ.events, differ.trials, differ.finding) == (0, 1, RateFinding.COMPATIBLE)
