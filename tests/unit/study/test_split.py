"""Objects in parts over several connections, by arm."""

from pathlib import Path

import pytest

from longlook.core.model import Trial
from longlook.study.plan import make_plan
from tests.data.studies import CATALOGUE, problems, read, study_file

FETCH = ('kind = "page"\nobjects = 1', 'kind = "fetch"')
TCP = 'connection = "cold"\ncongestion_control = "cubic"'


def trials(folder: Path, *replacements: tuple[str, str]) -> dict[tuple[str, str], Trial]:
    study = read(study_file(folder, FETCH, *replacements))
    return {
        (trial.arm, trial.cell["size"]): trial
        for trial in make_plan(study, ("rate=10Mbit",), CATALOGUE).trials
        if trial.round == 0
    }


def test_an_arm_fetches_parts_of_one_size_over_as_many_connections(tmp_path: Path) -> None:
    whole = trials(tmp_path)
    split = trials(tmp_path, (TCP, f"{TCP}\nsplit = 3"))
    assert split["tcp", "small"].workload.parameters == {"object_bytes": 1667, "connections": 3}
    assert split["tcp", "large"].workload.parameters == {"object_bytes": 333_334, "connections": 3}
    for key in (("quic", "small"), ("quic", "large")):
        assert split[key] == whole[key]
    assert split["tcp", "small"].id != whole["tcp", "small"].id
    assert split["tcp", "small"].seed == whole["tcp", "small"].seed


def test_one_part_is_the_whole(tmp_path: Path) -> None:
    assert trials(tmp_path, (TCP, f"{TCP}\nsplit = 1")) == trials(tmp_path)


@pytest.mark.parametrize(
    ("replacements", "message"),
    [
        ([(TCP, f"{TCP}\nsplit = 2")], "workload page fetches over one connection; use fetch"),
        ([FETCH, (TCP, f"{TCP}\nsplit = 65")], "a whole number of connections, from 1 to 64"),
        ([FETCH, (TCP, f"{TCP}\nsplit = true")], "a whole number of connections, from 1 to 64"),
        ([('kind = "page"\nobjects = 1', 'kind = "fetch"\nconnections = 2'), (TCP, f"{TCP}\nsplit = 2")],
         "every object goes over all 2 connections of the workload already"),
    ],
)  # fmt: skip
def test_what_cannot_be_split_is_an_error(tmp_path: Path, replacements: list[tuple[str, str]], message: str) -> None:
    (line,) = problems(study_file(tmp_path, *replacements))
    assert "split" in line
    assert message in line
