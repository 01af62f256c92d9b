"""Paths of two links in study files: what they add to trials, what rounds draw of them, and what is refused."""

from pathlib import Path

import pytest

from longlook.core import codec
from longlook.core.errors import InputError
from longlook.core.model import Study
from longlook.network.further import link_of
from longlook.study.files import read_study
from longlook.study.plan import make_plan
from tests.data.studies import CATALOGUE, study_file

TABLE = ("[network]", '[behind]\nrate = "50Mbit"\nrtt = "20ms"\n\n[network]')
STANDARD = ('around = "none"', 'around = "standard"')


def read(folder: Path, *replacements: tuple[str, str]) -> Study:
    return read_study(study_file(folder, *replacements), CATALOGUE)


def test_a_trial_without_further_links_says_nothing_of_them(tmp_path: Path) -> None:
    trial = make_plan(read(tmp_path), (), CATALOGUE).trials[0]
    assert "further" not in codec.encode(trial)
    assert trial.links == (trial.link,)


def test_every_arm_has_the_link_behind_and_a_seed_that_its_loss_does_not_change(tmp_path: Path) -> None:
    trials = make_plan(read(tmp_path, TABLE), (), CATALOGUE).trials
    assert all(set(trial.further) == {"behind"} for trial in trials)
    assert codec.decode(type(trials[0]), codec.encode(trials[0])) == trials[0]
    plain = {trial.id for trial in make_plan(read(tmp_path), (), CATALOGUE).trials}
    assert not plain & {trial.id for trial in trials}


def test_rounds_draw_both_links_apart(tmp_path: Path) -> None:
    study = read(tmp_path, TABLE, STANDARD)
    trials = make_plan(study, (), CATALOGUE).trials
    assert study.around["behind.rtt"] == study.around["network.rtt"]
    drawn = [trial.drawn for trial in trials]
    assert all({"behind.rtt", "behind.rate", "behind.queue"} <= each.keys() for each in drawn)
    assert len({each["behind.rtt"] for each in drawn}) > 1
    assert not any(map(link_of, read(tmp_path, STANDARD).around))


def test_one_law_can_be_for_one_link(tmp_path: Path) -> None:
    law = ('around = "none"', 'around = { "behind.rtt" = "uniform 5%" }')
    trials = make_plan(read(tmp_path, TABLE, law), (), CATALOGUE).trials
    assert all(set(trial.drawn) == {"behind.rtt"} for trial in trials)
    with pytest.raises(InputError, match=r"around\.behind\.rtt: draws nothing"):
        read(tmp_path, law)


def test_errors_name_the_further_link(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"behind\.rate"):
        read(tmp_path, ("[network]", '[behind]\nrtt = "20ms"\n\n[network]'))
    with pytest.raises(InputError, match=r"second\.\w+ = .*no program here uses a second path"):
        read(tmp_path, ("[network]", '[second]\nrate = "1Mbit"\nrtt = "20ms"\n\n[network]'))
