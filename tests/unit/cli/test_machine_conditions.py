"""What a place or the machine refuses ends in one sentence with what to do next, and leaves nothing half made."""

import errno
import os
from collections.abc import Iterator
from pathlib import Path
from resource import RLIMIT_FSIZE, getrlimit, setrlimit

import pytest
from syrupy.assertion import SnapshotAssertion

from longlook.core.errors import MachineError
from longlook.core.run_folder import RunFolder
from longlook.core.seals import Seals
from longlook.study.files import read_study
from longlook.study.plan import make_plan
from tests.support.command_line import call_longlook

TINY = str(Path(__file__).parents[2] / "data" / "tiny.toml")


@pytest.fixture
def no_room() -> Iterator[None]:
    """No file of this process may grow beyond 4 KB."""
    soft, hard = getrlimit(RLIMIT_FSIZE)
    setrlimit(RLIMIT_FSIZE, (4_096, hard))
    yield
    setrlimit(RLIMIT_FSIZE, (soft, hard))


def surroundings(**changed: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name not in ("LONGLOOK_CACHE", "XDG_CACHE_HOME")}
    return {**kept, **changed}


@pytest.mark.usefixtures("no_room")
def test_a_run_folder_without_room_for_its_plan_is_not_left_half_made(
    tmp_path: Path, snapshot: SnapshotAssertion
) -> None:
    study = read_study(Path(TINY), rounds=20)
    with pytest.raises(MachineError, match=r"cannot make the run folder .*run: File too large") as error:
        RunFolder.create(tmp_path / "run", study, make_plan(study), {})
    assert error.value.hint == snapshot
    assert not (tmp_path / "run").exists()


def test_a_run_folder_without_room_for_its_seals_is_not_left_half_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_seals: Seals, _names: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(Seals, "add", full)
    study = read_study(Path(TINY), rounds=1)
    with pytest.raises(MachineError, match=r"cannot make the run folder .*run: No space left on device"):
        RunFolder.create(tmp_path / "run", study, make_plan(study), {})
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("out", ["x" * 300, "/".join(["x" * 200] * 30), "/dev/null/run"])
def test_an_out_that_can_be_no_folder_is_refused_before_anything_is_installed(
    out: str, snapshot: SnapshotAssertion
) -> None:
    answer = call_longlook("run", "demo", "--out", out)
    assert answer.returncode == 2
    assert answer.stderr == snapshot
    assert "Traceback" not in answer.stderr
    assert len(answer.stderr.splitlines()) == 2
    assert len(answer.stderr) < 500


def test_a_home_that_does_not_exist_is_told_instead_of_filled(tmp_path: Path) -> None:
    home = tmp_path / "nobody"
    answer = call_longlook("run", "demo", "--out", str(tmp_path / "run"), env=surroundings(HOME=str(home)))
    assert answer.returncode == 3
    assert f"the home folder {home} does not exist" in answer.stderr
    assert "LONGLOOK_CACHE" in answer.stderr
    assert not home.exists()


@pytest.mark.parametrize("place", ["file", "/sys/longlook"])
def test_a_cache_that_cannot_be_written_is_named(tmp_path: Path, place: str) -> None:
    (tmp_path / "file").write_text("")
    cache = str(tmp_path / place)
    out = str(tmp_path / "run")
    answer = call_longlook("run", "demo", "--out", out, env=surroundings(LONGLOOK_CACHE=cache))
    assert answer.returncode == 3
    assert cache in answer.stderr
    assert "LONGLOOK_CACHE" in answer.stderr
    assert "Traceback" not in answer.stderr


@pytest.mark.parametrize("text", ["soon", "-1", "nan", "inf", "0"])
def test_a_limit_that_is_no_number_names_its_variable(tmp_path: Path, text: str) -> None:
    environment = {**os.environ, "LONGLOOK_WALL_LIMIT_S": text}
    answer = call_longlook("run", "demo", "--out", str(tmp_path / "run"), env=environment)
    assert answer.returncode == 2
    assert f"LONGLOOK_WALL_LIMIT_S is not a positive number of seconds: {text!r}" in answer.stderr
