"""A number of rounds, or as many as decide."""

from pathlib import Path

from longlook.core.model import Stopping
from longlook.study.plan import make_plan
from tests.data.studies import CATALOGUE, read, study_file


def test_deciding_has_a_largest_number_of_rounds_which_the_plan_holds(tmp_path: Path) -> None:
    study = read(study_file(tmp_path, ("rounds = 3", 'rounds = "decide"')))
    assert (study.rounds, study.stopping) == (40, Stopping())
    assert {trial.round for trial in make_plan(study, catalogue=CATALOGUE).trials} == set(range(40))
    fewer = read(study_file(tmp_path, ("rounds = 3", 'rounds = "decide"\nmax_rounds = 12')))
    assert (fewer.rounds, fewer.stopping) == (12, Stopping())


def test_a_command_line_may_decide_or_name_a_number(tmp_path: Path) -> None:
    plain = study_file(tmp_path)
    assert read(plain, rounds="decide").stopping == Stopping()
    assert read(plain, rounds="decide", changes={"max_rounds": "15"}).rounds == 15
    deciding = study_file(tmp_path, ("rounds = 3", 'rounds = "decide"\nmax_rounds = 12'))
    assert (read(deciding, rounds=5).rounds, read(deciding, rounds=5).stopping) == (5, None)
    assert read(deciding, rounds="decide").rounds == 12


def test_the_trials_of_a_deciding_study_are_those_of_as_many_rounds(tmp_path: Path) -> None:
    deciding = make_plan(read(study_file(tmp_path, ("rounds = 3", 'rounds = "decide"'))), catalogue=CATALOGUE)
    fixed = make_plan(read(study_file(tmp_path), rounds=40), catalogue=CATALOGUE)
    assert deciding.trials == fixed.trials
