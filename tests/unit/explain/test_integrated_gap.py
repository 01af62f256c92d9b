"""Gaps and what changes close of them by strata of losses, against means over all patterns of a small load."""

import itertools
import math
from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np
import pytest

from longlook.analysis.stats.strata import MORE, NONE, ONE, Packet
from longlook.analysis.strata_plan import CellStrata, enough_of_more, plan_strata
from longlook.core.model import STATED, Analysis
from longlook.explain.attribution import Conclusion, concludes
from longlook.explain.integrated import ArmLoads, IntegratedReading
from longlook.explain.judge import Gap
from longlook.explain.tape import Tape
from longlook.network.loss_law import NO_LOSS, LossLaw, LossLaws
from tests.data.gaps import LOAD_TIME

SHARE = 0.04
LAWS = LossLaws(LossLaw((1.0,), (SHARE,), ((1.0,),)), NO_LOSS, also_random=False)
LOAD: list[Packet] = [("up", number) for number in range(12)]
ANALYSIS = Analysis()

Value = Callable[[frozenset[Packet]], float]


def slow(lost: frozenset[Packet]) -> float:
    """A load of 1 s, of which the last packet's loss costs 3 s, and any other one 0.1 s."""
    return 1.0 + 3.0 * (LOAD[-1] in lost) + 0.1 * len(lost - {LOAD[-1]})


def fast(lost: frozenset[Packet]) -> float:
    return 0.8 + 0.1 * len(lost)


def cured(lost: frozenset[Packet]) -> float:
    """The slow load with a timer that costs 1 s of these 3."""
    return slow(lost) - 2.0 * (LOAD[-1] in lost)


def forgiven(lost: frozenset[Packet]) -> float:
    return slow(lost - {LOAD[-1]})


def exact(value: Value) -> float:
    """Return the mean of logarithms over all loads."""
    total = 0.0
    for fates in itertools.product((False, True), repeat=len(LOAD)):
        lost = frozenset(packet for packet, is_lost in zip(LOAD, fates, strict=True) if is_lost)
        total += SHARE ** len(lost) * (1 - SHARE) ** (len(LOAD) - len(lost)) * math.log(value(lost))
    return total


TRUE_GAP = exact(slow) - exact(fast)


def cell_of(*, point: bool) -> CellStrata:
    return plan_strata("cell", LAWS, {"slow": LOAD, "fast": LOAD}, [], point=point)


def tape_of(rounds: int, seed: int, *, point: bool, more: int = 5) -> Tape:
    own = {"slow": LOAD, "fast": LOAD}
    return Tape.integrated(cell_of(point=point), seed, range(rounds), own, is_point=point, more=more)


def ran(tape: Tape, values: Mapping[str, Value], rounds: int, surgery: frozenset[str] = frozenset()) -> Gap:
    """Return the gap after all loads that are wanted of each arm, and no other, have run.

    The slow arm and its changed ones are nearly one program.
    """
    arms = {
        arm: ArmLoads(
            {}, {}, LOAD, arm == "fast", "" if arm in ("slow", "fast") else "slow", same_settings=arm in surgery
        )
        for arm in values
    }
    for step in range(2):  # loads at the stated point, and of rounds
        reading = IntegratedReading(tape, LOAD_TIME, arms)
        for arm, own in arms.items():
            wanted = reading.stated_loads(arm)
            if step == 1:
                wanted = [at for number in range(rounds) for at in reading.round_loads(arm, number)]
            of_arm = {at: values[arm](tape.loads[at].lost & frozenset(LOAD)) for at in wanted}
            arms[arm] = replace(own, values={**own.values, **of_arm})
    reading = IntegratedReading(tape, LOAD_TIME, arms)
    known = {arm: reading.rounds(arm, range(rounds)) for arm in arms}
    unseen = {arm: own.unseen_pct for arm, own in known.items() if own.unseen_pct is not None}
    apart = {(own, arm): reading.apart(own, arm, range(rounds)) for own in ("slow", "fast") for arm in arms}
    return Gap("slow", "fast", LOAD_TIME, {arm: own.values for arm, own in known.items()}, unseen, apart)


@pytest.mark.parametrize("point", [True, False])
def test_a_share_by_strata_is_the_true_share_and_its_interval_holds_it(point: bool) -> None:
    true = 100 * (exact(slow) - exact(cured)) / TRUE_GAP
    held, shares = 0, []
    for seed in range(60):
        found = ran(tape_of(10, seed, point=point), {"slow": slow, "fast": fast, "cured": cured}, 10)
        result = found.closed({"slow": "cured"}, ANALYSIS)
        assert result is not None and result.share is not None
        shares.append(result.share.share_pct)
        low, high = result.share.ci_low_pct, result.share.ci_high_pct
        assert low is not None and high is not None
        held += low <= true <= high
    assert np.mean(shares) == pytest.approx(true, abs=3 * np.std(shares) / math.sqrt(60) + 0.05)
    assert held >= 57
    assert np.std(shares) < 1.0  # ten random rounds meet the last packet's loss 0.4 times


def test_losses_that_are_forgiven_close_what_they_cost_however_seldom_a_round_has_them() -> None:
    true = 100 * (exact(slow) - exact(forgiven)) / TRUE_GAP
    for point in (True, False):
        values: Mapping[str, Value] = {"slow": slow, "fast": fast, "spared": forgiven}
        found = ran(tape_of(10, 3, point=point), values, 10, surgery=frozenset({"spared"}))
        result = found.closed({"slow": "spared"}, ANALYSIS)
        assert result is not None and result.share is not None
        assert result.share.share_pct == pytest.approx(true, abs=2.5)


WEIGHT = 1 - (1 - SHARE) ** 12 - 12 * SHARE * (1 - SHARE) ** 11
"""The probability of loads with several losses."""


@pytest.mark.parametrize(("fragile", "cost", "more"), [(2, 20.0, 5), (5, 60.0, 1)])
def test_no_cure_is_refuted_that_matters_in_losses_which_the_rounds_may_miss(
    fragile: int, cost: float, more: int
) -> None:
    """If two of some packets are lost, the slow arm waits, and the cured one does not. Samples that miss such losses
    have the same values for both arms in each round.
    """

    def faulty(lost: frozenset[Packet]) -> float:
        return slow(lost) + cost * (len(lost & frozenset(LOAD[:fragile])) > 1)

    effect, gap = exact(faulty) - exact(slow), exact(faulty) - exact(fast)
    two = 1 - (1 - SHARE) ** fragile - fragile * SHARE * (1 - SHARE) ** (fragile - 1)
    seeds = range(60)
    missed, held, refuted = 0, {True: 0, False: 0}, {True: 0, False: 0}
    for seed in seeds:
        tape = tape_of(10, seed, point=False, more=more)
        found = ran(tape, {"slow": faulty, "fast": fast, "cured": slow}, 10)
        for has_room, own in ((True, found), (False, replace(found, apart={}))):
            result = own.closed({"slow": "cured"}, ANALYSIS)
            assert result is not None and result.share is not None
            low, high = result.share.ci_low_pct, result.share.ci_high_pct
            held[has_room] += low is None or high is None or low <= 100 * effect / gap <= high
            refuted[has_room] += concludes(result.p, result.p_none, ANALYSIS.alpha) is Conclusion.REFUTED
            missed += has_room and result.closed < 1e-9
    expected = len(seeds) * (1 - two / WEIGHT) ** (10 * more)
    assert missed == pytest.approx(expected, abs=3 * math.sqrt(expected))
    assert held[True] >= 57 and held[False] <= len(seeds) - missed
    if effect > math.log(1.03):
        assert refuted == {True: 0, False: missed}


def unseen(dearest: float, trials: int) -> float:
    """The room by its own formula: weight · ln(1 + 3(e^c − 1)) · (1 − 0.025^(1/trials))."""
    return WEIGHT * math.log(1 + 3 * (dearest - 1)) * (1 - 0.025 ** (1 / trials))


@pytest.mark.parametrize(("rounds", "more", "is_refuted"), [(12, 1, False), (4, 5, False), (12, 5, True)])
def test_a_change_without_a_difference_is_refuted_if_enough_patterns_were_drawn(
    rounds: int, more: int, is_refuted: bool
) -> None:
    tape = tape_of(rounds, 5, point=False, more=more)
    found = ran(tape, {"slow": slow, "fast": fast, "same": slow}, rounds)
    result = found.closed({"slow": "same"}, ANALYSIS)
    assert result is not None
    assert result.closed == pytest.approx(0, abs=1e-9)
    dearest = max(slow(load.lost & frozenset(LOAD)) for load in tape.loads.values())  # without loss 1 s
    room = unseen(dearest, rounds * more)
    (apart, twins) = found.apart["slow", "same"]
    assert apart.room(rounds, 0.025) == twins.room(rounds, 0.025) == pytest.approx(room)
    assert (room <= math.log(1.03)) is is_refuted
    assert result.p is not None and result.p >= 0.5 and result.p_none == (0.0 if is_refuted else 1.0)
    whole = exact(slow) - exact(fast)
    assert result.share is not None and result.share.ci_high_pct is not None
    assert result.share.ci_high_pct == pytest.approx(100 * room / whole, rel=0.1)


def test_a_round_has_as_many_patterns_of_several_losses_as_the_margin_asks_for() -> None:
    cell = cell_of(point=False)
    for rounds in (10, 20, 40, 80, 400):
        count = enough_of_more(cell, math.log(4), rounds, math.log(1.03), 0.025)
        rooms = [unseen(4, rounds * other) for other in (count - 1, count) if other]
        assert 1 <= count <= 5
        assert count == 5 or rooms[-1] <= math.log(1.03)
        assert count == 1 or rooms[0] > math.log(1.03)
    assert enough_of_more(cell, 0.0, 10, math.log(1.03), 0.025) == 1


def test_an_arm_with_another_number_of_packets_has_the_room_of_another_program() -> None:
    tape = tape_of(10, 1, point=False)
    values: Mapping[str, Value] = {"slow": slow, "fast": fast}
    found = ran(tape, values, 10)
    assert found.apart["slow", "fast"] == ()
    assert found.unseen_pct["slow"] > 0


def test_a_changed_arm_tries_the_single_losses_of_its_own_load() -> None:
    tape = tape_of(4, 1, point=False)
    stated = {at: slow(load.lost) for at, load in tape.loads.items() if load.round == STATED}
    arms = {"slow": ArmLoads(stated, {}, LOAD), "cured": ArmLoads({}, {}, None, None, "slow")}
    reading = IntegratedReading(tape, LOAD_TIME, arms)
    assert reading.stated_loads("cured") == [tape.calm]
    assert len(reading.stated_loads("cured", assumed=True)) == 1 + len(LOAD)
    arms["cured"] = replace(arms["cured"], packets=LOAD[:9])
    reading = IntegratedReading(tape, LOAD_TIME, arms)
    assert reading.stated_loads("cured") == [tape.calm, *map(tape.single, LOAD[:9])]
    brief = IntegratedReading(tape, LOAD_TIME, arms, brief=True)
    assert brief.stated_loads("cured") == [tape.calm]
    counts = {len(each.round_loads(arm, 0)) for each, arm in ((brief, "cured"), (brief, "slow"), (reading, "cured"))}
    assert counts == {1 + 1 + 1, 1 + 1 + 5}


def test_at_a_point_a_changed_arm_draws_what_is_not_known_of_it() -> None:
    tape = tape_of(2, 1, point=True)
    every = {at: slow(load.lost) for at, load in tape.loads.items() if load.round == STATED}
    few = {at: every[at] for at in (tape.calm, tape.single(LOAD[-1]))}
    arms = {
        "slow": ArmLoads(every, {}, LOAD),
        "cured": ArmLoads(every, {}, LOAD, None, "slow"),
        "failed": ArmLoads(few, {}, LOAD, None, "slow"),
        "larger": ArmLoads(every, {}, [*LOAD, ("up", 99)], None, "slow"),
    }
    reading = IntegratedReading(tape, LOAD_TIME, arms)
    drawn = {arm: [tape.loads[at].stratum for at in reading.round_loads(arm, 0)] for arm in arms}
    assert drawn["slow"] == drawn["cured"] == [MORE] * 5
    assert drawn["failed"] == [ONE] + [MORE] * 5
    assert drawn["larger"] == [NONE, NONE, ONE] + [MORE] * 5


def test_a_round_with_a_load_that_went_wrong_has_no_value() -> None:
    tape = tape_of(3, 1, point=False)
    values: dict[int, float | None] = {at: slow(load.lost & frozenset(LOAD)) for at, load in tape.loads.items()}
    values[tape.in_round(1)[0]] = None
    found = IntegratedReading(tape, LOAD_TIME, {"slow": ArmLoads(values, {}, LOAD)}).rounds("slow", range(3))
    assert set(found.values) == {0, 2}


def test_an_arm_without_losses_has_one_trial_a_round() -> None:
    tape = tape_of(3, 1, point=False)
    arms = {"slow": ArmLoads({}, {}, LOAD), "calm": ArmLoads({tape.in_round(2)[0]: 0.7}, {}, None, "slow", loses=False)}
    reading = IntegratedReading(tape, LOAD_TIME, arms)
    assert reading.stated_loads("calm") == []
    assert [len(reading.round_loads("calm", number)) for number in range(3)] == [1, 1, 1]
    assert reading.rounds("calm", range(3)).values == {2: 0.7}


@pytest.mark.parametrize("traced", [LOAD, LOAD[-2:], []])
def test_shares_of_traced_loads_are_the_probabilities_of_what_they_stand_for(traced: list[Packet]) -> None:
    tape = Tape.integrated(cell_of(point=False), 2, range(20), {"slow": LOAD}, traced)
    numbers = [at for number in range(20) for at in tape.in_round(number)] + list(tape.traced)
    shares, strata = tape.shares(numbers), cell_of(point=False).strata
    assert sum(shares.values()) == pytest.approx(1)
    for stratum, weight in strata.weights.items():
        own = sum(share for at, share in shares.items() if tape.loads[at].stratum == stratum)
        assert own == pytest.approx(weight)
    for packet in traced:
        assert shares[tape.single(packet)] == pytest.approx(strata.singles[packet])


def test_without_strata_a_round_is_a_load() -> None:
    tape = Tape("no reason")
    assert (tape.is_integrated, tape.in_round(7), tape.shares([0, 3])) == (False, [7], {0: 0.5, 3: 0.5})
