"""Which losses make the difference between two arms, against sums over all patterns of short loads."""

import itertools
import math
from collections.abc import Callable

import pytest

from longlook.analysis.loss_parts import loss_effects
from longlook.analysis.stats.strata import Packet
from longlook.core import STATED, Stage
from tests.data.patterns import made_up_run, packets

FIRST, LAST = ("up", 0), ("down", 0)
TWO = packets(1, 1)


def two_packets(arm: str, lost: frozenset[Packet], _: int) -> float:
    """TCP waits a second for its first packet, and for both; QUIC's losses cost 100 ms each."""
    if arm == "quic":
        return 0.1 + 0.1 * len(lost & {*TWO})
    return {frozenset[Packet](): 0.2, frozenset({LAST}): 0.4}.get(lost & {*TWO}, 1.2)


def test_contributions_of_two_packets_are_sums_over_the_four_patterns() -> None:
    found = made_up_run(two_packets, {"tcp": TWO, "quic": TWO}).effects
    strata = found.strata.set_index("stratum")
    assert strata["probability"].to_dict() == pytest.approx({"none": 0.81, "one": 0.18, "more": 0.01})
    parts = {
        "none": 0.81 * math.log(0.2 / 0.1),
        "one": 0.09 * math.log(1.2 / 0.2) + 0.09 * math.log(0.4 / 0.2),
        "more": 0.01 * math.log(1.2 / 0.3),
    }
    assert strata["contribution"].to_dict() == pytest.approx(parts)
    whole = sum(parts.values())
    assert strata["share_pct"].to_dict() == pytest.approx({name: 100 * part / whole for name, part in parts.items()})
    assert strata["baseline_mean"].to_dict() == pytest.approx({"none": 0.2, "one": math.sqrt(0.48), "more": 1.2})
    assert strata["effect_pct"].to_dict() == pytest.approx(
        {"none": 50.0, "one": 100 * (1 - 0.2 / math.sqrt(0.48)), "more": 75.0}
    )
    assert set(strata["inside"]) == {2}
    assert strata["is_whole"].all()

    by_packet = found.packets.set_index("direction")
    assert by_packet["probability"].to_dict() == pytest.approx({"up": 0.09, "down": 0.09})
    assert by_packet["baseline_cost"].to_dict() == pytest.approx({"up": 1.0, "down": 0.2})
    assert by_packet["contender_cost"].to_dict() == pytest.approx({"up": 0.1, "down": 0.1})
    assert by_packet["share_pct"]["up"] == pytest.approx(100 * 0.09 * math.log(6) / whole)
    assert by_packet["contribution"].sum() == pytest.approx(parts["one"])
    assert len(found.singles) == 4
    assert found.failures.empty


def uneven(arm: str, lost: frozenset[Packet], number: int) -> float:
    """A load that no additive rule describes, in rounds whose conditions differ."""
    cost = sum(0.05 * (1 + packet % 3) for _, packet in lost) + (0.8 if ("down", 2) in lost and arm == "tcp" else 0.0)
    near = 1.0 if number == STATED else 1 + 0.04 * math.sin(7 * number)
    return near * (0.2 if arm == "tcp" else 0.15) + cost * (1.3 if len(lost) > 1 else 1.0)


GILBERT = Stage("gilbert_elliott", {"good_to_bad": 0.05, "bad_to_good": 0.4, "loss_good": 0.01})


@pytest.mark.parametrize("stage", [None, GILBERT, Stage("burst_loss", {"probability": 0.02, "packets": 3})])
@pytest.mark.parametrize("point", [True, False])
@pytest.mark.parametrize("count", [4, 30])
def test_contributions_sum_to_the_effect_of_the_estimate(stage: Stage | None, point: bool, count: int) -> None:
    """A load of 60 packets loses more than 1.5 of them, so that only the first and the last are inside."""
    metric = "throughput" if stage is None else "page_load_time"
    loads = {"tcp": packets(count, count), "quic": packets(count - 1, count + 1)}
    run = made_up_run(uneven, loads, lost=stage or 0.06, point=point, metric=metric)
    (estimate,) = run.estimates
    whole = run.effects.strata["contribution"].sum()
    expected = -100 * math.expm1(-whole) if metric == "page_load_time" else 100 * math.expm1(whole)
    assert estimate.effect_pct == pytest.approx(expected, abs=1e-9)
    assert run.effects.strata["share_pct"].sum() == pytest.approx(100)
    assert run.effects.strata["probability"].sum() == pytest.approx(1)
    assert set(run.effects.strata["is_whole"]) == {run.cells[0].is_whole}
    if run.cells[0].exact:
        one = run.effects.strata.set_index("stratum")["contribution"]["one"]
        assert run.effects.packets["contribution"].sum() == pytest.approx(one)


def test_values_that_are_not_positive_are_compared_in_their_unit() -> None:
    def stalls(arm: str, lost: frozenset[Packet], _: int) -> float:
        return float(len(lost & {*TWO})) if arm == "tcp" else 0.0

    found = made_up_run(stalls, {"tcp": TWO, "quic": TWO}).effects
    strata = found.strata.set_index("stratum")
    assert strata["contribution"].to_dict() == pytest.approx({"none": 0.0, "one": 0.18, "more": 0.02})
    assert strata["share_pct"].to_dict() == pytest.approx({"none": 0.0, "one": 90.0, "more": 10.0})
    assert strata["effect_pct"].isna().all()
    assert not strata["is_log"].any()


def test_packets_that_were_not_tried_have_no_cost_and_those_that_a_load_lacks_cost_nothing() -> None:
    loads = {"tcp": packets(1, 3), "quic": packets(1, 2)}
    found = made_up_run(uneven, loads, point=False, tried=lambda packet: packet != ("down", 1)).effects
    costs = found.packets.set_index(["direction", "number"])
    assert math.isnan(costs["baseline_cost"]["down", 1])
    assert math.isnan(costs["share_pct"]["down", 1])
    assert costs["contender_cost"]["down", 2] == 0
    assert costs["baseline_cost"]["down", 2] == pytest.approx(0.95)
    tried = {(row.arm, row.direction, row.number) for row in found.singles.itertuples()}
    assert tried == {(arm, *packet) for arm, load in loads.items() for packet in load if packet != ("down", 1)}


def failing(pattern: Callable[[frozenset[Packet]], bool]) -> Callable[[str, frozenset[Packet], int], float | None]:
    return lambda arm, lost, number: None if arm == "tcp" and pattern(lost) else two_packets(arm, lost, number)


def test_the_probability_of_a_pattern_in_which_an_arm_fails_is_exact() -> None:
    found = made_up_run(failing(lambda lost: lost & {*TWO} == {FIRST}), {"tcp": TWO, "quic": TWO}).effects
    (failure,) = found.failures.to_dict("records")
    assert (failure["arm"], failure["stratum"], failure["lost"], failure["trials"]) == ("tcp", "one", "up 0", 1)
    assert failure["probability"] == pytest.approx(0.09)
    single = found.singles.set_index(["arm", "direction"])
    assert math.isnan(single["cost"]["tcp", "up"])
    assert single["outcome"]["tcp", "up"] == "timed_out"
    assert math.isnan(found.packets.set_index("direction")["baseline_cost"]["up"])


def test_rounds_in_which_an_arm_failed_are_left_out_as_in_the_estimate() -> None:
    twice = iter(itertools.chain([True, True], itertools.repeat(False)))
    run = made_up_run(failing(lambda lost: len(lost & {*TWO}) == 2 and next(twice)), {"tcp": TWO, "quic": TWO})
    (estimate,) = run.estimates
    assert 0 < estimate.n_pairs < 12
    assert set(run.effects.strata["rounds"]) == {estimate.n_pairs}
    assert estimate.effect_pct == pytest.approx(-100 * math.expm1(-run.effects.strata["contribution"].sum()))
    assert set(run.effects.failures["stratum"]) == {"more"}
    assert run.effects.failures["probability"].isna().all()


def test_without_a_round_there_is_no_share() -> None:
    run = made_up_run(failing(lambda lost: len(lost & {*TWO}) == 2), {"tcp": TWO, "quic": TWO})
    assert run.effects.strata.empty
    assert run.effects.packets["share_pct"].isna().all()
    assert run.effects.packets["baseline_cost"].notna().all()


def test_cells_that_are_sampled_have_no_rows() -> None:
    run = made_up_run(two_packets, {"tcp": TWO, "quic": TWO})
    assert loss_effects(run.patterns.iloc[:0], run.cells, run.study).strata.empty
