"""Gates between loads that are alike but for a rare pattern of losses: what parts them is allowed for."""

import math
from dataclasses import replace

import numpy as np
import pytest

from longlook.core.model import Analysis
from longlook.instruments.certify.integrated_rounds import IntegratedCell
from longlook.instruments.certify.near_programs import CELLS, GATE_PCT, near_rates, run_gate
from longlook.instruments.certify.populations import Population
from longlook.instruments.certify.rates import RateFinding
from longlook.instruments.certify.simulated_loads import DOWN

BY_NAME = {near.cell.name: near for near in CELLS}
EQUAL = BY_NAME["short timeouts, equal"]
RARE = BY_NAME["short timeouts, 3 s if 2 of 6 are lost (0.15 %)"]


def test_cells_have_the_weights_that_they_name() -> None:
    for count, share in ((2, 0.0001), (6, 0.0015), (15, 0.0096)):
        assert 1 - 0.99**count - count * 0.01 * 0.99 ** (count - 1) == pytest.approx(share, rel=0.05)
    several = RARE.cell.stated.contender.several
    assert len(several) == 6
    order = RARE.cell.stated.baseline(frozenset()).order
    assert several <= {packet for packet in order if packet[0] == DOWN}


def test_equal_programs_pass_and_the_interval_is_not_a_point() -> None:
    planned = IntegratedCell(EQUAL.cell)
    rounds = planned.sample(1, 20)
    assert np.ptp(rounds.advantages) == 0
    end = run_gate(rounds, 0.0, Analysis())
    assert (end.passed, end.held) == (True, True)
    assert rounds.apart[9].room(10, 0.025) > 0.005


def test_without_room_a_rare_timeout_passes_a_gate_that_it_is_beyond() -> None:
    sample, gate = IntegratedCell(RARE.cell).sample(3, 20), -math.log1p(GATE_PCT / 100) - 1e-9
    missed = replace(sample, advantages=np.zeros(20))  # as rounds that did not meet the timeout
    moved = missed.shifted(gate - RARE.cell.truth)
    bare = Population(moved.contrast, moved.cell_id, moved.advantages)
    assert run_gate(bare, gate, Analysis()).passed
    assert not run_gate(moved.first(12), gate, Analysis()).passed


def test_rates_of_a_few_gates() -> None:
    held, beyond, passes = near_rates([EQUAL], Analysis(), 5, 3)
    assert (held.events, beyond.events, passes.events) == (3, 0, 3)
    assert passes.finding is RateFinding.MEASURED
    assert beyond.nominal == pytest.approx(0.025)
    unpromised = near_rates([replace(EQUAL, promised=False)], Analysis(), 5, 1)
    assert {rate.finding for rate in unpromised} == {RateFinding.MEASURED}


def test_known_cells_have_a_frequent_timeout_far_dearer_than_any_other_loss() -> None:
    known = [near for near in CELLS if near.known]
    assert [near.cell.name for near in known] == [
        "short timeouts, 3 s if 2 of 15 are lost (1 %)",
        "63 packets, 3 s if 2 of 15 are lost (1 %)",
    ]
    rates = near_rates([replace(EQUAL, known=True)], Analysis(), 5, 1)
    assert {rate.known for rate in rates} == {True}
