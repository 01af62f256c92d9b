"""Measures the cost of an explanation for its waiting user: of a cell of the demo, and after a failed comparison."""

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

CELL_TARGET_S, COMPARE_TARGET_S = 60.0, 60.0

_CELL = ("50Mbit", "1MB")
_COMPARISONS = {
    "protocol": ("quic-go:h3", "quic-go:h2", "--on", "10mbit,36ms,1bdp"),
    "version": ("quic-go@0.65.0", "quic-go@0.26.0", "--size", "100KB", "--on", "10mbit,36ms,1bdp"),
}


def measure() -> dict[str, Any]:
    """Seconds of wall time with nothing cached and from the cache, with the trials and findings of each."""
    with tempfile.TemporaryDirectory() as place:
        return {"cell": _cell(Path(place)), **{name: _comparison(name, Path(place)) for name in _COMPARISONS}}


def _cell(place: Path) -> dict[str, Any]:
    run, (rate, size) = place / "demo", _CELL
    _longlook(
        "run",
        "demo",
        *("--only", "client=quic-go"),
        *("--only", f"rate={rate}"),
        *("--only", f"size={size}"),
        "--out",
        run,
    )
    fresh_s, found = _longlook("explain", run, ",".join(_CELL), "--no-cache", "--json")
    cached_s, _ = _longlook("explain", run, ",".join(_CELL), "--json")
    return {"target_s": CELL_TARGET_S, "fresh_s": fresh_s, "cached_s": cached_s, **_counted(found)}


def _comparison(name: str, place: Path) -> dict[str, Any]:
    sides = _COMPARISONS[name]
    plain_s, _ = _longlook("compare", *sides, "--no-cache", "--json", "--out", place / f"{name}-plain")
    explained_s, found = _longlook("compare", *sides, "--no-cache", "--json", "--explain", "--out", place / name)
    return {
        "target_s": COMPARE_TARGET_S,
        "compare_s": plain_s,
        "added_s": round(explained_s - plain_s, 1),
        **_counted(found),
    }


def _counted(found: list[dict[str, Any]]) -> dict[str, Any]:
    answers = [line for line in found if line.get("event") == "answer"]
    findings = [line for line in found if line.get("event") == "finding"]
    return {
        "findings": {line["cause"]: line["verdict"] for line in findings},
        "trials": sum(answer["trials"] for answer in answers),
    }


def _longlook(*words: str | Path) -> tuple[float, list[dict[str, Any]]]:
    """Run a command; return its wall time in s and its JSON lines. Exit code 1 is a comparison that did not pass."""
    began = time.monotonic()
    done = subprocess.run([sys.executable, "-m", "longlook", *words], capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        raise RuntimeError(f"longlook {' '.join(map(str, words))} ended with {done.returncode}: {done.stderr[-2000:]}")
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    return round(time.monotonic() - began, 1), lines
