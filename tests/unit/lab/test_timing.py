"""Waiting for the next beat of a guest's clock."""

import time

import pytest

from longlook.lab.linux import system
from longlook.lab.timing import BEAT_NS, BOOT_BEAT_NS, Timing

TICK_NS = 256


@pytest.mark.parametrize("beat_ns", [BEAT_NS, BOOT_BEAT_NS])
@pytest.mark.parametrize("ticks", [1, 130_000, BEAT_NS // TICK_NS - 1, BEAT_NS // TICK_NS, BOOT_BEAT_NS // TICK_NS - 1])
def test_a_guest_wakes_on_the_next_full_beat(beat_ns: int, ticks: int, monkeypatch: pytest.MonkeyPatch) -> None:
    now_ns = ticks * TICK_NS
    slept: list[float] = []
    restarted: list[None] = []
    monkeypatch.setattr(time, "clock_gettime_ns", lambda clock: now_ns)
    monkeypatch.setattr(time, "sleep", slept.append)
    monkeypatch.setattr(system, "restart_random", lambda: restarted.append(None))
    Timing("virtual", virtual=True).align(beat_ns)
    beat = (now_ns // beat_ns + 1) * beat_ns
    assert beat - TICK_NS < now_ns + slept[0] * 1e9 < beat  # its clock shows full ticks: the next one is the beat
    assert len(slept) == len(restarted) == 1


@pytest.mark.parametrize("phase_ns", [0, 32_000, BEAT_NS - 32_000, 10 * BEAT_NS])
def test_a_phase_is_slept_beyond_the_beat(phase_ns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    now_ns = 3 * BEAT_NS + 5 * TICK_NS
    slept: list[float] = []
    monkeypatch.setattr(time, "clock_gettime_ns", lambda clock: now_ns)
    monkeypatch.setattr(time, "sleep", slept.append)
    monkeypatch.setattr(system, "restart_random", lambda: None)
    Timing("virtual", virtual=True).align(phase_ns=phase_ns)
    begins_ns = 4 * BEAT_NS + phase_ns
    assert begins_ns % TICK_NS == 0
    assert begins_ns - TICK_NS < now_ns + slept[0] * 1e9 < begins_ns


def test_real_time_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "sleep", lambda seconds: pytest.fail("slept"))
    Timing().align()
