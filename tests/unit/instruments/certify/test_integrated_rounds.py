"""Rounds of integrated losses of simulated loads: their means by a second way, and their room."""

import math
from dataclasses import replace

import numpy as np
import pytest

from longlook.core.model import Analysis, Verdict
from longlook.instruments.certify.integrated_rates import TRIALS, integrated_rates
from longlook.instruments.certify.integrated_rounds import IntegratedCell, RememberedLoad, SimulatedCell
from longlook.instruments.certify.populations import one_verdict
from longlook.instruments.certify.rates import RateFinding
from longlook.instruments.certify.simulated_loads import (
    DOWN,
    SimulatedContrast,
    SimulatedLoad,
    Tape,
    independent,
    two_states,
)

SLOW = SimulatedLoad(data=6, flight=3)
QUICK = SimulatedLoad(usual_us=100_000, handshake=2, handshake_us=200_000, data=6, flight=3, last_us=80_000)
ONE_PCT = Tape(independent(0.01), independent(0.01))
BURSTS = Tape(independent(0.01), two_states(0.02, 0.5, 0.0, 0.6))
CONTRAST = SimulatedContrast("slow → quick", SLOW, QUICK, ONE_PCT)


def test_a_remembered_load_is_the_load() -> None:
    tape, random = Tape(independent(0.1), independent(0.1)), np.random.default_rng(3)
    remembered = RememberedLoad(SLOW)
    for _ in range(300):
        lost = tape.draw(random, 40)
        assert remembered(lost) == SLOW(lost)


@pytest.mark.parametrize("tape", [ONE_PCT, BURSTS])
@pytest.mark.parametrize("differ", [False, True])
def test_rounds_have_the_true_mean(tape: Tape, differ: bool) -> None:
    contrast = replace(CONTRAST, tape=tape)
    slower = replace(contrast, baseline=replace(SLOW, usual_us=160_000, flight=4))
    cell = SimulatedCell("here", contrast, (contrast, slower) if differ else ())
    planned = IntegratedCell(cell)
    assert planned.plan.exact is not differ
    advantages = planned.sample(1, 200).advantages
    error = float(np.std(advantages)) / math.sqrt(len(advantages))
    assert advantages.mean() == pytest.approx(cell.truth, abs=4 * error)


def test_a_rare_timeout_moves_rounds_by_its_exact_weight() -> None:
    """One packet down can be lost alone: rounds move by that probability times the logarithm of the longer load."""
    tape = Tape(independent(0.0), independent(0.01))
    load = SimulatedLoad(handshake=0, data=1, flight=1)
    rare = replace(load, rare_us={(DOWN, 0): 1_000_000})
    planned = IntegratedCell(SimulatedCell("rare", SimulatedContrast("rare", load, rare, tape)))
    once, again = math.log(0.15 + 0.25), math.log(0.15 + 0.25 + 1.0)
    sample = planned.sample(1, 400)
    # In "more" its retransmission is lost, too: 1/100 of these, and the logarithm is another one.
    alone = 0.01 * 0.99 * (once - again)
    assert alone * 1.02 < sample.advantages.mean() < alone * 0.98


def test_an_arm_against_itself_is_equivalent() -> None:
    planned = IntegratedCell(SimulatedCell("alike", replace(CONTRAST, contender=SLOW)))
    for seed in range(5):
        assert one_verdict(planned.sample(seed, 20), Analysis())[0] is Verdict.EQUIVALENT


def test_trials_at_the_stated_point_count() -> None:
    planned = IntegratedCell(SimulatedCell("here", CONTRAST))
    packets = len(SLOW(frozenset()).order)
    assert planned.trials_before == 1 + packets
    assert planned.rounds_of(1 + packets + 40) == 20  # two trials a round


def test_rates_are_of_every_number_of_trials() -> None:
    rates = integrated_rates([SimulatedCell("slow → quick", CONTRAST)], Analysis(), 7, 10)
    assert {rate.procedure for rate in rates} == {f"slow → quick, strata, {trials} trials an arm" for trials in TRIALS}
    for rate in rates:
        assert rate.trials == 10
        assert rate.finding is not RateFinding.MISSED
        if rate.event == "difference found, 10 % slower":
            assert rate.events == 10
