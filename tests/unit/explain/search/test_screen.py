"""A screening from its factors to what it suspects, on counterfactual arms of a small study."""

from pathlib import Path

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from longlook.core.model import Analysis, Study
from longlook.explain.answer import FoundBy
from longlook.explain.cause import Change, Purpose, Says, Target, Touches
from longlook.explain.counterfactual import CounterfactualPlan
from longlook.explain.judge import Gap
from longlook.explain.search.factors import ScreenedFactor
from longlook.explain.search.screen import (
    Design,
    admitted,
    alone,
    concluded,
    design_of,
    failing,
    gaps,
    idle,
    is_too_weak,
    suspect,
)
from longlook.explain.search.screening_design import plackett_burman
from tests.data.gaps import LOAD_TIME, RATIOS
from tests.data.studies import CATALOGUE, read, study_file

ONE_CELL = ("rate=10Mbit", "size=small")
ROUNDS = (0, 1, 2)


def factor(name: str, value: int, target: Target = Target.LOSER) -> ScreenedFactor:
    change = Change(f"{name} {value}", {f"server_knobs.{name}": value})
    return ScreenedFactor(
        f"server_knobs.{name}", "server", target, change, f"its {name} is small", Change("the loser's", {})
    )


WINDOW = factor("window", 123_456)
DELAY = ScreenedFactor("network.queue", "path", Target.BOTH, Change("a queue", {"network.down.queue": "8bdp"}), "short")


@pytest.fixture
def study(tmp_path: Path) -> Study:
    return read(study_file(tmp_path))


def begun(study: Study) -> CounterfactualPlan:
    return CounterfactualPlan(study, study.contrasts[0], "quic", ONE_CELL, CATALOGUE)


def test_what_cannot_be_set_and_what_is_known_is_left_out_with_the_reason(study: Study) -> None:
    candidates = [WINDOW, factor("wings", 2), DELAY]
    tested = [Change("the queue alone", {"network.down.queue": "2bdp"})]
    chosen, left_out = admitted(candidates, tested, lambda: begun(study))
    assert chosen == [WINDOW]
    assert [text.partition(":")[0] for text in left_out] == ["server_knobs.wings", "network.queue"]
    assert "wings" in left_out[0].partition(":")[2]
    assert left_out[1].endswith(": it was changed alone already")


def test_the_runs_change_the_loser_and_what_both_share(study: Study) -> None:
    plan = begun(study)
    design = design_of(plan, [WINDOW, DELAY])
    assert len(design.arms) == 8
    for signs, arms in zip(design.signs, design.arms, strict=True):
        assert not isinstance(arms, str)
        assert set(arms) == {
            arm for arm, changed in ((plan.loser, signs.max() > 0), (plan.winner, signs[1] > 0)) if changed
        }
    assert design.arms[-1] == {}
    by_name = {trial.arm: trial for trial in plan.plan.trials}
    first = design.arms[0]
    assert isinstance(first, dict)
    assert by_name[first[plan.loser]].link == by_name[first[plan.winner]].link != by_name[plan.winner].link


def values_of(design: Design, closes: float) -> dict[str, dict[int, float]]:
    """Loads of 2 s against 1 s; where the first factor is changed, the loser's is `closes` shorter in log."""
    values = {"slow": {number: 2.0 + number / 100 for number in ROUNDS}, "fast": dict.fromkeys(ROUNDS, 1.0)}
    for signs, arms in zip(design.signs, design.arms, strict=True):
        assert not isinstance(arms, str)
        if "slow" in arms:
            shorter = np.exp(-closes * (signs[0] > 0))
            values[arms["slow"]] = {number: float(value * shorter) for number, value in values["slow"].items()}
    return values


def made_up(factors: int = 3) -> Design:
    """A design whose arms are named by their run."""
    signs = plackett_burman(factors)
    arms = tuple({"slow": f"run{number}"} if row.max() > 0 else {} for number, row in enumerate(signs))
    return Design(tuple(factor(name, 1) for name in ("one", "two", "three")[:factors]), signs, arms)


def test_the_setting_that_closes_the_gap_is_suspected_and_no_other() -> None:
    design = made_up()
    observed, scale = gaps(Gap("slow", "fast", LOAD_TIME, values_of(design, 0.6)), design, ROUNDS, Analysis())
    assert scale.is_log
    assert failing(design, observed) == []
    found = concluded(design, observed, Analysis(), scale)
    assert found is not None
    effects, suspected = found
    assert [item.setting for item, _ in suspected] == ["server_knobs.one"]
    assert suspected[0][1] == pytest.approx(0.6)
    assert [effect.is_suspected for effect in effects] == [True, False, False]
    assert effects[0].closed == pytest.approx(100 * (1 - np.exp(-0.6)))


def test_what_makes_it_worse_is_not_suspected() -> None:
    design = made_up()
    observed, scale = gaps(Gap("slow", "fast", LOAD_TIME, values_of(design, -0.6)), design, ROUNDS, Analysis())
    found = concluded(design, observed, Analysis(), scale)
    assert found is not None
    assert found[1] == []


def test_trials_that_failed_name_the_setting_with_which_they_do() -> None:
    design = made_up()
    values = values_of(design, 0.6)
    for number, row in enumerate(design.signs):
        if row[1] > 0:
            del values[f"run{number}"]
    observed, _ = gaps(Gap("slow", "fast", LOAD_TIME, values), design, ROUNDS, Analysis())
    assert failing(design, observed) == [1]


def test_a_suspect_is_tested_by_a_single_change_and_by_the_loser_s_value_in_the_winner(
    snapshot: SnapshotAssertion,
) -> None:
    found = suspect(WINDOW, -np.log(0.55), RATIOS, "slow", {0: 2_000_000_000, 1: 1_000_000_000}, 57)
    assert (found.found_by, found.finding.cause, found.finding.arm) == (FoundBy.SCREENING, WINDOW.setting, "slow")
    assert found.finding.strength_ns == 675_000_000
    assert [(item.kind, item.target) for item in found.interventions] == [
        (Purpose.CURE, Target.LOSER),
        (Purpose.TRANSPLANT, Target.WINNER),
    ]
    assert found.cause.said_of(found.finding) == snapshot
    assert "57 trials" in found.finding.signs[0].evidence[0].text


def test_a_setting_that_changes_no_packet_alone_and_one_that_fails_are_left_out_first(study: Study) -> None:
    plan = begun(study)
    chosen = [WINDOW, factor("window", 9_000), DELAY]
    arms = alone(plan, chosen)
    assert all(not isinstance(made, str) for made in arms)
    traffic, values = {plan.loser: {0: "a"}, plan.winner: {0: "b"}}, {plan.loser: {0: 2.0}, plan.winner: {0: 1.0}}
    for made, log in zip(arms, ("a", None, "c"), strict=True):
        for arm in made.values() if not isinstance(made, str) else ():
            traffic[arm] = {0: log or ""}
            values[arm] = {0: 2.0} if log else {}
    space = Gap(plan.loser, plan.winner, LOAD_TIME, values, traffic=traffic)
    left_out = idle(space, chosen, arms, 0)
    assert left_out == {
        0: "server_knobs.window: with window 123456 alone no packet has another time, size or fate here",
        1: "server_knobs.window: trials with window 9000 fail",
    }


def test_a_design_that_could_not_find_the_whole_gap_is_too_weak() -> None:
    signs = plackett_burman(7)
    design = Design(tuple(factor(f"w{number}", 1) for number in range(7)), signs, ({},) * len(signs))
    noise = np.random.default_rng(3).normal(0, 1, (2, len(signs)))
    for size, weak in ((1.0, True), (0.01, False)):
        gaps_seen = 0.5 + size * noise
        assert is_too_weak(design, gaps_seen, 3, Analysis(), RATIOS) is weak


def test_a_setting_of_the_path_says_where_and_one_of_an_end_why() -> None:
    of_path, of_end = (suspect(one, np.log(2), RATIOS, "quic", {0: 10**9}, 10) for one in (DELAY, WINDOW))
    assert (of_path.cause.says, of_path.interventions[0].touches) == (Says.WHERE, Touches.OCCASION)
    assert (of_end.cause.says, of_end.interventions[0].touches) == (Says.WHY, Touches.MECHANISM)
