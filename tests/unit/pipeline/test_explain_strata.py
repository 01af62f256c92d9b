"""Trials of changed arms over integrated losses, with an engine in which each lost packet has a planted cost."""

import itertools
import math
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from longlook.analysis import Packet, laws_of, plan_strata
from longlook.analysis.measure import MeasuredAttempt
from longlook.core.model import STATED, Outcome, Plan, Study, Trial
from longlook.engines.fake import FakeEngine
from longlook.explain.attribution import Conclusion, concludes
from longlook.explain.cause import Change
from longlook.explain.tape import Tape
from longlook.network.loss_law import LossLaws, dropped
from longlook.pipeline.explain.cells import CellGap
from longlook.pipeline.explain.trials import CellTrials, RunPlace
from longlook.pipeline.options import Observer, RunOptions
from longlook.study.files import find_study
from longlook.study.plan import make_plan
from tests.data.gates import estimate

ROUNDS = 10
STUDY = find_study("certify", rounds=ROUNDS, around="none", losses="strata")
ONLY = ("rate=10Mbit", "rtt=36ms", "queue=1bdp", "loss=1%", "jitter=0ms")
CONTRAST = next(one for one in STUDY.contrasts if "h3" in (one.baseline, one.contender))
WINNER = CONTRAST.baseline if CONTRAST.contender == "h3" else CONTRAST.contender
PLANNED = [trial for trial in make_plan(STUDY, ONLY).trials if trial.arm in ("h3", WINNER)]
LOAD: list[Packet] = [(way, number) for number in range(5) for way in ("up", "down")]
COST_S = {("up", 0): 1.0, ("down", 0): 1.0, ("down", 4): 0.3}
"""The cost of the loss of each packet; of all others 20 ms. The changed arm waits half as long for the last one."""


def seconds(arm: str, lost: frozenset[Packet]) -> float:
    base = {WINNER: 0.1, "h3": 0.16}.get(arm, 0.15)
    costs = [COST_S.get(packet, 0.02) for packet in lost & frozenset(LOAD)]
    saved = 0.15 if ("down", 4) in lost and arm.startswith("h3~") else 0.0
    return base + sum(costs) - saved


def lost_in(trial: Trial) -> frozenset[Packet]:
    found = dropped(trial.link).items()
    return frozenset((way, at) for way, spans in found for first, last in spans for at in range(first, last + 1))


def mean_log(arm: str) -> float:
    """Return the mean over all loads by the law: each packet is lost in 1 % of loads."""
    total = 0.0
    for fates in itertools.product((False, True), repeat=len(LOAD)):
        lost = frozenset(packet for packet, is_lost in zip(LOAD, fates, strict=True) if is_lost)
        total += 0.01 ** len(lost) * 0.99 ** (len(LOAD) - len(lost)) * math.log(seconds(arm, lost))
    return total


class Laboratory:
    """What `measure_plan` gives: each trial's time follows from its arm and its lost packets."""

    def __init__(self) -> None:
        self.ran: list[Trial] = []

    def measure(self, _study: Study, plan: Plan, *_: object) -> tuple[SimpleNamespace, list[MeasuredAttempt]]:
        self.ran += plan.trials
        return SimpleNamespace(trials=Path("none")), [self._attempt(trial) for trial in plan.trials]

    def _attempt(self, trial: Trial) -> MeasuredAttempt:
        run = SimpleNamespace(outcome=Outcome.OK, link={"up": {"arrived": 5}, "down": {"arrived": 5}})
        return MeasuredAttempt(trial, run, {CONTRAST.metric: seconds(trial.arm, lost_in(trial))})  # type: ignore[arg-type]


@pytest.fixture
def laboratory(monkeypatch: pytest.MonkeyPatch) -> Laboratory:
    made = Laboratory()
    monkeypatch.setattr("longlook.pipeline.explain.trials.measure_plan", made.measure)
    monkeypatch.setattr("longlook.pipeline.explain.trials.traffic_digest", lambda _path, trial: trial.id)
    monkeypatch.setattr(CellTrials, "_packets", lambda _self, _entry, _path: tuple(LOAD))
    return made


def trials_of(*, point: bool, more: int = 5, budget: int | None = None) -> CellTrials:
    laws = laws_of(PLANNED, "virtual")
    assert isinstance(laws, LossLaws)
    cell = plan_strata(PLANNED[0].cell_id, laws, {"h3": LOAD, WINNER: LOAD}, [], point=point)
    tape = Tape.integrated(cell, STUDY.seed, range(ROUNDS), {"h3": LOAD, WINNER: LOAD}, is_point=point, more=more)
    found = estimate(-45.0 if CONTRAST.contender == "h3" else 30.0)
    gap = CellGap(CONTRAST, found, tuple(range(ROUNDS)))
    assert gap.loser == "h3"
    engine = FakeEngine()
    engine.name = "virtual"
    return CellTrials(STUDY, RunPlace(gap, ONLY, Path("none"), budget, RunOptions(engine), Observer(), tape))


CHANGE = Change("a shorter timer", {"server_knobs.gso": False})


@pytest.mark.parametrize("point", [True, False])
def test_a_cure_closes_the_share_that_all_loads_have_by_their_law(laboratory: Laboratory, point: bool) -> None:
    trials = trials_of(point=point)
    plan = trials.begun()
    arms = plan.add({"h3": CHANGE})
    assert isinstance(arms, dict)
    assumed = trials.cost(plan)
    gap = trials.run(plan)
    result = gap.closed(arms, STUDY.analysis)
    assert result is not None and result.share is not None
    true = (mean_log("h3") - mean_log(arms["h3"])) / (mean_log("h3") - mean_log(WINNER))
    low, high = result.share.ci_low_pct, result.share.ci_high_pct
    assert low is not None and high is not None
    assert result.share.share_pct == pytest.approx(100 * true, abs=0.5)
    assert low <= 100 * true <= high
    assert concludes(result.p, result.p_none, STUDY.analysis.alpha) is Conclusion.CONFIRMED
    assert gap.values["h3"][0] == pytest.approx(math.exp(mean_log("h3")), rel=0.01)
    changed = [trial for trial in laboratory.ran if trial.arm == arms["h3"]]
    of_rounds = ROUNDS * (5 if point else 1 + 1 + 5)
    assert len(changed) == 1 + len(LOAD) + of_rounds
    further = 2 * ROUNDS * (3 if point else 4)  # of the cell's own arms, which the run has not
    assert len(trials.counterfactual) == len(changed) + further == assumed
    assert [trial.round for trial in changed].count(STATED) == 1 + len(LOAD)


def test_a_screening_takes_the_patterns_of_the_run_and_no_single_losses(laboratory: Laboratory) -> None:
    trials = trials_of(point=False)
    plan = trials.begun()
    arms = plan.add({"h3": CHANGE})
    assert isinstance(arms, dict)
    gap = trials.run(plan, [0, 1, 2], brief=True)
    assert len([trial for trial in laboratory.ran if trial.arm == arms["h3"]]) == 1 + 3 * 3
    assert set(gap.values[arms["h3"]]) == {0, 1, 2}
    closing = [math.log(gap.values["h3"][at] / gap.values[arms["h3"]][at]) for at in range(3)]
    true = mean_log("h3") - mean_log(arms["h3"])
    assert float(np.mean(closing)) == pytest.approx(true, abs=0.02)


def test_trials_with_more_packets_than_losses_were_drawn_for_are_no_values(
    laboratory: Laboratory, monkeypatch: pytest.MonkeyPatch
) -> None:
    trials = trials_of(point=False)
    tape = trials.place.tape
    assert tape.cell is not None
    short = replace(tape.cell, until={"up": 4, "down": 5})
    trials.place = replace(trials.place, tape=replace(tape, cell=short))
    gap = trials.run(trials.begun())
    assert gap.values == {"h3": {}, WINNER: {}}
