"""benches/results.json: what each benchmark measured last, with the day, the machine and its load at that time."""

import json
import os
import platform
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).with_name("results.json")

Bench = Callable[[], Mapping[str, Any]]


def run(benches: Mapping[str, Bench], names: Sequence[str], path: Path = RESULTS) -> None:
    """Run the benchmarks of these names, all if there are none, and write each result as soon as it is there.

    Results of other benchmarks stay as they are. Raise SystemExit for a name that there is not.
    """
    if unknown := sorted(set(names) - set(benches)):
        raise SystemExit(f"no benchmark is called {', '.join(unknown)}; there are: {', '.join(benches)}")
    results: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    for name, bench in benches.items():
        if names and name not in names:
            continue
        measured = _now(name)
        results[name] = {"measured": measured, **bench()}
        print(name, json.dumps(results[name], indent=1), flush=True)
        path.write_text(json.dumps({name: results[name] for name in benches if name in results}, indent=1) + "\n")
    print(f"written: {path}")


def _now(name: str) -> dict[str, Any]:
    return {
        "day": time.strftime("%Y-%m-%d"),
        "cpus": os.cpu_count(),
        "kernel": platform.release(),
        "load_before": os.getloadavg(),
        "command": f"python -m benches {name}",
    }
