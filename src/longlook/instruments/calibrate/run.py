"""`longlook calibrate`: a calibration from its measurement to its page, and page loads with the same arm twice."""

import tempfile
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from longlook.core import InputError, files
from longlook.engines import make_engine
from longlook.instruments.calibrate.link.live import LiveCalibration, calibrate_live, keep
from longlook.instruments.calibrate.link.virtual import Calibration, calibrate
from longlook.instruments.calibrate.link.virtual import keep as keep_virtual
from longlook.pipeline import Observer, RunOptions, run_study
from longlook.study import find_study

_ROUNDS = 12
_METRIC = "page_load_time"
_STUDY = """
schema = 1
title = "The same arm twice"
question = "How large is a difference that is none?"
rounds = {rounds}
seed = 1
around = "none"
timeout = "30s"
retries_when_invalid = 2
metrics = ["page_load_time"]

[defaults]
server = "quic-go"
client = "quic-go"
connection = "cold"

[arms.h2_a]
label = "HTTP/2, first"
protocol = "h2"
congestion_control = "cubic"

[arms.h2_b]
label = "HTTP/2, second"
protocol = "h2"
congestion_control = "cubic"

[arms.h3_a]
label = "HTTP/3, first"
protocol = "h3"

[arms.h3_b]
label = "HTTP/3, second"
protocol = "h3"

[workload]
kind = "page"
objects = 10

[network]
rate = "10Mbit"
rtt = "36ms"
queue = "1bdp"

[[factors]]
name = "size"
sets = "workload.object"
levels = ["50KB"]

[[contrasts]]
name = "h2 against itself"
baseline = "h2_a"
contender = "h2_b"
metric = "page_load_time"

[[contrasts]]
name = "h3 against itself"
baseline = "h3_a"
contender = "h3_b"
metric = "page_load_time"

[figure]
columns = "size"
rows = []
"""


def run_calibration(
    engine: str, say: Callable[[str], None], out: Path | None, *, aa: bool = False
) -> Calibration | LiveCalibration:
    """Calibrate by an engine; with `out`, write table, raw times and, for real time, the page `index.html`."""
    if engine == "virtual":
        made = calibrate(say, out)
        if aa:
            made = replace(made, aa=same_arm_twice(engine, say))
            keep_virtual(made, out)
        return made
    if engine != "live":
        raise InputError(f"unknown engine {engine!r}", "known: virtual, live")
    from longlook.instruments.calibrate.page import write_page

    result = calibrate_live(say, out)
    if aa:
        result = replace(result, aa=same_arm_twice(engine, say))
    if out is not None:
        keep(result, out)
        write_page(result, out)
    return result


def same_arm_twice(engine: str, say: Callable[[str], None], rounds: int = _ROUNDS) -> Mapping[str, Any]:
    """Measure the difference between two arms that are the same, in % of the page load time, for each protocol."""
    say(f"loading a page {4 * rounds} times, each protocol twice in a round …")
    with tempfile.TemporaryDirectory() as place:
        text = Path(place) / "same-arm-twice.toml"
        text.write_text(_STUDY.format(rounds=rounds))
        run_study(find_study(str(text)), Path(place) / "run", RunOptions(make_engine(engine)), Observer())
        samples = pd.read_parquet(files.regular(Path(place) / "run" / "samples.parquet"))
    samples = samples[(samples["metric"] == _METRIC) & (samples["outcome"] == "ok")]
    by_round = samples.pivot_table(index="round", columns="arm", values="value")
    found: dict[str, Any] = {"engine": engine, "rounds": rounds, "metric": _METRIC}
    for protocol in ("h2", "h3"):
        pair = by_round[[f"{protocol}_a", f"{protocol}_b"]].dropna()
        effect_pct = np.log(pair[f"{protocol}_b"].to_numpy() / pair[f"{protocol}_a"].to_numpy()) * 100
        found[protocol] = {
            "rounds": len(effect_pct),
            "median_s": round(float(pair[f"{protocol}_a"].median()), 6),
            "mean_pct": round(float(np.mean(effect_pct)), 4),
            "largest_pct": round(float(np.max(np.abs(effect_pct))), 4),
            "differences_pct": [round(float(value), 4) for value in effect_pct],
        }
    return found
