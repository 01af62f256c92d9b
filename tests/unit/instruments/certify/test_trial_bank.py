"""The bank: its size, its cells, and its samples from a run that goes on where it stopped."""

import json
import math
from functools import cache
from pathlib import Path

import pytest

from longlook.analysis.stats.cells import Cells
from longlook.core.model import Contrast, Study
from longlook.core.units import parse_time
from longlook.engines import choice
from longlook.engines.fake import FakeEngine
from longlook.instruments.certify import exactness
from longlook.instruments.certify.disturbances import DISTURBANCES
from longlook.instruments.certify.trial_bank import FULL, METRIC, QUICK, Bank, BankRun, Scale
from longlook.pipeline.options import Observer

SMALL = str(Path(__file__).parents[3] / "data" / "certify.toml")
TINY = Scale("tiny", {"cells": BankRun(SMALL, 4)}, draws=2, paths=1, heatmaps=2, repeats=1, passes=1)


@cache
def read(name: str) -> Study:
    """A shipped study."""
    return BankRun(name, 1).read()


def levels(run: BankRun) -> dict[str, set[str]]:
    """The levels of each factor in which a run has cells; studies of the bank exclude none."""
    every = {factor.name: {level.label for level in factor.levels} for factor in read(run.study).factors}
    chosen = [text.split("=") for text in run.only]
    return {factor: {level for name, level in chosen if name == factor} or labels for factor, labels in every.items()}


def cells(run: BankRun) -> int:
    return math.prod(len(labels) for labels in levels(run).values())


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> FakeEngine:
    made = FakeEngine()
    monkeypatch.setitem(choice.ENGINES, "virtual", lambda: made)  # type: ignore[arg-type]
    return made


def test_the_whole_has_a_thousand_cells_and_two_hundred_contrasts() -> None:
    study = read("certify")
    assert cells(FULL.runs["cells"]) * len(study.arms) >= 1000
    assert cells(FULL.runs["dense"]) * len(study.contrasts) >= 200
    assert FULL.runs["dense"].rounds >= 60
    assert {contrast.metric for contrast in study.contrasts} == {METRIC}


def test_the_quick_one_has_a_few_dozen_cells() -> None:
    assert 24 <= cells(QUICK.runs["cells"]) * len(read("certify").arms) <= 48


@pytest.mark.parametrize("scale", [QUICK, FULL], ids=lambda scale: scale.name)
def test_runs_share_cells_and_every_level_exists(scale: Scale) -> None:
    every = levels(BankRun("certify", 1))
    for name, run in scale.runs.items():
        if run.study == "certify" and not name.endswith("-whole"):  # the same cells at every scale
            assert all(labels <= every[factor] for factor, labels in levels(run).items())
            assert all(labels <= levels(scale.runs["cells"])[factor] for factor, labels in levels(run).items())


def test_the_live_run_draws_no_neighbourhood_and_the_others_do() -> None:
    assert read("certify").around
    assert not BankRun("certify-power", 1, engine="live").read().around


def test_each_known_difference_is_a_delay_of_that_share_of_the_round_trip() -> None:
    study = read("certify-power")
    rtt_s = 0.036
    for contrast in study.contrasts:
        (arm,) = [arm for arm in study.arms if arm.name == contrast.contender]
        delay_s = parse_time(str(arm.settings["network.access_delay"])) / 1e9
        assert float(contrast.name.removesuffix(" %")) == pytest.approx(100 * delay_s / rtt_s)


def test_samples_come_from_a_run_that_goes_on_where_it_stopped(engine: FakeEngine, tmp_path: Path) -> None:
    samples = Bank(TINY, tmp_path, 1, Observer()).samples("cells")
    assert len(engine.ran) == 16
    lost = next((tmp_path / "runs" / "cells" / "trials").iterdir())
    (lost / "run.json").unlink()
    for file in lost.iterdir():
        file.unlink()
    lost.rmdir()
    again = Bank(TINY, tmp_path, 1, Observer())
    assert again.samples("cells").equals(samples)
    assert engine.ran[16:] == [lost.name]
    study = again.study("cells")
    data, _ = Cells(samples, study, [METRIC]).of(Contrast("", "h2", "h2", METRIC))
    assert len(data.baseline.values) == 4


def test_the_facts_of_a_run_are_those_of_its_folder(engine: FakeEngine, tmp_path: Path) -> None:
    made = Bank(TINY, tmp_path, 1, Observer())
    assert made.made() == []
    made.samples("cells")
    (facts,) = made.made()
    manifest = json.loads((tmp_path / "runs" / "cells" / "manifest.json").read_text())
    assert (facts.cells, facts.trials, facts.good) == (2, 16, 16)
    assert (facts.plan, facts.programs) == (manifest["plan_hash"], manifest["programs"])
    assert len(engine.ran) == 16


def test_the_whole_repeats_each_exact_trial_five_thousand_times_in_all() -> None:
    study = read(exactness.STUDY)
    trials = len(study.arms) * math.prod(len(factor.levels) for factor in study.factors)
    assert trials * len(DISTURBANCES) * FULL.repeats * FULL.passes >= 5000
