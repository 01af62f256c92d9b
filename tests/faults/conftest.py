from collections.abc import Iterator
from pathlib import Path

import pytest

from longlook.core import registry
from longlook.engines.live import LiveEngine
from tests.faults.guest_harness import GuestHome
from tests.faults.harness import Home, changes, host_state, wait_until
from tests.support.undisturbed import UndisturbedEngine


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Home]:
    """A home, and the proof that nothing of it is left: no process, no scratch, nothing of the host changed."""
    home = Home(tmp_path)
    (tmp_path / "tmp").mkdir()
    for key in ("LONGLOOK_CACHE", "TMPDIR", "LONGLOOK_PLUGINS"):
        monkeypatch.setenv(key, home.environment()[key])
    registry.forget()
    before = host_state()
    yield home
    registry.forget()
    assert home.processes() == []
    assert home.scratch() == []
    assert changes(before, host_state()) == {}


@pytest.fixture
def engine(home: Home) -> Iterator[LiveEngine]:
    with UndisturbedEngine() as engine:
        yield engine


@pytest.fixture
def guest_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[GuestHome]:
    """A home for trials in guests, below the /tmp that guests hide; and the proof that nothing of them is left."""
    home = GuestHome(tmp_path)
    (tmp_path / "tmp").mkdir()
    settings = home.environment()
    for key in ("LONGLOOK_CACHE", "TMPDIR", "LONGLOOK_PLUGINS", "LONGLOOK_KERNEL", "LONGLOOK_SPIN_TIMEOUT_S"):
        monkeypatch.setenv(key, settings[key])
    monkeypatch.setattr("tempfile.tempdir", None)  # it is remembered, and TMPDIR has changed
    registry.forget()
    yield home
    registry.forget()
    home.end_runs()
    wait_until(lambda: home.guests() == [], "every guest is gone")
    assert home.litter() == []
