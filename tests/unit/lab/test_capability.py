"""What a machine can and cannot do: attempts that fail, and settings that a namespace does not show."""

import time

import pytest

from longlook.lab import capability


def test_an_attempt_that_does_not_end_has_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(capability, "_LONGEST_ATTEMPT_S", 1)
    assert capability._failure_of(lambda: time.sleep(60), isolated=False) == "it does not end within 1 s"
    assert capability._failure_of(lambda: None, isolated=False) is None


def test_a_namespace_that_does_not_show_a_setting_is_examined_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before Linux 6.9 no container saw `net.core.rmem_max`."""
    monkeypatch.setattr(capability, "_setting", lambda name: None)
    found = {each.need: each for each in capability.check()}
    assert found["UDP receive buffers"].detail == "this network namespace does not show net.core.rmem_max"
    assert found["congestion control cubic"].detail == "not in this kernel"
