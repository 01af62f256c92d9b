"""Events per second from traces in Python to a proven machine; AALpy's Alergia on the same traces in the same run."""

import json
import resource
import subprocess
import sys
import time
from typing import Any

from benches.infer.walk import walk
from longlook.explain import MachineInference, as_table
from longlook.explain.infer import check

SIZES = (100_000, 1_000_000)
TARGET_EVENTS_PER_S = 100_000


def measure() -> dict[str, Any]:
    """Both methods at both sizes; each in a process of its own, so that memory is its own too."""
    results: dict[str, Any] = {"target_events_per_s": TARGET_EVENTS_PER_S}
    for events in SIZES:
        results[str(events)] = {name: _in_process(name, events) for name in ("longlook", "aalpy_alergia")}
    return results


def longlook(events: int) -> dict[str, Any]:
    """Through the Python API with its proof; then checked once more here."""
    traces = walk(events)
    MachineInference().fit(walk(100))  # imports what the other method has imported before it is timed
    began, cpu_began_s = time.perf_counter(), _cpu_s()
    machine = MachineInference().fit(traces).machine_
    seconds, cpu_s = time.perf_counter() - began, _cpu_s() - cpu_began_s
    flaws = check.flaws(machine, as_table(traces))
    return {
        "seconds": round(seconds, 3),
        "cpu_seconds": round(cpu_s, 3),
        "events_per_s": round(events / seconds),
        "events_per_cpu_s": round(events / cpu_s),
        "states": len(machine.states),
        "invariants_kept": len(machine.invariants),
        "flaws": len(flaws),
        "peak_rss_mb": _peak_mb(resource.RUSAGE_SELF) + _peak_mb(resource.RUSAGE_CHILDREN),
    }


def aalpy_alergia(events: int) -> dict[str, Any]:
    """Learns a Markov chain; it promises nothing of invariants."""
    from aalpy.learning_algs.stochastic_passive.Alergia import run_Alergia

    data = [[name for name, _ in trace if name is not None] for trace in walk(events)]
    began, cpu_began_s = time.perf_counter(), _cpu_s()
    model = run_Alergia(data, automaton_type="mc", print_info=False)
    seconds, cpu_s = time.perf_counter() - began, _cpu_s() - cpu_began_s
    return {
        "seconds": round(seconds, 3),
        "cpu_seconds": round(cpu_s, 3),
        "events_per_s": round(events / seconds),
        "events_per_cpu_s": round(events / cpu_s),
        "states": len(model.states),
        "peak_rss_mb": _peak_mb(resource.RUSAGE_SELF),
    }


def _in_process(name: str, events: int) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-m", "benches.infer", name, str(events)], capture_output=True, text=True, check=True
    )
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def _cpu_s() -> float:
    """Return the CPU seconds of this process and the programs that it ran; a busy machine does not change them."""
    return sum(sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))


def _peak_mb(who: int) -> int:
    return round(resource.getrusage(who).ru_maxrss / 1024)
