"""Integrated against random losses in tables of samples whose means are known."""

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd
import pytest

from longlook.analysis.strata_plan import CellStrata
from longlook.instruments.certify.rates import RateFinding
from longlook.instruments.certify.strata_trials import integrated_means, means_compared, random_means, weights_checked
from longlook.instruments.certify.trial_bank import METRIC
from longlook.network.loss_law import NO_LOSS, LossLaw, LossLaws

TENTH = LossLaw((1.0,), (0.1,), ((1.0,),))


CELL = CellStrata(
    "c",
    laws=LossLaws(NO_LOSS, TENTH, also_random=False),
    inside={"down": tuple(range(8))},
    arrivals={"h3": ("up 0", *(f"down {number}" for number in range(6)))},
)
NONE_LOST = 0.9**6  # of the six packets of the arm's load; the other two are retransmissions
CALM = -2.0


def samples(values: Sequence[float], losses: Sequence[int] | None = None) -> pd.DataFrame:
    rows = {"cell": "c", "arm": "h3", "round": range(len(values)), "metric": METRIC, "outcome": "ok"}
    table = pd.DataFrame({**rows, "value": np.exp(values)})
    return table if losses is None else table.assign(random_losses=losses)


def random_rounds(mean: float, rounds: int, seed: int) -> pd.DataFrame:
    """Rounds of which six in ten lose a packet, and whose true mean is this."""
    source = np.random.default_rng(seed)
    losses = (source.random(rounds) < 0.6).astype(int)
    dear = (mean - NONE_LOST * CALM) / (1 - NONE_LOST)
    return samples([CALM if not lost else source.normal(dear, 0.3) for lost in losses], losses.tolist())


def test_random_rounds_are_parted_by_whether_a_packet_was_lost() -> None:
    table = samples([CALM, CALM, CALM, -1.5, -1.1, -0.7], [0, 0, 0, 1, 3, 1])
    ((_, found),) = random_means(table, [CELL]).items()
    assert found.mean == pytest.approx(NONE_LOST * CALM + (1 - NONE_LOST) * -1.1)
    assert found.error == pytest.approx((1 - NONE_LOST) * 0.4 / math.sqrt(3))
    assert random_means(table, [CellStrata("c", "several flows compete")]) == {}
    assert random_means(samples([CALM, -1.0], [0, 1]), [CELL]) == {}  # one round alone has no spread


def test_means_that_are_alike_are_near_and_others_far() -> None:
    strata = samples(np.random.default_rng(1).normal(-1.6, 0.01, 20).tolist())
    assert integrated_means(strata)["c", "h3"].mean == pytest.approx(-1.6, abs=0.01)
    for mean, far in ((-1.6, 0), (-1.3, 1)):
        (rate,) = means_compared("strata-trials", strata, random_rounds(mean, 200, 2), [CELL])
        assert (rate.events, rate.trials) == (far, 1)
    failed = random_rounds(5.0, 200, 2).assign(outcome="failed")
    (rate,) = means_compared("strata-trials", strata, pd.concat([random_rounds(-1.6, 200, 2), failed]), [CELL])
    assert rate.events == 0
    assert means_compared("strata-trials", strata, failed, [CELL]) == []


@pytest.mark.parametrize("up", [TENTH, NO_LOSS])
def test_probabilities_add_up_and_sampled_cells_are_counted(up: LossLaw) -> None:
    inside = {"up": (0, 1), "down": (0, 1, 2, 5)}
    integrated = CellStrata("c", "", LossLaws(up, TENTH, also_random=False), inside)
    sampled, differ = weights_checked("strata-trials", [integrated, CellStrata("d", "several flows compete")])
    assert (sampled.events, sampled.trials, sampled.finding) == (1, 2, RateFinding.MISSED)
    assert (differ.events, differ.trials, differ.finding) == (0, 1, RateFinding.COMPATIBLE)
