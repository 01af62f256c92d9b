"""System calls of a program are counted by sampling, and the number is right."""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from longlook.lab import cpu_profiler
from longlook.lab.environment import Environment
from longlook.lab.linux.namespace import Namespace
from longlook.lab.process import watch
from tests.support.realtime import HostWasLate

pytestmark = [pytest.mark.lab, pytest.mark.realtime]

CALLS = 40_000
PROGRAM = f"import os\nfor _ in range({CALLS}): os.getppid()"


def profiled(place: Path) -> tuple[Mapping[str, str], Mapping[str, int]]:
    """What the profiler of a program says that it lacks, and the calls that it counted."""
    if (refused := cpu_profiler.failure()) is not None:
        pytest.skip(refused)
    with Namespace() as namespace:
        profiler = cpu_profiler.CpuProfiler(namespace, Environment(place, f"calls{os.getpid()}"), place)
        assert profiler.process is not None
        assert watch([profiler.process], profiler.settled, 30.0)
        with subprocess.Popen([sys.executable, "-S", "-c", PROGRAM]) as program:
            pass
        return profiler.finish({"client": [program.pid]}), profiler.calls


def test_the_number_of_system_calls_is_that_of_the_program(tmp_path: Path) -> None:
    missing, calls = profiled(tmp_path)
    if missing != {"cpu_profile": ""}:
        assert calls == {}  # too few of them: none at all
        assert "samples were lost" in missing["system_calls"]
        raise HostWasLate(f"perf lost samples: {missing['cpu_profile']}")
    assert calls["client"] <= CALLS + 4_000  # Python itself makes some hundred
    assert calls["client"] >= CALLS - 16 * (os.cpu_count() or 1)  # a sample stands for sixteen on each CPU


def test_a_kernel_that_counts_no_system_calls_costs_their_number_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cpu_profiler, "_RECORD_CALLS", ("--event", "raw_syscalls:no_such_call"))
    cpu_profiler._why_uncounted.cache_clear()
    try:
        missing, calls = profiled(tmp_path)
    finally:
        cpu_profiler._why_uncounted.cache_clear()
    assert missing["system_calls"].startswith("system calls cannot be counted: ")
    assert calls == {}
    assert (tmp_path / "cpu" / "client.folded").exists()
