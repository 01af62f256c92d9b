"""A trial with operations on its packets is another trial with the same randomness."""

from pathlib import Path

import pytest

from longlook.core.problems import SettingError
from longlook.network.surgery import with_surgery
from longlook.study.files import read_study
from longlook.study.plan import make_plan, with_lost, with_operations
from tests.data.studies import CATALOGUE, study_file


def test_a_trial_with_operations_keeps_all_but_its_id_and_its_link(tmp_path: Path) -> None:
    trial = make_plan(read_study(study_file(tmp_path), CATALOGUE), (), CATALOGUE).trials[0]
    assert with_operations(trial, "off", "off") is trial
    operated = with_operations(trial, "off", "drop 4, 3")
    assert operated.link == with_surgery(trial.link, "off", "drop 3-4")
    assert (operated.seed, operated.arm, operated.randomness_of) == (trial.seed, trial.arm, trial.id)
    assert operated.id == with_operations(trial, "off", "drop 3-4").id
    assert len({trial.id, operated.id, with_operations(trial, "drop 3-4", "off").id}) == 3
    again = with_operations(operated, "off", "forgive 7")
    assert again.randomness_of == trial.id
    assert again.id != operated.id
    with pytest.raises(SettingError, match="packet 3 is named by drop and by forgive"):
        with_operations(operated, "off", "forgive 3")


def test_a_packet_of_planned_losses_can_be_forgiven(tmp_path: Path) -> None:
    trial = make_plan(read_study(study_file(tmp_path), CATALOGUE), (), CATALOGUE).trials[0]
    planned = with_lost(trial, "more", [], [3, 7])
    spared = with_operations(planned, "off", "forgive 3; hold 7-8 1ms")
    assert (spared.stratum, spared.randomness_of, spared.id == planned.id) == ("more", trial.id, False)
    surgery = next(stage for stage in spared.link.down if stage.kind == "surgery")
    assert surgery.parameters == {"forgive": ((3, 3),), "drop": ((7, 7),), "hold": ((8, 8, 1_000_000),)}
