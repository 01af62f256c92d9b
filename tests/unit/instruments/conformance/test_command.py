"""The folders of `longlook stacks check` and `matrix`: the trials of a failure stay, those of a success do not."""

from pathlib import Path

import pytest

from longlook.instruments.conformance.command import _place


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path


def test_without_a_failure_nothing_is_left(temporary: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with _place(None) as place:
        assert place.parent == temporary
    assert list(temporary.iterdir()) == []
    assert capsys.readouterr().err == ""


def test_the_trials_of_a_failure_stay_and_their_place_is_printed(
    temporary: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with _place(None) as place:
        (place / "rogue@0").mkdir()
    assert (place / "rogue@0").is_dir()
    assert f"the trials of what failed are kept in {place}" in capsys.readouterr().err


def test_an_error_leaves_nothing(temporary: Path) -> None:
    with pytest.raises(KeyboardInterrupt), _place(None) as place:
        (place / "rogue@0").mkdir()
        raise KeyboardInterrupt
    assert list(temporary.iterdir()) == []


def test_a_named_folder_is_made_and_kept(temporary: Path) -> None:
    with _place(temporary / "out" / "here") as place:
        pass
    assert place.is_dir()
