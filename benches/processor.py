"""Compares the work of endpoints by the model of a server core with their use of this machine's CPUs in real time.

The same downloads of one client from servers run in both engines: four arms of two stacks with knobs, and two arms of
each other server over QUIC and over TCP. The model's constants
(`longlook.study.processors`) were fitted to such figures once, so its errors here are those on this machine today.
"""

import statistics
import tempfile
from pathlib import Path
from typing import Any

from longlook.core import Outcome, RunFolder, Study
from longlook.engines import make_engine
from longlook.pipeline import Observer, RunOptions, run_study
from longlook.study import find_study

_STUDIES = tuple(
    Path(__file__).with_name(name) for name in ("processor.toml", "processor-h3.toml", "processor-h2.toml")
)
_FREE = {"client_processor": "off", "server_processor": "off"}


def measure(rounds: int = 5) -> dict[str, Any]:
    """Return `rows`, one for each server, arm and role: median CPU seconds in real time and by the model."""
    rows = [row for study in _STUDIES for row in _rows(study, rounds)]
    return {"rows": rows}


def _rows(study: Path, rounds: int) -> list[dict[str, Any]]:
    found = {
        engine: _medians(find_study(str(study), rounds=rounds, changes=changes, engine=engine), engine)
        for engine, changes in (("live", _FREE), ("virtual", {}))
    }
    return [
        {
            **dict(zip(("server", "arm", "role"), key, strict=True)),
            "live_s": round(live_s, 4),
            "model_s": round(found["virtual"][key], 4),
            "error_pct": round(100 * (found["virtual"][key] / live_s - 1), 1),
        }
        for key, live_s in sorted(found["live"].items())
        if key in found["virtual"]
    ]


def _medians(study: Study, engine: str) -> dict[tuple[str, str, str], float]:
    """Return the median CPU seconds over the rounds, by server, arm and role."""
    used: dict[tuple[str, str, str], list[float]] = {}
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "run"
        run_study(study, path, RunOptions(make_engine(engine)), Observer())
        folder = RunFolder.open(path)
        for trial in folder.plan.trials:
            run = folder.result(trial.id)
            if run is None or run.outcome is not Outcome.OK:
                continue
            for role in ("client", "server"):
                used.setdefault((trial.cell["server"], trial.arm, role), []).append(run.cpu_s[role])
    return {key: statistics.median(values) for key, values in used.items()}
