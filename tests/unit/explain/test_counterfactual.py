"""Counterfactual arms: the trial as it was, with one thing changed, and the rest untouched."""

from dataclasses import fields
from pathlib import Path

import pytest

from longlook.core.model import Study, Trial
from longlook.explain.cause import Change, Finding, Intervention, Purpose, Sign, Surgery, Target, Touches, Untestable
from longlook.explain.counterfactual import CounterfactualPlan, Experiment, add_tests, all_at_once
from longlook.study.plan import make_plan
from tests.data.studies import CATALOGUE, read, study_file

ONE_CELL = ("rate=10Mbit", "size=small")
FINDING = Finding("a_cause", "quic", "server", {0: Sign(5)}, 1)


@pytest.fixture
def study(tmp_path: Path) -> Study:
    return read(study_file(tmp_path))


def planned(study: Study, loser: str = "quic") -> CounterfactualPlan:
    return CounterfactualPlan(study, study.contrasts[0], loser, ONE_CELL, CATALOGUE)


def of_arm(plan: CounterfactualPlan, arm: str) -> list[Trial]:
    return [trial for trial in plan.plan.trials if trial.arm == arm]


def test_the_arms_of_the_cell_are_the_trials_of_the_run(study: Study) -> None:
    plan = planned(study)
    contrast = study.contrasts[0]
    own = {
        trial.id
        for trial in make_plan(study, ONE_CELL, CATALOGUE).trials
        if trial.arm in (contrast.baseline, contrast.contender)
    }
    assert {trial.id for trial in plan.plan.trials} == own


def test_a_change_of_a_knob_changes_that_endpoint_and_nothing_else(study: Study) -> None:
    plan = planned(study)
    arms = plan.add({"quic": Change("a window", {"server_knobs.window": 123456})})
    assert isinstance(arms, dict)
    for before, after in zip(of_arm(plan, "quic"), of_arm(plan, arms["quic"]), strict=True):
        assert after.server.knobs == {**before.server.knobs, "window": 123456}
        assert after.randomness_of == before.id
        same = {item.name for item in fields(Trial)} - {"id", "arm", "server", "randomness_of"}
        assert all(getattr(before, name) == getattr(after, name) for name in same)


def test_a_change_of_the_path_is_made_for_both_arms_and_keeps_the_seed(study: Study) -> None:
    plan = planned(study)
    change = Change("more delay", {"network.up.loss": "2%", "network.down.loss": "2%"})
    tests, refused = add_tests(plan, [(FINDING, [Intervention(Purpose.CURE, Target.BOTH, Touches.OCCASION, change)])])
    assert refused == {"a_cause": []}
    assert set(tests[0].arms) == {study.contrasts[0].baseline, study.contrasts[0].contender}
    for old, new in tests[0].arms.items():
        for before, after in zip(of_arm(plan, old), of_arm(plan, new), strict=True):
            assert before.seed == after.seed
            assert before.link != after.link


def test_what_cannot_be_is_untestable_with_the_reason(study: Study) -> None:
    plan = planned(study)
    items: list[Intervention | Untestable] = [
        Untestable(Purpose.CURE, "nobody can"),
        Intervention(Purpose.CURE, Target.LOSER, Touches.MECHANISM, Change("no such knob", {"server_knobs.wings": 2})),
        Intervention(Purpose.TRANSPLANT, Target.WINNER, Touches.MECHANISM, Change("nothing", {})),
    ]
    tests, refused = add_tests(plan, [(FINDING, items)])
    assert tests == []
    reasons = [item.reason for item in refused["a_cause"]]
    assert reasons[0] == "nobody can"
    assert "wings" in reasons[1]
    assert "so already" in reasons[2]


@pytest.mark.parametrize(
    ("key", "value"),
    [("network.nonsense", "1"), ("workload.object", "1KB"), ("", "x"), ("tcp", "1KB"), ("congestion_control", "nope")],
)
def test_a_setting_that_no_study_file_could_make_is_refused_by_name(study: Study, key: str, value: str) -> None:
    reason = planned(study, "tcp").add({"tcp": Change("x", {key: value})})
    assert isinstance(reason, str)
    assert reason.startswith(f"{key}: ")


def test_causes_that_change_the_same_share_their_trials(study: Study) -> None:
    plan = planned(study)
    change = Change("a window", {"server_knobs.window": 123456})
    first, second = plan.add({"quic": change}), plan.add({"quic": change})
    assert first == second
    assert len({trial.id for trial in plan.plan.trials}) == len(plan.plan.trials)


def test_surgery_is_for_its_round_alone(study: Study) -> None:
    plan = planned(study)
    arms = plan.add({"quic": Change("a packet spared", surgery={0: Surgery(down="forgive 12")})})
    assert isinstance(arms, dict)
    new = {trial.round: trial for trial in of_arm(plan, arms["quic"])}
    old = {trial.round: trial for trial in of_arm(plan, "quic")}
    assert [stage.kind for stage in new[0].link.down][:1] == ["surgery"]
    assert new[0].id != old[0].id
    assert set(new) == {0}
    assert {number: trial.id for number, trial in plan.loads(arms["quic"]).items()} == {
        number: new[0].id if number == 0 else trial.id for number, trial in old.items()
    }
    assert plan.replaced(arms["quic"]) == "quic" and not plan.has_own_settings(arms["quic"])


def test_all_changes_at_once_go_to_the_arms_that_each_is_for(study: Study) -> None:
    window = Intervention(
        Purpose.CURE, Target.LOSER, Touches.MECHANISM, Change("a window", {"server_knobs.window": 123456})
    )
    path = Intervention(Purpose.CURE, Target.BOTH, Touches.OCCASION, Change("no loss", {"network.down.loss": "2%"}))
    plan = planned(study)
    tests, _ = add_tests(plan, [(FINDING, [window, path])])
    alone = planned(study)
    arms = all_at_once(alone, tests)
    assert isinstance(arms, dict)
    winner = next(name for name in arms if name != "quic")
    assert of_arm(alone, arms["quic"])[0].server.knobs["window"] == 123456
    assert "window" not in of_arm(alone, arms[winner])[0].server.knobs
    assert of_arm(alone, arms[winner])[0].link == of_arm(alone, arms["quic"])[0].link


def test_operations_of_several_changes_on_packets_of_one_round_are_all_made(study: Study) -> None:
    first, second = (
        Intervention(
            Purpose.CURE,
            Target.LOSER,
            Touches.MECHANISM,
            Change("spared", surgery={0: Surgery(down=f"forgive {packet}")}),
        )
        for packet in (7, 9)
    )
    tests, _ = add_tests(planned(study), [(FINDING, [first, second])])
    alone = planned(study)
    arms = all_at_once(alone, tests)
    assert isinstance(arms, dict)
    (stage,) = [stage for stage in of_arm(alone, arms["quic"])[0].link.down if stage.kind == "surgery"]
    assert stage.parameters == {"forgive": ((7, 7), (9, 9))}


def test_the_study_has_a_contrast_of_each_new_arm_with_the_one_that_it_replaces(study: Study) -> None:
    plan = planned(study)
    arms = plan.add({"quic": Change("a window", {"server_knobs.window": 123456})})
    assert isinstance(arms, dict)
    added = plan.study.contrasts[1]
    assert (added.baseline, added.contender) == ("quic", arms["quic"])
    assert (
        Experiment(
            FINDING, Intervention(Purpose.CURE, Target.LOSER, Touches.MECHANISM, Change("")), arms
        ).trials_per_round
        == 1
    )


def test_a_change_that_makes_an_arm_the_other_one_takes_its_trials(tmp_path: Path) -> None:
    more = '[arms.wide]\nprotocol = "h3"\nconnection = "cold"\nserver_knobs.window = 123456\n'
    contrast = '[[contrasts]]\nname = "wide"\nbaseline = "wide"\ncontender = "quic"\nmetric = "page_load_time"\n'
    study = read(study_file(tmp_path, more=f"\n{more}\n{contrast}"))
    plan = CounterfactualPlan(study, study.contrasts[1], "quic", ONE_CELL, CATALOGUE)
    assert plan.add({"quic": Change("the other's window", {"server_knobs.window": 123456})}) == {"quic": "wide"}
    assert {trial.arm for trial in plan.plan.trials} == {"quic", "wide"}
