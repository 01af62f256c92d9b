"""The seed of a guest's randomness: of its trials and attempts, whatever surgery does to their packets."""

from dataclasses import replace
from pathlib import Path

from longlook.core.job import Content, Identity, Job
from longlook.core.model import Trial
from longlook.engines.virtual import seed_of
from longlook.study.files import read_study
from longlook.study.plan import make_plan, with_operations
from tests.data.studies import CATALOGUE, study_file


def seed(*trials: Trial, attempt: int = 1) -> int:
    content, identity = Content("", (), {}), Identity("www.example.test", "", "", "", "")
    return seed_of([Job(trial, attempt, "", {}, content, identity) for trial in trials])


def test_a_trial_with_surgery_has_the_randomness_of_the_trial_without_it(tmp_path: Path) -> None:
    first, second = make_plan(read_study(study_file(tmp_path), CATALOGUE), (), CATALOGUE).trials[:2]
    operated = with_operations(first, "off", "forgive 12")
    assert seed(operated) == seed(first)
    assert seed(operated, second) == seed(first, second)
    different = {seed(first), seed(second), seed(first, second), seed(first, attempt=2), seed(replace(first, id="0"))}
    assert len(different) == 5
