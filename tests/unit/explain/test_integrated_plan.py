"""Changed arms on the loads of integrated losses: which trials are the run's, and which are new."""

from dataclasses import replace

import pytest

from longlook.analysis.stats.strata import Packet
from longlook.analysis.strata_plan import laws_of, patterns, plan_strata
from longlook.core.model import STATED, Trial
from longlook.explain.cause import Change, Surgery
from longlook.explain.counterfactual import CounterfactualPlan
from longlook.explain.tape import Tape
from longlook.network.loss_law import LossLaws, dropped, loses_at_random
from longlook.study.files import find_study
from longlook.study.plan import make_plan, with_lost

STUDY = find_study("certify", rounds=2, around="none", losses="strata")
ONLY = ("rate=10Mbit", "rtt=36ms", "queue=1bdp", "loss=1%", "jitter=0ms")
CONTRAST = next(one for one in STUDY.contrasts if "h3" in (one.baseline, one.contender))
WINNER = CONTRAST.baseline if CONTRAST.contender == "h3" else CONTRAST.contender
PLANNED = [trial for trial in make_plan(STUDY, ONLY).trials if trial.arm in ("h3", WINNER)]
LOAD: list[Packet] = [("up", 0), ("down", 0), ("up", 1), ("down", 1), ("down", 2)]


def tape_of(*, point: bool) -> Tape:
    laws = laws_of(PLANNED, "virtual")
    assert isinstance(laws, LossLaws)
    cell = plan_strata(PLANNED[0].cell_id, laws, {"h3": LOAD, WINNER: LOAD}, [], point=point)
    tried = {"h3": LOAD, WINNER: LOAD}
    return Tape.integrated(cell, STUDY.seed, range(2), tried, [("down", 2)], is_point=point, more=5)


def begun(tape: Tape) -> CounterfactualPlan:
    return CounterfactualPlan(STUDY, CONTRAST, "h3", ONLY, tape=tape)


def lost_in(trial: Trial) -> set[Packet]:
    found = dropped(trial.link).items()
    return {(way, number) for way, spans in found for first, last in spans for number in range(first, last + 1)}


@pytest.mark.parametrize("point", [True, False])
def test_the_arms_of_the_cell_have_the_trials_of_the_run(point: bool) -> None:
    tape = tape_of(point=point)
    assert tape.cell is not None
    plain = {(trial.arm, trial.round): trial for trial in PLANNED}
    of_run = set()
    for number in range(2):
        for pattern in patterns(tape.cell, STUDY.seed, tape.cell.cell_id, number):
            lost = {way: [at for name, at in pattern.lost if name == way] for way in ("up", "down")}
            of_run.add(with_lost(plain["h3", number], pattern.stratum, lost["up"], lost["down"]).id)
    loads = begun(tape).loads("h3")
    of_rounds = [at for number in range(2) for at in tape.in_round(number)]
    assert {loads[at].id for at in tape.of_run(of_rounds)} == of_run
    assert len(of_rounds) == 2 * (5 if point else 1 + 1 + 5)
    assert lost_in(loads[tape.single(("down", 1))]) == {("down", 1)}
    assert {trial.round for trial in loads.values()} == {STATED, 0, 1}
    assert all(lost_in(trial) == tape.loads[number].lost for number, trial in loads.items())


def test_surgery_of_a_load_leaves_all_other_loads_the_replaced_arms() -> None:
    tape = tape_of(point=False)
    plan = begun(tape)
    spared = tape.single(("down", 2))
    arms = plan.add({"h3": Change("the last packet spared", surgery={spared: Surgery(down="forgive 2")})})
    assert isinstance(arms, dict)
    own, new = plan.loads("h3"), plan.loads(arms["h3"])
    assert {number for number in new if new[number].id != own[number].id} == {spared}
    assert (lost_in(new[spared]), new[spared].randomness_of) == (set(), own[spared].randomness_of)
    assert not plan.has_own_settings(arms["h3"])


def test_a_changed_arm_has_the_same_losses_and_the_randomness_of_the_arm_that_it_replaces() -> None:
    tape = tape_of(point=False)
    plan = begun(tape)
    arms = plan.add({"h3": Change("shorter", {"network.rtt": "30ms"})})
    assert isinstance(arms, dict)
    own, new = plan.loads("h3"), plan.loads(arms["h3"])
    assert own.keys() == new.keys()
    assert not {trial.id for trial in own.values()} & {trial.id for trial in new.values()}
    for number in own:
        assert lost_in(new[number]) == lost_in(own[number])
        assert new[number].randomness_of == own[number].randomness_of != ""
    assert plan.has_own_settings(arms["h3"]) and plan.replaced(arms["h3"]) == "h3"


def test_a_path_without_loss_has_a_trial_a_round_and_another_law_is_refused() -> None:
    tape = tape_of(point=False)
    plan = begun(tape)
    both = {arm: Change("no loss", {"network.up.loss": "0%", "network.down.loss": "0%"}) for arm in ("h3", plan.winner)}
    arms = plan.add(both)
    assert isinstance(arms, dict)
    loads = plan.loads(arms["h3"])
    assert not any(loses_at_random(link) or lost_in(trial) for trial in loads.values() for link in trial.links.values())
    assert {len({loads[at].id for at in tape.in_round(number)}) for number in range(2)} == {1}
    reason = plan.add({"h3": Change("more loss", {"network.up.loss": "2%", "network.down.loss": "2%"})})
    assert reason == "losses are integrated, and here they have another law"


def test_an_arm_with_random_losses_that_is_not_integrated_is_planned_as_before() -> None:
    study = replace(STUDY, loss_strata=False)
    plan = CounterfactualPlan(study, CONTRAST, "h3", ONLY)
    assert set(plan.loads("h3")) == {0, 1}
    assert all(loses_at_random(trial.link) for trial in plan.loads("h3").values())
