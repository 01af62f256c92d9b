"""Strata of loss patterns, against sums over all patterns of short loads."""

import itertools
import math
from collections.abc import Callable, Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from longlook.analysis.stats.strata import (
    MORE,
    NONE,
    ONE,
    Control,
    LossStrata,
    Packet,
    after_backoff,
    interpolated,
    round_value,
)
from longlook.core import Link, Stage
from longlook.network import LossLaw, LossLaws, dropped, loss_laws, loss_texts, with_losses, with_surgery

LAWS = {
    "independent": Stage("loss", {"probability": 0.2}),
    "gilbert_elliott": Stage("gilbert_elliott", {"good_to_bad": 0.2, "bad_to_good": 0.5, "loss_good": 0.05}),
    "burst": Stage("burst_loss", {"probability": 0.1, "packets": 3}),
    "corrupt": Stage("corrupt", {"probability": 0.2}),
}


def laws_of(down: str, up: str = "independent") -> LossLaws:
    found = loss_laws(Link(up=(LAWS[up],), down=(LAWS[down],)))
    assert isinstance(found, LossLaws)
    return found


def chance(law: LossLaw, lost: tuple[bool, ...]) -> float:
    """The probability of the fates of the first packets: the sum over all ways through the states."""
    total = 0.0
    for states in itertools.product(range(len(law.lost)), repeat=len(lost)):
        path = law.start[states[0]]
        for before, after in itertools.pairwise(states):
            path *= law.step[before][after]
        for state, is_lost in zip(states, lost, strict=True):
            path *= law.lost[state] if is_lost else 1 - law.lost[state]
        total += path
    return total


def patterns(laws: LossLaws, up: int, down: int) -> Iterator[tuple[frozenset[Packet], float]]:
    for fates_up in itertools.product((False, True), repeat=up):
        for fates_down in itertools.product((False, True), repeat=down):
            fates = [("up", n) for n, lost in enumerate(fates_up) if lost]
            fates += [("down", n) for n, lost in enumerate(fates_down) if lost]
            yield frozenset(fates), chance(laws.up, fates_up) * chance(laws.down, fates_down)


def stratum_of(strata: LossStrata, lost: frozenset[Packet]) -> str:
    return (NONE, ONE, MORE)[min(2, sum(map(strata.holds, lost)))]


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("inside", [{"up": [0, 1], "down": [0, 1, 2, 3]}, {"up": [1], "down": [0, 3]}])
def test_weights_are_the_sums_over_all_patterns(law: str, inside: dict[str, list[int]]) -> None:
    strata = LossStrata(laws_of(law), inside)
    sums = dict.fromkeys((NONE, ONE, MORE), 0.0)
    singles: dict[Packet, float] = {}
    for lost, share in patterns(laws_of(law), 2, 4):
        sums[stratum_of(strata, lost)] += share
        if stratum_of(strata, lost) == ONE:
            (packet,) = filter(strata.holds, lost)
            singles[packet] = singles.get(packet, 0.0) + share
    assert dict(strata.weights) == pytest.approx(sums, abs=1e-12)
    assert dict(strata.singles) == pytest.approx({packet: share for packet, share in singles.items() if share > 0})


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("stratum", [NONE, ONE, MORE])
def test_draws_follow_the_law_inside_a_stratum(law: str, stratum: str) -> None:
    laws, inside = laws_of(law), {"up": [0], "down": [1, 2]}
    strata = LossStrata(laws, inside)
    single = ("down", 2) if stratum == ONE else None
    expected: dict[frozenset[Packet], float] = {}
    for lost, share in patterns(laws, 2, 4):
        if stratum_of(strata, lost) == stratum and (single is None or single in lost):
            expected[lost] = share
    total, count = sum(expected.values()), 4000
    found = dict.fromkeys(expected, 0)
    for seed in range(count):
        found[strata.draw(stratum, seed, {"up": 2, "down": 4}, single)] += 1
    for lost, share in expected.items():
        deviation = math.sqrt(count * share / total)
        assert abs(found[lost] - count * share / total) < 5 * deviation + 3


def test_rare_losses_with_a_memory_are_drawn_as_quickly_as_others() -> None:
    """Two losses among five packets once in 10^9 loads: draws that are thrown away until one fits would never end."""
    stage = Stage("gilbert_elliott", {"good_to_bad": 1e-9, "bad_to_good": 0.5, "loss_good": 1e-5})
    laws = loss_laws(Link(up=(), down=(stage,)))
    assert isinstance(laws, LossLaws)
    strata = LossStrata(laws, {"down": list(range(5))})
    assert 0 < strata.weights[MORE] < 1e-8
    for seed in range(20):
        assert sum(map(strata.holds, strata.draw(MORE, seed, {"up": 0, "down": 40}))) >= 2


@pytest.mark.parametrize("law", LAWS)
def test_the_mean_of_a_control_is_exact(law: str) -> None:
    laws = laws_of(law)
    strata = LossStrata(laws, {"up": [0, 1], "down": [0, 1, 3]})
    costs = {("up", 0): 1.9, ("up", 1): -0.1, ("down", 0): 0.4, ("down", 2): 0.2, ("down", 3): 0.4}
    control = Control.of(strata, costs)
    mean = sum(share * control.expected(lost) for lost, share in patterns(laws, 2, 4))
    assert control.mean == pytest.approx(mean, abs=1e-12)


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("up", ["independent", "gilbert_elliott"])
def test_the_means_of_a_control_in_each_stratum_are_exact(law: str, up: str) -> None:
    laws = laws_of(law, up)
    strata = LossStrata(laws, {"up": [1], "down": [0, 2]})
    costs = {("up", 0): 1.9, ("up", 1): -0.1, ("down", 0): 0.4, ("down", 1): 0.2, ("down", 3): 0.7}
    control = Control.of(strata, costs)
    sums = dict.fromkeys((NONE, ONE, MORE), 0.0)
    lost_in: dict[Packet, dict[str, float]] = {}
    for lost, share in patterns(laws, 2, 4):
        stratum = stratum_of(strata, lost)
        sums[stratum] += share * control.expected(lost)
        for packet in costs:
            if packet in lost and not strata.holds(packet):
                own = lost_in.setdefault(packet, dict.fromkeys(sums, 0.0))
                own[stratum] += share
    expected = {name: total / strata.weights[name] for name, total in sums.items()}
    assert dict(control.means()) == pytest.approx(expected, abs=1e-12)
    found = strata.lost_shares_in(costs)
    assert {packet: dict(shares) for packet, shares in found.items()} == {
        packet: pytest.approx(shares, abs=1e-12) for packet, shares in lost_in.items()
    }


def test_a_place_finds_each_packet_for_its_share() -> None:
    strata = LossStrata(laws_of("gilbert_elliott"), {"up": [0], "down": [0, 1, 2]})
    one = strata.weights[ONE]
    places = np.arange(10_000) / 10_000
    found = [strata.single(float(place)) for place in places]
    for packet, share in strata.singles.items():
        assert found.count(packet) / len(found) == pytest.approx(share / one, abs=2e-4)


def cost_of(lost: frozenset[Packet]) -> float:
    """A load that no additive rule describes: the first packets cost a timeout, pairs cost more than their sum."""
    return 0.3 * len(lost) + (2.0 if ("up", 0) in lost else 0.0) + (0.7 if len(lost) > 1 else 0.0)


@settings(max_examples=25)
@given(st.integers(0, 10_000), st.sampled_from(sorted(LAWS)))
def test_rounds_are_unbiased_whatever_the_control(seed: int, law: str) -> None:
    laws = laws_of(law)
    strata = LossStrata(laws, {"up": [0, 1], "down": [0, 1, 2]})
    random = np.random.default_rng(seed)
    control = Control.of(
        strata, {("up", 0): random.normal(), ("down", 1): random.normal(), ("down", 3): random.normal()}
    )
    excess: dict[str, float] = dict.fromkeys((NONE, ONE, MORE), 0.0)
    truth = 0.0
    for lost, share in patterns(laws, 2, 4):
        stratum = stratum_of(strata, lost)
        excess[stratum] += share / strata.weights[stratum] * (cost_of(lost) - control.expected(lost))
        truth += share * cost_of(lost)
    assert round_value(strata.weights, {name: [value] for name, value in excess.items()}, {}, control.mean) == (
        pytest.approx(truth, abs=1e-9)
    )


def test_costs_between_measured_packets_are_interpolated_in_their_direction() -> None:
    order: list[Packet] = [("up", 0), ("down", 0), ("down", 1), ("up", 1), ("down", 2), ("down", 3)]
    found = interpolated(order, {("down", 0): 1.0, ("down", 2): 4.0})
    assert found == {("down", 0): 1.0, ("down", 1): 2.0, ("down", 2): 4.0, ("down", 3): 4.0}


def test_a_round_without_a_stratum_that_has_a_probability_has_no_value() -> None:
    weights = {NONE: 0.5, ONE: 0.3, MORE: 0.2}
    assert round_value(weights, {NONE: [1.0], ONE: [2.0, 4.0], MORE: []}, {}, 0.0) is None
    assert round_value(weights, {NONE: [1.0], ONE: [2.0, 4.0], MORE: [3.0]}, {}, 0.5) == pytest.approx(2.5)
    assert round_value(weights, {MORE: [2.0]}, {NONE: 1.0, ONE: 1.0}, 0.1) == pytest.approx(1.3)
    assert round_value({NONE: 0.6, ONE: 0.4, MORE: 0.0}, {NONE: [1.0], ONE: [2.0]}, {}, 0.0) == pytest.approx(1.4)


def test_links_that_cannot_be_integrated_say_why() -> None:
    varying = Stage("loss", {"probability": {"steps": []}})
    cases: list[tuple[Callable[[], Link], str]] = [
        (lambda: Link((), (varying,)), "depends on time"),
        (lambda: Link((), (Stage("loss", {"probability": 0.1, "above_bytes": 1440}),)), "depends on packets' sizes"),
        (lambda: Link((), ()), "no packet is lost"),
        (lambda: Link((), (Stage("burst_loss", {"probability": 0.1, "packets": 1000}),)), "more than 64"),
        (lambda: Link((), (Stage("surgery", {"drop": ((3, 3),)}), LAWS["independent"])), "single packets itself"),
        (lambda: Link((), (LAWS["independent"], LAWS["corrupt"])), "loses packets and corrupts others"),
        (lambda: Link((), (Stage("duplicate", {"probability": 0.1}), LAWS["corrupt"])), "copied before"),
        (lambda: Link((), (Stage("corrupt", {"probability": {"at_s": 1}}),)), "depends on time"),
    ]
    for make, words in cases:
        found = loss_laws(make())
        assert isinstance(found, str) and words in found


def test_corrupted_packets_are_held_until_the_load_is_over_and_others_are_dropped() -> None:
    delay = Stage("delay", {"delay_ns": 1})
    link = Link(up=(LAWS["corrupt"], delay), down=(LAWS["gilbert_elliott"], delay))
    laws = loss_laws(link)
    assert isinstance(laws, LossLaws) and not laws.also_random
    assert (laws.up.corrupted, laws.down.corrupted) == (True, False)
    assert laws.up.lost == laws_of("independent").up.lost

    texts = loss_texts(link, [7, 3, 4], [2])
    assert texts == ("hold 3, 4, 7 3600s", "drop 2")
    lossy = with_losses(link, *texts)
    hour_ns = 3_600 * 10**9
    assert lossy.up == (Stage("surgery", {"hold": ((3, 4, hour_ns), (7, 7, hour_ns))}), delay)
    assert lossy.down == (Stage("surgery", {"drop": ((2, 2),)}), delay)
    assert dropped(lossy) == {"up": ((3, 4), (7, 7)), "down": ((2, 2),)}
    assert with_losses(link, *loss_texts(link, [], [])) == Link(up=(delay,), down=(delay,))
    assert dropped(with_surgery(lossy, "hold 9 20ms", "off"))["up"] == ((3, 4), (7, 7))


def test_a_timeout_that_is_met_twice_costs_three_times_as_much() -> None:
    usual_s, timeout_s = 0.15, 1.0
    once, twice = (math.log((usual_s + extra) / usual_s) for extra in (timeout_s, 3 * timeout_s))
    assert after_backoff(once) == pytest.approx(twice)
    assert after_backoff(-0.1) == 0
