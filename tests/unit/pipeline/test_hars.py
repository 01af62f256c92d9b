"""The page loads of a whole run as HARs, with made-up results in place of a laboratory."""

from pathlib import Path

import pytest

from longlook.core.errors import InputError
from longlook.core.model import Outcome
from longlook.core.run_folder import RunFolder
from longlook.engines.fake import FakeEngine
from longlook.pipeline.hars import export_hars
from longlook.pipeline.options import Observer, RunOptions
from longlook.pipeline.run import run_study
from longlook.study.files import find_study
from longlook.study.plan import make_plan
from tests.conftest import TINY
from tests.data.har import read_strictly


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    """Two rounds of the tiny study; one trial failed."""
    study, path = find_study(str(TINY), rounds=2), tmp_path_factory.mktemp("hars") / "run"
    failing = next(trial for trial in make_plan(study).trials if trial.arm == "quic" and trial.round == 1)
    run_study(study, path, RunOptions(FakeEngine(outcomes={failing.id: Outcome.FAILED})), Observer())
    return RunFolder.open(path)


def test_every_trial_has_a_file_named_after_cell_arm_and_round(folder: RunFolder, tmp_path: Path) -> None:
    exported = export_hars(folder, tmp_path / "out")
    cells = {trial.cell_id for trial in folder.plan.trials}
    names = {f"{cell}/{arm}-round-0{number}.har" for cell in cells for arm in ("quic", "tcp") for number in (1, 2)}
    assert {str(item.path.relative_to(tmp_path / "out")) for item in exported.written} == names
    outcomes = [read_strictly(item.path)["pages"][0]["_longlook"]["outcome"] for item in exported.written]
    assert sorted(outcomes) == ["failed", *["ok"] * 7]
    assert exported.without == {}


def test_cells_and_arms_can_be_chosen(folder: RunFolder, tmp_path: Path) -> None:
    cell = folder.plan.trials[0].cell_id
    exported = export_hars(folder, tmp_path, [cell], ["tcp"])
    assert {item.path.parent.name for item in exported.written} == {cell}
    assert {item.path.name for item in exported.written} == {"tcp-round-01.har", "tcp-round-02.har"}


def test_what_is_not_there_is_reported(folder: RunFolder, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="--arm quik: not an arm of this run"):
        export_hars(folder, tmp_path, arms=["quik"])
    with pytest.raises(InputError, match="cell nowhere is not a cell"):
        export_hars(folder, tmp_path, ["nowhere"])
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot be made"):
        export_hars(folder, tmp_path / "file")
