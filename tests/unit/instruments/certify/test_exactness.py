"""Repeats on a disturbed host: what is noted, what goes on, and what is not made here."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from longlook.core import codec
from longlook.core.errors import MachineError
from longlook.core.run_folder import write_json
from longlook.engines import choice
from longlook.engines.fake import FakeEngine
from longlook.instruments.certify.disturbances import Disturbance, RepeatLaunch
from longlook.instruments.certify.exactness import NOTES, Repeated, load, repeat_exactly
from longlook.pipeline.options import Observer


@contextmanager
def _failing(run: Path, _place: Path) -> Iterator[RepeatLaunch]:
    yield RepeatLaunch(run, prefix=("false",))


ABSENT = Disturbance("absent", "something that this machine cannot do", lambda: "no program cc", _failing)
BROKEN = Disturbance("broken", "a start that fails", lambda: None, _failing)


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> FakeEngine:
    made = FakeEngine()
    monkeypatch.setitem(choice.ENGINES, "virtual", lambda: made)  # type: ignore[arg-type]
    return made


def test_what_cannot_be_made_here_is_noted_with_its_reason(engine: FakeEngine, tmp_path: Path) -> None:
    found = repeat_exactly(tmp_path, 1, 2, 1, Observer(), (ABSENT,))
    assert found == [Repeated("absent", number, 0, 0, missing="no program cc") for number in (1, 2)]
    assert load(tmp_path) == found
    assert len(engine.ran) == 8


def test_what_an_earlier_session_noted_is_not_made_again(engine: FakeEngine, tmp_path: Path) -> None:
    noted = [Repeated("broken", 1, 8, 7, divergent="divergent/broken 1", first_difference="link.bin")]
    write_json(tmp_path / NOTES, codec.encode(noted))
    assert repeat_exactly(tmp_path, 1, 1, 1, Observer(), (BROKEN,)) == noted


def test_repeats_that_cannot_go_on_say_so_and_are_not_noted(engine: FakeEngine, tmp_path: Path) -> None:
    broken = Disturbance("broken", "exit code 3", lambda: None, _ends_with_3)
    with pytest.raises(MachineError, match="exit code 3: no room") as caught:
        repeat_exactly(tmp_path, 1, 1, 1, Observer(), (ABSENT, broken))
    assert caught.value.hint == "repeat the command to go on"
    assert [item.disturbance for item in load(tmp_path)] == ["absent"]
    assert not list(tmp_path.glob("disturb-*"))


@contextmanager
def _ends_with_3(run: Path, _place: Path) -> Iterator[RepeatLaunch]:
    yield RepeatLaunch(run, prefix=("sh", "-c", "echo no room >&2; exit 3"))


def test_damaged_notes_are_named(tmp_path: Path) -> None:
    (tmp_path / NOTES).write_text('[{"disturbance": 1}]')
    with pytest.raises(MachineError, match=NOTES):
        load(tmp_path)
