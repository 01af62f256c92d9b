"""From the values of counterfactual trials to verdicts."""

from dataclasses import replace

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from longlook.core.model import Analysis
from longlook.explain.answer import Explained, closed_share_pct
from longlook.explain.attribution import Conclusion
from longlook.explain.cause import Cause, Change, Finding, Intervention, Purpose, Sign, Target, Touches, Untestable
from longlook.explain.counterfactual import Experiment
from longlook.explain.judge import Gap, RoundsReading, judge_findings, together
from tests.data.gaps import LOAD_TIME

ROUNDS = 10
RANDOM = np.random.default_rng(11)
NOISE = RANDOM.normal(0, 0.01, (8, ROUNDS))


def values(mean_s: float, which: int) -> dict[int, float]:
    return {number: mean_s * float(np.exp(NOISE[which, number])) for number in range(ROUNDS)}


CAUSE = Cause("a", "A cause", "it is {dose:.0f}", "nobody", "server", (), (), lambda _pair: None, lambda _f, _p: ())
FINDING = Finding("a", "slow", "server", {number: Sign(10**8, dose=3.0) for number in range(ROUNDS)}, ROUNDS)
TESTED = {
    "slow": values(2.0, 0),
    "fast": values(1.0, 1),
    "slow~half": values(1.41, 2),
    "slow~nothing": values(2.0, 0),
    "fast~ill": values(2.0, 3),
    "slow~worse": values(3.0, 4),
}


def a_test(
    kind: Purpose,
    target: Target,
    arms: dict[str, str],
    dose: float | None = None,
    touches: Touches = Touches.MECHANISM,
) -> Experiment:
    return Experiment(FINDING, Intervention(kind, target, touches, Change(next(iter(arms.values()))), dose), arms)


def judged(
    *tests: Experiment, untestable: tuple[Untestable, ...] = (), is_alike: bool = False, untouched: tuple[int, ...] = ()
) -> Explained:
    gap = Gap("slow", "fast", LOAD_TIME, TESTED)
    finding, reading = replace(FINDING, is_alike=is_alike), RoundsReading(untouched=frozenset(untouched))
    return judge_findings(gap, [finding], tests, {"a": untestable}, {"a": CAUSE}, Analysis(), reading)[0]


HALF = a_test(Purpose.CURE, Target.LOSER, {"slow": "slow~half"})
NOTHING = a_test(Purpose.CURE, Target.LOSER, {"slow": "slow~nothing"})
WORSE = a_test(Purpose.CURE, Target.LOSER, {"slow": "slow~worse"})
ILL = a_test(Purpose.TRANSPLANT, Target.WINNER, {"fast": "fast~ill"})


def test_a_cure_that_halves_the_gap_confirms_with_half_the_share(snapshot: SnapshotAssertion) -> None:
    item = judged(HALF)
    assert item.conclusion is Conclusion.CONFIRMED
    assert item.best is not None and item.best.share is not None
    assert item.best.share.share_pct == pytest.approx(50, abs=3)
    assert item.sentence == snapshot
    assert item.seen_in == ROUNDS


def test_a_transplant_as_well_confirms_both_ways() -> None:
    assert judged(HALF, ILL).conclusion is Conclusion.CONFIRMED_BOTH_WAYS


def test_a_cure_without_effect_refutes_whatever_the_transplant_does() -> None:
    assert judged(NOTHING).conclusion is Conclusion.REFUTED
    assert judged(NOTHING, ILL).conclusion is Conclusion.REFUTED


def test_a_cure_that_makes_it_worse_is_no_confirmation() -> None:
    assert judged(WORSE).conclusion is Conclusion.INCONCLUSIVE


def test_a_transplant_stands_in_where_no_cure_can_be_made() -> None:
    item = judged(ILL, untestable=(Untestable(Purpose.CURE, "no knob"),))
    assert item.conclusion is Conclusion.CONFIRMED
    assert item.untestable == ("no knob",)


def test_nothing_that_could_be_changed_is_untestable() -> None:
    assert judged(untestable=(Untestable(Purpose.CURE, "no knob"),)).conclusion is Conclusion.UNTESTABLE


NO_LOSS = a_test(Purpose.CURE, Target.LOSER, {"slow": "slow~half"}, touches=Touches.OCCASION)
OTHER_PROGRAM = a_test(Purpose.CURE, Target.LOSER, {"slow": "slow~half"}, touches=Touches.PROGRAM)


def test_without_the_occasion_the_gap_closes_which_says_where_and_confirms_nothing() -> None:
    item = judged(NO_LOSS, untestable=(Untestable(Purpose.CURE, "no knob"),))
    assert item.conclusion is Conclusion.WHERE
    assert (item.is_confirmed, item.is_placed, item.direct) == (False, True, None)
    assert closed_share_pct([item], None) is None


@pytest.mark.parametrize(("own", "direct"), [(NOTHING, Conclusion.REFUTED), (WORSE, Conclusion.INCONCLUSIVE)])
def test_an_indirect_test_confirms_nothing_where_the_direct_one_is_refuted_or_open(
    own: Experiment, direct: Conclusion
) -> None:
    item = judged(own, NO_LOSS)
    assert (item.conclusion, item.direct) == (Conclusion.WHERE, direct)
    assert item.best is not None and item.best.touches is Touches.OCCASION


def test_a_swap_of_programs_says_which_end_and_its_share_is_nobodys() -> None:
    item = judged(OTHER_PROGRAM)
    assert (item.conclusion, item.is_confirmed) == (Conclusion.WHICH_END, False)
    assert closed_share_pct([item], None) is None


def test_the_share_of_a_cause_is_that_of_its_mechanism_though_an_occasion_closes_more() -> None:
    whole = a_test(Purpose.CURE, Target.BOTH, {"slow": "slow~half", "fast": "fast~ill"}, touches=Touches.OCCASION)
    item = judged(whole, HALF)
    assert item.conclusion is Conclusion.CONFIRMED
    assert item.best is not None and item.best.touches is Touches.MECHANISM
    assert item.best.share is not None and item.best.share.share_pct == pytest.approx(50, abs=3)


def test_at_an_end_that_both_arms_have_alike_a_mechanism_says_where() -> None:
    item = judged(HALF, is_alike=True)
    assert (item.conclusion, item.direct, item.alike) == (Conclusion.WHERE, Conclusion.CONFIRMED, "server")


def test_a_reason_that_holds_for_a_cure_and_a_transplant_is_given_once() -> None:
    item = judged(untestable=(Untestable(Purpose.CURE, "no knob"), Untestable(Purpose.TRANSPLANT, "no knob")))
    assert item.untestable == ("no knob",)


def test_a_change_that_leaves_the_cause_as_it_was_is_untestable_and_not_refuted(snapshot: SnapshotAssertion) -> None:
    item = judged(NOTHING, untouched=(0,))
    assert item.cures[0].conclusion is Conclusion.UNTOUCHED
    assert item.conclusion is Conclusion.UNTESTABLE
    assert item.untestable[0] == snapshot
    assert judged(HALF, untouched=(0,)).conclusion is Conclusion.CONFIRMED  # it moved the gap


def test_trials_that_failed_conclude_nothing() -> None:
    item = judged(a_test(Purpose.CURE, Target.LOSER, {"slow": "slow~failed"}))
    assert item.conclusion is Conclusion.INCONCLUSIVE
    assert item.cures[0].failed


def test_a_change_that_makes_trials_fail_is_not_confirmed_by_those_that_are_left(snapshot: SnapshotAssertion) -> None:
    for left, conclusion in ((9, Conclusion.CONFIRMED), (8, Conclusion.INCONCLUSIVE)):
        some = {number: value for number, value in TESTED["slow~half"].items() if number < left}
        gap = Gap("slow", "fast", LOAD_TIME, {**TESTED, "slow~half": some})
        (item,) = judge_findings(gap, [FINDING], [HALF], {}, {"a": CAUSE}, Analysis())
        assert (item.conclusion, item.cures[0].rounds) == (conclusion, left)
        assert bool(item.cures[0].failed) is (left < 9)
    assert item.cures[0].failed == snapshot


def test_a_change_that_brings_a_metric_to_zero_is_measured_on_the_scale_of_the_gap() -> None:
    values_of = {"slow": values(200.0, 0), "fast": values(100.0, 1), "slow~none": dict.fromkeys(range(ROUNDS), 0.0)}
    for arm, share_pct in (("slow~none", 200), ("slow~as fast", 100)):
        gap = Gap("slow", "fast", LOAD_TIME, {**values_of, "slow~as fast": values(100.0, 1), "other": {0: 0.0}})
        found = together(gap, ["x"], {"slow": arm}, Analysis())
        assert found is not None and found.share is not None
        assert found.share.share_pct == pytest.approx(share_pct, abs=3)


def test_of_a_change_in_both_arms_the_part_is_told_that_is_the_winners_getting_worse() -> None:
    both = a_test(Purpose.CURE, Target.BOTH, {"slow": "slow~half", "fast": "fast~ill"})
    item = judged(both)
    assert item.cures[0].share is not None
    assert item.cures[0].share.share_pct == pytest.approx(150, abs=4)
    assert item.cures[0].winners_pct == pytest.approx(100, abs=3)
    assert judged(HALF).cures[0].winners_pct is None
    assert judged(ILL).transplants[0].winners_pct is None


def test_a_change_of_both_arms_that_only_makes_the_winner_worse_is_the_winners_advantage() -> None:
    item = judged(a_test(Purpose.CURE, Target.BOTH, {"slow": "slow~nothing", "fast": "fast~ill"}))
    assert item.conclusion is Conclusion.ADVANTAGE
    assert not item.is_confirmed
    assert item.cures[0].winners_pct == pytest.approx(100, abs=3)
    assert judged(ILL).conclusion is Conclusion.CONFIRMED  # made in the winner alone: the cause, given to it


def test_a_change_of_both_arms_that_makes_both_better_alike_is_no_cause_of_the_gap() -> None:
    tested = {**TESTED, "fast~better": {number: value * 0.705 for number, value in TESTED["fast"].items()}}
    both = a_test(Purpose.CURE, Target.BOTH, {"slow": "slow~half", "fast": "fast~better"})
    (item,) = judge_findings(Gap("slow", "fast", LOAD_TIME, tested), [FINDING], [both], {}, {"a": CAUSE}, Analysis())
    assert item.conclusion is Conclusion.REFUTED


def in_traffic(same: int) -> dict[str, dict[int, str]]:
    """Return what the link saw: of `slow~nothing` the same as of `slow` in so many rounds."""
    plain = {number: f"log {number}" for number in range(ROUNDS)}
    other = {number: log if number < same else f"other {number}" for number, log in plain.items()}
    return {"slow": plain, "fast": plain, "slow~nothing": other}


def test_a_change_after_which_every_packet_is_the_same_changes_nothing_and_refutes_nothing() -> None:
    for same, conclusion in ((ROUNDS, Conclusion.NO_CHANGE), (ROUNDS - 1, Conclusion.REFUTED)):
        gap = Gap("slow", "fast", LOAD_TIME, TESTED, traffic=in_traffic(same))
        (item,) = judge_findings(gap, [FINDING], [NOTHING], {}, {"a": CAUSE}, Analysis())
        assert item.conclusion is conclusion
        assert item.cures[0].conclusion is conclusion


def test_a_transplant_decides_where_the_cure_changes_nothing() -> None:
    gap = Gap("slow", "fast", LOAD_TIME, TESTED, traffic=in_traffic(ROUNDS))
    (item,) = judge_findings(gap, [FINDING], [NOTHING, ILL], {}, {"a": CAUSE}, Analysis())
    assert item.conclusion is Conclusion.CONFIRMED
    assert item.best is not None and item.best.target == "winner"


def test_doses_are_in_order_and_their_response_is_told() -> None:
    doses = [
        a_test(Purpose.DOSE, Target.LOSER, {"slow": arm}, dose)
        for arm, dose in (("slow~half", 2.0), ("slow~worse", 0.5), ("slow~nothing", 1.0))
    ]
    item = judged(*doses)
    assert [dose.value for dose in item.doses] == [0.5, 1.0, 2.0]
    assert item.monotone


def test_all_together_is_judged_by_its_own_trials() -> None:
    gap = Gap("slow", "fast", LOAD_TIME, TESTED)
    found = together(gap, ["both"], {"slow": "slow~half", "fast": "fast"}, Analysis())
    assert found is not None and found.share is not None
    assert found.share.share_pct == pytest.approx(50, abs=3)
    assert together(gap, ["both"], {"slow": "slow~failed"}, Analysis()) is None


def test_a_sentence_holds_its_dose_as_a_number_or_as_bytes(snapshot: SnapshotAssertion) -> None:
    small = replace(CAUSE, sentence="its window is {size}, {dose:.0f} bytes")
    finding = replace(FINDING, signs={0: Sign(1, dose=14_480.0)})
    assert small.said_of(finding) == snapshot
    assert small.said_of(replace(FINDING, signs={0: Sign(1)})) == snapshot
