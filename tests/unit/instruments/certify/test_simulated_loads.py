"""Simulated loads: their laws, their true means by a second way, and what a procedure makes of losses drawn anew."""

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from longlook.core.model import Analysis
from longlook.instruments.certify.populations import one_verdict
from longlook.instruments.certify.simulated_loads import (
    DOWN,
    UP,
    Load,
    LoadResult,
    Losses,
    Packet,
    SimulatedContrast,
    SimulatedLoad,
    Tape,
    independent,
    two_states,
)

SMALL = SimulatedLoad(data=4, flight=3)
ONE_PCT = Tape(independent(0.01), independent(0.01))
UNEVEN = Tape(independent(0.02), independent(0.05))
BURSTS = Tape(independent(0.01), two_states(0.02, 0.5, 0.0, 0.6))


def leaves(load: Load, shares: dict[str, float], least: float) -> Iterator[tuple[Losses, float, LoadResult]]:
    """Every pattern of independent losses once, with p^k·q^(N−k): behind its last loss, no packet of it is lost."""
    pending: list[tuple[Losses, int]] = [(frozenset(), 0)]
    while pending:
        lost, start = pending.pop()
        result = load(lost)
        weight = 1.0
        for place, packet in enumerate(result.order):
            share = shares[packet[0]]
            if place >= start and weight * share > least:
                pending.append((lost | {packet}, place + 1))
            weight *= share if packet in lost else 1 - share
        yield lost, weight, result


def test_the_true_mean_is_that_of_an_enumeration_of_all_patterns() -> None:
    several = SimulatedLoad(data=3, handshake=2, several=frozenset({(DOWN, 1), (DOWN, 2), (UP, 0)}), several_us=900_000)
    for load in (SMALL, replace(several, last=1, factor=2.0, rare_us={(DOWN, 2): 900_000}), several):
        found = list(leaves(load, {UP: 0.02, DOWN: 0.05}, 1e-9))
        seen = math.fsum(weight for _, weight, _ in found)
        assert len({lost for lost, _, _ in found}) == len(found)
        assert 1 - 1e-5 < seen <= 1
        mean = math.fsum(weight * math.log(result.value) for _, weight, result in found) / seen
        assert load.mean_log(UNEVEN) == pytest.approx(mean, abs=1e-4)


def test_the_distribution_adds_up_and_begins_with_the_load_without_loss() -> None:
    for tape in (ONE_PCT, UNEVEN, BURSTS):
        assert math.fsum(SMALL.distribution(tape).values()) == pytest.approx(1, abs=1e-9)
    # One loss costs at least 20 ms, but for that of an acknowledgement, of which this load has one.
    usual = SMALL.distribution(ONE_PCT)[0.15]
    packets = SMALL(frozenset())
    assert usual == pytest.approx(0.99 ** (packets.down + packets.up - 1), rel=1e-9)


def test_a_chain_of_equal_states_is_independent_loss() -> None:
    same = Tape(two_states(0.3, 0.2, 0.02, 0.02), two_states(0.1, 0.7, 0.05, 0.05))
    assert SMALL.mean_log(same) == pytest.approx(SMALL.mean_log(UNEVEN), abs=1e-10)


@pytest.mark.parametrize("tape", [UNEVEN, BURSTS])
def test_drawn_losses_have_the_mean_that_is_computed(tape: Tape) -> None:
    random = np.random.default_rng(5)
    values = np.log([SMALL(tape.draw(random, 60)).value for _ in range(20_000)])
    assert values.mean() == pytest.approx(SMALL.mean_log(tape), abs=4 * values.std() / math.sqrt(len(values)))


@pytest.mark.parametrize(
    ("lost", "extra_s"),
    [
        ([], 0),
        ([(UP, 0)], 1.0),
        ([(UP, 0), (UP, 1)], 3.0),  # the timeout doubles
        ([(DOWN, 0)], 1.0),
        ([(DOWN, 1)], 0.02),
        ([(DOWN, 1), (DOWN, 2)], 0.02),  # of one flight
        ([(DOWN, 4)], 0.25),  # the last packet
        ([(DOWN, 4), (DOWN, 5)], 0.75),
        ([(UP, 2)], 0),  # an acknowledgement
        ([(DOWN, 99)], 0),
    ],
)
def test_a_loss_costs_what_its_packet_is_for(lost: list[Packet], extra_s: float) -> None:
    assert SMALL(frozenset(lost)).value == pytest.approx(0.15 + extra_s)


def test_a_lost_packet_is_sent_again_and_changes_nothing_before_it() -> None:
    calm = SMALL(frozenset())
    assert (calm.up, calm.down) == (3, 5)
    assert calm.order[:3] == ((UP, 0), (DOWN, 0), (UP, 1))
    for place, packet in enumerate(calm.order):
        result = SMALL(frozenset({packet}))
        assert result.order[: place + 1] == calm.order[: place + 1]
        assert len(set(result.order)) == len(result.order) == result.up + result.down


def test_two_losses_of_a_set_cost_a_timeout_once() -> None:
    pair = SimulatedLoad(data=4, several=frozenset({(DOWN, 1), (DOWN, 2), (DOWN, 3)}), several_us=3_000_000)
    usual = replace(pair, several_us=0)
    for lost, extra_s in (({1}, 0), ({1, 2}, 3), ({1, 2, 3}, 3), ({0, 1}, 0)):
        pattern = frozenset((DOWN, number) for number in lost)
        assert pair(pattern).value - usual(pattern).value == pytest.approx(extra_s)


def test_a_rare_timeout_moves_the_mean_by_its_exact_weight() -> None:
    """With 0.25 s more for the first acknowledgement, which costs nothing else, and no other loss of note."""
    tape = Tape(independent(0.01), independent(0.0))
    load = SimulatedLoad(handshake=0, data=4, flight=4)
    rare = SimulatedLoad(handshake=0, data=4, flight=4, rare_us={(UP, 0): 250_000})
    assert rare.mean_log(tape) - load.mean_log(tape) == pytest.approx(0.01 * math.log(0.4 / 0.15), rel=1e-9)


QUICK = SimulatedLoad(usual_us=100_000, handshake=2, handshake_us=200_000, data=4, flight=3, last_us=80_000)
CONTRAST = SimulatedContrast("slow → quick", SMALL, QUICK, UNEVEN)


def test_a_contrast_can_be_moved_to_a_known_effect() -> None:
    for truth in (0.0, -math.log(1.05)):
        assert CONTRAST.moved_to(truth).truth == pytest.approx(truth, abs=1e-12)
    assert CONTRAST.truth > 0.3


def test_arms_see_the_same_losses_and_count_their_own() -> None:
    same = SimulatedContrast("alike", SMALL, SMALL, UNEVEN)
    population = same.rounds(np.random.default_rng(1), 50)
    assert population.losses is not None
    assert not population.advantages.any()
    assert 0.1 < population.losses.mean() < 0.7
    with pytest.raises(ValueError, match="more than 4 packets"):
        same.rounds(np.random.default_rng(1), 2, until=4)


def test_redrawn_losses_show_that_ten_rounds_alone_hold_the_mean_too_seldom_and_the_allowance_too_often() -> None:
    contrast = CONTRAST.moved_to(0.0)
    alone = careful = called = 0
    for number in range(300):
        rounds = contrast.rounds(np.random.default_rng([7, number]), 10, until=60)
        _, paired = one_verdict(rounds, Analysis())
        careful += paired.low is not None and paired.high is not None and paired.low <= 0 <= paired.high
        called += paired.p is not None and paired.p < 0.01
        rounds = type(rounds)(rounds.contrast, rounds.cell_id, rounds.advantages)
        _, paired = one_verdict(rounds, Analysis())
        alone += paired.low is not None and paired.high is not None and paired.low <= 0 <= paired.high
    assert alone < 0.93 * 300
    assert careful > 0.98 * 300
    assert called <= 3
