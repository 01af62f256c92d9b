"""The estimate of the time that is left: right within half of it from a tenth of a run on."""

from collections.abc import Iterator
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from longlook.core.model import Outcome, Run, Study, Trial
from longlook.run.tally import Progress, Tally
from longlook.study.plan import make_plan


def run_of(trial: Trial) -> Run:
    return Run(trial.id, Outcome.OK, None, None, 1, "fake", 0, 0.0, 0.0, 0.0, {}, {}, {}, {}, {})


def plan_of(study: Study, rounds: int) -> list[Trial]:
    return list(make_plan(replace(study, rounds=rounds)).trials)


def steps(trials: list[Trial], took_s: list[float], jobs: int, *, cached: int = 0) -> Iterator[tuple[float, Progress]]:
    """Yield (time since the start, step) of trials that `jobs` run at once, in order."""
    seen: list[Progress] = []
    tally = Tally(len(trials), seen.append)
    tally.begin(trials, (), jobs)
    free_at_s = [0.0] * jobs
    ends = []
    for number, (trial, took) in enumerate(zip(trials, took_s, strict=True)):
        worker = free_at_s.index(min(free_at_s))
        free_at_s[worker] += 0.0 if number < cached else took
        ends.append((free_at_s[worker], number, trial, took))
    for end_s, number, trial, took in sorted(ends, key=lambda end: end[:2]):
        tally.add(trial, run_of(trial), retried=False, cached=number < cached, took_s=took)
        yield end_s, seen[-1]


@pytest.mark.parametrize("jobs", [1, 2])  # with many more, a tenth of a plan ends before its dearest trials do
@given(
    costs=st.lists(st.floats(0.2, 20), min_size=4, max_size=4),
    noise=st.lists(st.floats(0.8, 1.2), min_size=200, max_size=200),
)
@settings(max_examples=20)
def test_from_a_tenth_on_it_is_right_within_half(
    tiny_study: Study, jobs: int, costs: list[float], noise: list[float]
) -> None:
    trials = plan_of(tiny_study, 30)
    kinds = sorted({(trial.cell_id, trial.arm) for trial in trials})
    took_s = [
        costs[kinds.index((trial.cell_id, trial.arm))] * noise[number % len(noise)]
        for number, trial in enumerate(trials)
    ]
    made = list(steps(trials, took_s, jobs))
    end_s, under_way_s = made[-1][0], 1.001 * max(took_s)  # which is not known to be half done, or nearly done
    for at_s, step in made:
        if step.done >= len(trials) / 10:
            assert step.left_s is not None
            assert (end_s - at_s) / 1.5 - under_way_s <= step.left_s <= (end_s - at_s) * 1.5 + under_way_s


def test_cached_trials_are_no_measure_of_those_that_run(tiny_study: Study) -> None:
    trials = plan_of(tiny_study, 5)
    made = [step for _, step in steps(trials, [2.0] * len(trials), 1, cached=8)]
    assert [step.left_s for step in made[:8]] == [None] * 8
    assert made[8].left_s == pytest.approx(2.0 * (len(trials) - 9))
    assert made[-1].left_s == 0.0


def test_trials_of_decided_cells_and_repeated_attempts_are_counted(tiny_study: Study) -> None:
    trials = plan_of(tiny_study, 5)
    seen: list[Progress] = []
    tally = Tally(len(trials), seen.append)
    tally.begin(trials[:4], (), 1)
    for trial in trials[:3]:
        tally.add(trial, run_of(trial), retried=False, cached=False, took_s=1.0)
    assert seen[-1].left_s == pytest.approx(len(trials) - 3)  # also what has not begun
    tally.add(trials[3], run_of(trials[3]), retried=True, cached=False, took_s=1.0)
    assert seen[-1].left_s == pytest.approx(len(trials) - 3)
    tally.leave_out(len(trials) - 4)
    tally.add(trials[3], run_of(trials[3]), retried=False, cached=False, took_s=1.0)
    assert (seen[-1].done, seen[-1].total, seen[-1].left_s) == (4, 4, 0.0)


def test_trials_of_an_earlier_session_are_done_once(tiny_study: Study) -> None:
    trials = plan_of(tiny_study, 5)
    seen: list[Progress] = []
    tally = Tally(len(trials) - 2, seen.append)  # two more are planned when the first have run
    tally.begin(trials[3:], trials[:3], 2)
    tally.begin((), trials[:3], 2)  # a later stage comes by them again
    for trial in trials[3:-1]:
        tally.add(trial, run_of(trial), retried=False, cached=False, took_s=1.0)
    assert (seen[-1].done, seen[-1].left_s) == (len(trials) - 1, 0.0)
    tally.leave_out(-2)
    tally.add(trials[-1], run_of(trials[-1]), retried=False, cached=False, took_s=1.0)
    assert (seen[-1].done, seen[-1].total, seen[-1].left_s) == (len(trials), len(trials), 0.0)
