"""Causes that knobs and settings planted in real trials: each sees itself, from what the link and both ends logged."""

from pathlib import Path

import pytest

from longlook.core.model import Contrast, Trial
from longlook.core.run_folder import EVENTS, TIMELINE, RunFolder
from longlook.explain.cause import Intervention, Purpose, Untestable, causes
from longlook.explain.counterfactual import CounterfactualPlan, add_tests
from longlook.explain.detect import suspect
from longlook.explain.ledger import make_ledger
from longlook.explain.pair import Pair, Side
from longlook.study.files import find_study
from longlook.timeline.events import Events
from longlook.timeline.timeline import Timeline
from tests.support.command_line import longlook

pytestmark = [pytest.mark.lab, pytest.mark.slow, pytest.mark.timeout(600)]

STUDY = Path(__file__).parents[1] / "data" / "planted.toml"
PLANTED = {
    "stream_credit": ("quic", "stream_credit"),
    "connection_credit": ("quic", "connection_credit"),
    "stream_ids": ("quic", "stream_ids"),
    "initial_window": ("quic", "initial_window"),
    "window_capped": ("quic", "window_capped"),
    "send_buffer": ("tcp", "send_buffer"),
    "receive_window": ("tcp", "connection_credit"),
}
"""Arm → the arm without the cause, and the cause."""


@pytest.fixture(scope="module")
def sides(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Side]:
    out = tmp_path_factory.mktemp("planted") / "run"
    answer = longlook("run", str(STUDY), "--no-cache", "--out", str(out))
    assert answer.returncode == 0, answer.stderr
    folder = RunFolder.open(out)
    return {trial.arm: side_of(folder, trial) for trial in folder.plan.trials}


def side_of(folder: RunFolder, trial: Trial) -> Side:
    path = folder.trials / trial.id
    timeline = Timeline.read(path / TIMELINE).with_events(Events.read(path / EVENTS))
    ledger = make_ledger(timeline, trial)
    assert ledger is not None
    return Side(trial, timeline, ledger)


@pytest.mark.parametrize("arm", PLANTED)
def test_no_cause_is_suspected_more_than_the_planted_one(sides: dict[str, Side], arm: str) -> None:
    base, cause = PLANTED[arm]
    pair = Pair(sides[arm], sides[base])
    assert pair.loser.load_ns > pair.winner.load_ns
    findings = suspect({0: pair}, causes()).findings
    strengths = {found.cause: found.strength_ns for found in findings}
    assert strengths[cause] == max(strengths.values()), strengths
    finding = next(found for found in findings if found.cause == cause)
    made = causes()[cause].interventions(finding, pair)
    contrast = Contrast("planted", base, arm, "page_load_time")
    plan = CounterfactualPlan(find_study(str(STUDY)), contrast, arm, ())
    experiments, refused = add_tests(plan, [(finding, made)])
    kinds = {experiment.intervention.kind for experiment in experiments}
    assert {Purpose.CURE, Purpose.TRANSPLANT} <= kinds, refused


def test_any_two_real_trials_can_be_compared(sides: dict[str, Side]) -> None:
    for loser in sides.values():
        for winner in (sides["quic"], sides["tcp"]):
            pair = Pair(loser, winner)
            for cause in causes().values():
                sign = cause.detect(pair)
                assert sign is None or isinstance(sign.strength_ns, int)
            for finding in suspect({0: pair}, causes()).findings:
                made = causes()[finding.cause].interventions(finding, pair)
                assert all(isinstance(item, Intervention | Untestable) for item in made)


def test_an_arm_has_no_cause_against_itself(sides: dict[str, Side]) -> None:
    for own in sides.values():
        assert suspect({0: Pair(own, own)}, causes()).findings == ()
