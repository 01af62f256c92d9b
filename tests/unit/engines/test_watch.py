"""The limits after which a program counts as spinning, and a guest as hanging."""

import itertools
import subprocess
import threading
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from longlook.core.errors import InputError
from longlook.engines.virtual.watch import BootLimits, spin_timeout_s, watch

NEW, OLD = "LONGLOOK_SPIN_TIMEOUT_S", "LONGLOOK_PATIENCE_S"


@pytest.mark.parametrize(
    ("variables", "expected"), [({}, 20.0), ({NEW: "5"}, 5.0), ({OLD: "7"}, 7.0), ({NEW: "5", OLD: "7"}, 5.0)]
)
def test_the_old_name_of_the_variable_is_still_read(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], expected: float
) -> None:
    for name in (NEW, OLD):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert spin_timeout_s() == expected


@pytest.mark.parametrize("value", ["soon", "0", "-1", "nan"])
def test_a_bad_value_is_refused_with_its_name(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.delenv(NEW, raising=False)
    monkeypatch.setenv(OLD, value)
    with pytest.raises(InputError, match=f"{OLD} is not a positive number of seconds"):
        spin_timeout_s()


def test_the_limit_of_real_time_is_that_of_each_trial(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    console = tmp_path / "console.log"
    console.touch()
    limits = BootLimits(wall_s=1.0, spin_timeout_s=1e9)
    done = itertools.count(1)
    with subprocess.Popen(["sleep", "3"]) as guest:
        assert watch(guest.pid, console, limits, threading.Event(), lambda: next(done)) is None
    with subprocess.Popen(["sleep", "60"]) as guest:
        reason = watch(guest.pid, console, limits, threading.Event(), lambda: 1)
        guest.kill()
    assert reason == snapshot
