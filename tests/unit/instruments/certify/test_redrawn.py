"""Procedures on simulated loads whose losses are drawn anew: rates of procedures with known errors."""

from dataclasses import replace

import numpy as np
import pytest

from longlook.analysis.stats.procedures import Paired
from longlook.core.model import Analysis, Verdict
from longlook.instruments.certify.rates import RateFinding
from longlook.instruments.certify.redrawn import CONTRASTS, random_rounds, redrawn_rates
from longlook.instruments.certify.simulated_loads import SimulatedContrast, SimulatedLoad, Tape, independent

SMALL = SimulatedLoad(data=3, flight=3)
CONTRAST = SimulatedContrast(
    "small", SMALL, replace(SMALL, usual_us=100_000), Tape(independent(0.02), independent(0.02))
)


def knowing(error: float) -> object:
    """A procedure that knows the truth, and errs by more than its interval in this share of its samples."""

    def conclude(contrast: SimulatedContrast, random: np.random.Generator) -> tuple[Verdict, Paired]:
        mean = contrast.truth + 0.05 * (random.random() < error)
        low, high = mean - 0.01, mean + 0.01
        verdict = Verdict.BETTER if low > 0 else Verdict.WORSE if high < 0 else Verdict.INCONCLUSIVE
        return verdict, Paired(mean, low, high, 0.5, 0.5, constant=False)

    return conclude


@pytest.mark.parametrize(
    ("error", "coverage", "false"),
    [
        (0.0, RateFinding.TOO_WIDE, RateFinding.HELD),
        (0.045, RateFinding.HELD, RateFinding.MISSED),
        (0.15, RateFinding.MISSED, RateFinding.MISSED),
    ],
)
def test_a_procedure_is_judged_by_how_often_it_errs(error: float, coverage: RateFinding, false: RateFinding) -> None:
    rates = redrawn_rates("known", knowing(error), CONTRAST, Analysis(), 3, 1500)  # type: ignore[arg-type]
    assert [rate.trials for rate in rates] == [1500] * 4
    assert rates[0].share == pytest.approx(1 - error, abs=0.03)
    assert (rates[0].finding, rates[1].finding) == (coverage, false)
    assert rates[3].share == pytest.approx(1 - error, abs=0.03)  # an error hides it
    assert rates[3].finding is RateFinding.MEASURED


def test_the_same_seed_gives_the_same_rates_and_another_one_others() -> None:
    analysis = Analysis()
    given = "10 rounds", random_rounds(10, analysis), CONTRAST, analysis
    first, again = (redrawn_rates(*given, 5, 8) for _ in range(2))
    assert first == again
    assert first[0].procedure == "10 rounds, small"
    assert all(rate.part == "simulated" for rate in first)


def test_the_contrasts_of_the_certificate_have_a_known_effect_and_losses_as_named() -> None:
    assert len({contrast.name for contrast in CONTRASTS}) == len(CONTRASTS)
    for contrast in CONTRASTS:
        share = 0.03 if contrast.name.startswith("3") else 0.01
        lost = [len(contrast.tape.draw(np.random.default_rng([1, seed]), 1000)) / 2000 for seed in range(40)]
        assert np.mean(lost) == pytest.approx(share, rel=0.15)
        assert 0.4 < contrast.truth < 0.8
