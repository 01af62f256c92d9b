"""What trials cost here before says about how long others will take."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from longlook.core.model import Study, Trial, Workload
from longlook.run.costs import Cost, CostMeter, Costs, Forecast, kinds_of
from longlook.study.plan import make_plan


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LONGLOOK_TRIALS", str(tmp_path / "cache"))


@pytest.fixture
def trials(tiny_study: Study) -> tuple[Trial, ...]:
    """Three rounds of two arms in two cells, which differ in the size of an object."""
    return make_plan(tiny_study).trials


def test_nothing_is_known_at_first(trials: tuple[Trial, ...]) -> None:
    assert Costs.read().forecast(trials, "virtual", 2) == Forecast(None, unknown=12)
    assert Costs.read().forecast((), "virtual", 2) == Forecast(0.0)


def test_a_later_run_takes_what_the_same_trials_took(trials: tuple[Trial, ...]) -> None:
    meter = CostMeter()
    for trial in trials[:4]:
        meter.add(trial, "virtual", 3.0)
    meter.keep()
    assert Costs.read().forecast(trials, "virtual", 2) == Forecast(18.0, known=12)
    assert Costs.read().forecast(trials, "other", 2) == Forecast(None, unknown=12)


def test_another_load_counts_as_alike_and_another_kind_as_the_mean(trials: tuple[Trial, ...]) -> None:
    meter = CostMeter()
    meter.add(trials[0], "virtual", 2.0)
    meter.keep()
    alike = replace(
        trials[0], workload=replace(trials[0].workload, parameters={"objects": 7, "object_bytes": 100_000_000})
    )
    foreign = replace(trials[0], workload=Workload("upload"))
    found = Costs.read().forecast([trials[0], alike, foreign, foreign], "virtual", 1)
    assert found == Forecast(8.0, known=1, alike=1, unknown=2)


def test_live_trials_run_one_by_one(trials: tuple[Trial, ...]) -> None:
    meter = CostMeter()
    meter.add(trials[0], "live", 2.0)
    meter.keep()
    assert Costs.read().forecast([trials[0]] * 3, "live", 8).seconds == 6.0


def test_draws_of_rounds_change_no_kind(trials: tuple[Trial, ...]) -> None:
    assert kinds_of(trials[0], "virtual") == kinds_of(replace(trials[0], round=7, seed=99), "virtual")
    size = int(trials[0].workload.parameters["object_bytes"])
    drawn = replace(trials[0].workload, parameters={**trials[0].workload.parameters, "object_bytes": size * 104 // 100})
    assert kinds_of(trials[0], "virtual") == kinds_of(replace(trials[0], workload=drawn), "virtual")


def test_older_trials_count_less() -> None:
    costs_file().parent.mkdir(parents=True)
    costs = Costs({"kind": Cost(200, 200.0, 1)}).with_more({"kind": Cost(200, 600.0, 2)})
    costs.write()
    (known,) = json.loads(costs_file().read_text()).values()
    assert known == {"trials": 200, "took_s": 400.0, "day": 2}


def costs_file() -> Path:
    from longlook.core.paths import cache_root

    return cache_root() / "costs.json"


@pytest.mark.parametrize("text", ["{", "[]", '{"a": 3}', '{"a": {"trials": 0, "took_s": 1, "day": 1}}', "\xff"])
def test_a_damaged_memory_is_none(trials: tuple[Trial, ...], text: str) -> None:
    costs_file().parent.mkdir(parents=True)
    costs_file().write_text(text)
    assert Costs.read().forecast(trials, "virtual", 1).seconds is None
    meter = CostMeter()
    meter.add(trials[0], "virtual", 1.0)
    meter.keep()
    assert Costs.read().forecast(trials[:1], "virtual", 1).seconds == 1.0
