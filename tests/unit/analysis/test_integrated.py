"""Integrated samples, against means over all patterns; and inputs by which they might be wrong without a word."""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

import pandas as pd
import pytest

from longlook.analysis.integrated import integrate
from longlook.analysis.samples import APART, APART_TRIALS, LIKE, UNSEEN
from longlook.analysis.stats.strata import MORE, NONE, ONE, Packet
from longlook.analysis.strata_plan import (
    CellStrata,
    laws_of,
    patterns,
    plan_strata,
    singles_to_try,
    why_too_many,
    with_repeats,
)
from longlook.core.model import STATED, Outcome, Trial
from longlook.network.loss_law import NO_LOSS, LossLaw, LossLaws
from longlook.study.files import find_study
from longlook.study.plan import make_plan, with_lost

TENTH = LossLaw((1.0,), (0.1,), ((1.0,),))
LAWS = LossLaws(TENTH, TENTH, also_random=False)
LOAD: list[Packet] = [("up", 0), ("down", 0), ("up", 1), ("down", 1), ("down", 2)]

STUDY = find_study("certify", rounds=3, around="none", losses="strata")
ONLY = ("rate=10Mbit", "rtt=36ms", "queue=1bdp", "loss=1%", "jitter=0ms")
PLANNED = [trial for trial in make_plan(STUDY, ONLY).trials if trial.arm == "h3"]

Value = Callable[[frozenset[Packet]], float | None]


def cell_of(laws: LossLaws = LAWS, *, point: bool = True, load: Iterable[Packet] = LOAD) -> CellStrata:
    loads = {"h3": list(load)}
    return plan_strata(PLANNED[0].cell_id, laws, loads, [], point=point)


def lost(trial: Trial, stratum: str, packets: Iterable[Packet]) -> Trial:
    chosen = set(packets)
    return with_lost(trial, stratum, *([n for name, n in chosen if name == side] for side in ("up", "down")))


def ran(cell: CellStrata) -> list[tuple[Trial, frozenset[Packet]]]:
    """The trials of a cell with what each lost: those at the stated point, then the patterns of each round."""
    stated = next(trial for trial in PLANNED if trial.round == STATED)
    found = [(lost(stated, NONE, ()), frozenset[Packet]())]
    found += [(lost(stated, ONE, [packet]), frozenset({packet})) for packet in cell.packets("h3")]
    cell = replace(cell, until={"up": 4, "down": 6})
    for trial in PLANNED:
        if trial.round != STATED:
            for pattern in patterns(cell, 1, "here", trial.round):
                found.append((lost(trial, pattern.stratum, pattern.lost), pattern.lost))
    return found


def row_of(trial: Trial, value: float | None, outcome: Outcome = Outcome.OK) -> dict[str, object]:
    """Return a trial as a row of the samples."""
    return {
        "trial_id": trial.id,
        "cell": trial.cell_id,
        "arm": trial.arm,
        "round": trial.round,
        "attempt": 1,
        "metric": "page_load_time",
        "unit": "s",
        "random_losses": 1.0,
        "value": value,
        "outcome": str(outcome),
    }


def rounds_of(
    cell: CellStrata,
    value: Value,
    outcomes: Mapping[frozenset[Packet], Outcome] | None = None,
    arrived: Callable[[frozenset[Packet]], Mapping[str, int]] = lambda packets: {},
) -> pd.DataFrame:
    trials = ran(cell)
    rows = [row_of(trial, value(packets), (outcomes or {}).get(packets, Outcome.OK)) for trial, packets in trials]
    came = {trial.id: arrived(packets) for trial, packets in trials}
    found = integrate(pd.DataFrame(rows), [trial for trial, _ in trials], [cell], came)
    assert len(found.patterns) == len({trial.id for trial, _ in trials})
    return found.samples


def dearest(packets: frozenset[Packet]) -> float:
    """A load that the expected costs describe exactly: the dearest loss decides."""
    costs = {packet: 0.1 * (place + 1) for place, packet in enumerate(LOAD)}
    return math.exp(-1 + max((costs.get(packet, 0.0) for packet in packets), default=0.0))


def test_a_round_is_the_mean_over_all_patterns_if_the_dearest_loss_decides() -> None:
    # The dearest of five losses, each with 1/10: place k decides if it is lost and none behind it.
    mean = -1 + sum(0.1 * (place + 1) * 0.1 * 0.9 ** (4 - place) for place in range(5))
    for point in (True, False):
        rounds = rounds_of(cell_of(point=point), dearest)
        assert list(rounds["round"]) == [0, 1, 2]
        assert list(rounds["value"].map(math.log)) == pytest.approx([mean] * 3, abs=1e-12)
        assert (rounds[UNSEEN] > 0).all()


def test_the_room_is_that_of_one_trial() -> None:
    exact, sampled = (rounds_of(cell_of(point=point), dearest)[UNSEEN].max() for point in (True, False))
    more = cell_of().strata.weights[MORE]
    assert exact <= 100 * math.expm1(more * math.log1p(1 / math.sqrt(2)) / 2) + 1e-9
    assert exact < sampled


def test_a_round_in_which_a_pattern_failed_has_no_value_but_its_failure() -> None:
    cell = cell_of(point=False)
    stricken = [packets for trial, packets in ran(cell) if trial.round == 1 and trial.stratum == MORE]
    rounds = rounds_of(
        cell,
        lambda packets: dearest(packets) if packets not in stricken else None,
        dict.fromkeys(stricken, Outcome.FAILED),
    )
    assert list(rounds["value"].isna()) == [False, True, False]
    assert list(rounds["outcome"]) == ["ok", "failed", "ok"]


@pytest.mark.parametrize("missing", [None, math.nan, math.inf])
def test_a_metric_without_a_value_for_a_load_without_loss_has_no_rounds(missing: float | None) -> None:
    for point in (True, False):
        rounds = rounds_of(cell_of(point=point), lambda packets: dearest(packets) if packets else missing)
        assert rounds["value"].isna().all()


def test_a_single_loss_without_a_value_is_not_guessed_if_no_round_tries_it_again() -> None:
    def value(packets: frozenset[Packet]) -> float | None:
        return None if packets == {("up", 1)} else dearest(packets)

    assert rounds_of(cell_of(point=True), value)["value"].isna().all()
    assert rounds_of(cell_of(point=False), value)["value"].notna().any()


def test_a_round_that_was_interrupted_has_no_value() -> None:
    cell = cell_of(point=False)
    trials = ran(cell)
    kept = [(trial, packets) for trial, packets in trials if trial.round != 2 or trial.stratum == NONE]
    assert len(kept) < len(trials)
    rows = [row_of(trial, dearest(packets)) for trial, packets in kept]
    found = integrate(pd.DataFrame(rows), [trial for trial, _ in kept], [cell]).samples
    assert list(found["value"].isna()) == [False, False, True]


def test_a_metric_that_is_zero_in_some_patterns_is_averaged_as_it_is() -> None:
    """The number of lost packets of the load: its mean is a tenth of five."""
    cell = cell_of()
    rounds = rounds_of(cell, lambda packets: float(len(packets.intersection(LOAD))))
    # Two patterns of "more" are the only part that is sampled, and every pattern there has two losses or more.
    assert (rounds["value"] > 0.3).all()
    assert rounds["value"].mean() == pytest.approx(0.5, abs=0.1)
    assert (rounds[UNSEEN] > 0).all()


def test_losses_before_a_load_are_sampled_in_each_round() -> None:
    """A connection that a former one primes: its losses may change the load, so no part of it is known beforehand."""
    primed: list[Packet] = [(name, number + 3) for name, number in LOAD]
    cell = cell_of(load=primed)
    assert not cell.exact
    drawn = [pattern for number in range(40) for pattern in patterns(cell, 1, "here", number)]
    assert {pattern.stratum for pattern in drawn} == {NONE, ONE, MORE}
    assert any(number < 3 for pattern in drawn for _, number in pattern.lost)


def test_a_path_that_can_lose_no_packet_of_a_load_is_sampled_with_a_reason() -> None:
    laws = LossLaws(NO_LOSS, TENTH, also_random=False)
    upward: list[Packet] = [("up", 0), ("up", 1)]
    assert singles_to_try(upward, laws, point=True) == []
    assert cell_of(laws, load=upward).why_sampled == "no packet of a load can be lost"
    assert not cell_of(laws).why_sampled


def test_a_load_with_a_single_packet_that_can_be_lost_needs_no_pattern_of_more() -> None:
    laws = LossLaws(TENTH, NO_LOSS, also_random=False)
    cell = cell_of(laws, load=[("up", 0), ("down", 0), ("down", 1)], point=False)
    assert cell.strata.weights[MORE] == 0
    assert [pattern.stratum for pattern in patterns(cell, 1, "here", 0)] == [NONE, ONE]


def test_a_trial_with_more_packets_than_losses_were_drawn_for_is_invalid() -> None:
    cell = cell_of(point=False)
    (long,) = [packets for trial, packets in ran(cell) if trial.round == 1 and trial.stratum == MORE][:1]
    most = max(cell.until.values())
    rounds = rounds_of(cell, dearest, arrived=lambda packets: {"up": most + 1 if packets == long else 1})
    (second,) = rounds[rounds["round"] == 1].to_dict("records")
    assert math.isnan(second["value"]) and second["outcome"] == "invalid"
    assert rounds[rounds["round"] != 1]["value"].notna().all()


def test_rounds_that_draw_the_loss_itself_are_not_integrated() -> None:
    drawn = find_study("certify", rounds=3, around={"network.loss": "uniform 20%"}, losses="strata")
    trials = [trial for trial in make_plan(drawn, ONLY).trials if trial.arm == "h3"]
    assert laws_of(trials, "virtual") == "arms or rounds have links with different losses"
    assert isinstance(laws_of([trial for trial in trials if trial.round == STATED], "virtual"), LossLaws)
    assert isinstance(laws_of(PLANNED, "virtual"), LossLaws)


def test_a_path_with_a_middle_is_integrated_if_one_link_alone_loses_packets() -> None:
    trials = make_plan(find_study("kakhki2017-fig18b", rounds=1), ["size=5KB", "rate=10Mbit"]).trials
    assert {trial.proxy is None for trial in trials} == {True, False} and all(trial.has_middle for trial in trials)
    laws = laws_of(trials, "virtual")
    assert isinstance(laws, LossLaws) and laws.down.lost == (0.01,) and not laws.also_random
    both = make_plan(find_study("kakhki2017-fig18b", rounds=1, changes={"behind.loss": "1%"}), ["size=5KB"]).trials
    assert laws_of(both, "virtual") == "two links lose packets"
    jittering = make_plan(
        find_study("kakhki2017-fig18b", rounds=1, changes={"behind.jitter": "1ms"}), ["size=5KB"]
    ).trials
    laws = laws_of(jittering, "virtual")
    assert isinstance(laws, LossLaws) and laws.also_random


def test_a_load_that_loses_many_packets_is_sampled() -> None:
    laws = LossLaws(NO_LOSS, TENTH, also_random=False)
    assert why_too_many([[("down", number) for number in range(300)]], laws) == ""
    assert "on average" in why_too_many([[("down", number) for number in range(400)]], laws)


def test_arms_that_are_nearly_one_program_are_as_far_apart_as_the_dearest_pattern_after_a_timeout_more() -> None:
    cell = replace(cell_of(point=False), alike={"h3": "h3"})
    rounds = rounds_of(cell, dearest)
    drawn = next(pattern for pattern in patterns(cell, 1, "here", 0) if pattern.stratum == MORE)
    assert drawn.lost
    more = cell.strata.weights[MORE]
    assert set(rounds[LIKE]) == {"h3"}
    assert set(rounds[APART_TRIALS]) == {math.ceil(more / 0.1)}
    assert list(rounds[APART]) == pytest.approx([more * math.log1p(3 * math.expm1(0.5))] * 3)  # 0.5: the last packet
    assert rounds_of(cell_of(point=False), dearest)[APART].isna().all()


def test_a_cell_has_more_trials_of_more_if_arms_are_nearly_one_program() -> None:
    lossy = LossLaw((1.0,), (0.29,), ((1.0,),))
    for laws, more in ((LAWS, 1), (LossLaws(lossy, lossy, also_random=False), 5)):
        cell = cell_of(laws, point=False)
        assert math.ceil(cell.strata.weights[MORE] / 0.1) == more
        for given, count in ((cell, 1), (replace(cell, alike={"h3": "h3"}), more)):
            drawn = [pattern.stratum for pattern in patterns(given, 1, "here", 0)]
            assert drawn.count(MORE) == count


def test_a_trial_that_differs_when_it_runs_again_lets_losses_be_sampled() -> None:
    cell, leaves = cell_of(), [trial for trial, _ in ran(cell_of())[:2]]
    kept = with_repeats(cell, leaves, {trial.id: "" for trial in leaves})
    assert not kept.why_sampled
    assert kept == replace(cell, repeated={trial.id: "" for trial in leaves})
    sampled = with_repeats(cell, leaves, {leaves[0].id: "", leaves[1].id: "link.bin"})
    assert sampled.why_sampled == (
        f"arm h3 is not deterministic: link.bin differed when trial {leaves[1].id} ran again"
    )
    assert sampled.laws is None
    assert sampled.repeated[leaves[1].id] == "link.bin"
