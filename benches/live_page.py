"""Measures what `longlook watch --page` adds to the CPU time of a run."""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any
from urllib.request import urlopen

LONGLOOK = (sys.executable, "-m", "longlook")
TARGET_SHARE = 0.02


def measure(rounds: int) -> dict[str, Any]:
    """The same run without the page and with it: 9 cells and 2 arms of `demo`, all trials and measurements anew.

    The page's time is what it took until the run had ended. Its measurements are counted apart: the run finds them in
    the cache, and does not make them again. On a machine with other work the CPU seconds of both runs differ by more
    than the page takes.
    """
    with tempfile.TemporaryDirectory() as place:
        alone_s, *_ = _run(Path(place) / "alone", rounds, watched=False)
        watched_s, page_s, measuring_s = _run(Path(place) / "watched", rounds, watched=True)
    return {
        "trials": 18 * rounds,
        "run_alone_cpu_s": round(alone_s, 2),
        "run_watched_cpu_s": round(watched_s, 2),
        "page_cpu_s": round(page_s, 2),
        "of_these_measuring_cpu_s": round(measuring_s, 2),
        "added_share": round((page_s - measuring_s) / watched_s, 4),
        "target_share": TARGET_SHARE,
    }


def _run(place: Path, rounds: int, *, watched: bool) -> tuple[float, float, float]:
    """Return the CPU seconds of a run with all its processes, of the page by then, and of its measurements."""
    run = place / "run"
    options = {**os.environ, "LONGLOOK_TRIALS": str(place / "trials")}
    command = [*LONGLOOK, "run", "demo", "--only", "client=quic-go", "--rounds", str(rounds), "--out", str(run)]
    runner = subprocess.Popen(command, env=options, stdout=subprocess.DEVNULL)
    if not watched:
        return _ended(runner.pid), 0.0, 0.0
    while not (run / "manifest.json").exists():
        time.sleep(0.05)
    command = [*LONGLOOK, "watch", str(run), "--page", "--json"]
    page = subprocess.Popen(command, env=options, stdout=subprocess.PIPE, text=True)
    assert page.stdout is not None
    with urlopen(json.loads(page.stdout.readline())["address"], timeout=60) as answer:
        answer.read()
    used_s = _ended(runner.pid)
    page_s = _so_far(page.pid)
    told = [json.loads(line) for line in page.communicate()[0].splitlines()]
    measuring_s = next(each["measuring_cpu_s"] for each in told if each["event"] == "page_ended")
    return used_s, page_s, measuring_s


def _so_far(pid: int) -> float:
    """Return the CPU seconds of a process."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _ended(pid: int) -> float:
    """Wait for a process; return its CPU seconds, and those of its children that ended."""
    _, status, used = os.wait4(pid, 0)
    if code := os.waitstatus_to_exitcode(status):
        raise SystemExit(f"process {pid} ended with {code}")
    return used.ru_utime + used.ru_stime
