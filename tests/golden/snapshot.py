"""The demo's exact results as a file: every value of every trial, and the digests of what made them.

python -m tests.golden.snapshot      write tests/golden/demo.json anew, for review with the change that moved it
"""

import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import pandas as pd

from longlook.core.run_folder import RunFolder
from longlook.engines.virtual import VirtualEngine
from longlook.pipeline.options import Observer, RunOptions
from longlook.pipeline.run import run_study
from longlook.study.files import find_study

SNAPSHOT = Path(__file__).with_name("demo.json")
ONLY = ("client=quic-go",)  # a browser's results are not exact


def take(out: Path, *, jobs: int, rounds: int | None = None) -> dict[str, Any]:
    """Run the demo's exact part, or its first rounds, and return its snapshot; `moved` tells two of them apart."""
    study = find_study("demo", rounds=rounds)
    result = run_study(study, out, RunOptions(VirtualEngine(), jobs=jobs, only=ONLY), Observer())
    manifest = RunFolder.open(out).manifest
    samples = pd.read_parquet(out / "samples.parquet")
    assert result.results_digest is not None
    table: dict[str, dict[str, list[float]]] = {}
    for (cell, arm, metric), group in samples.sort_values("round").groupby(["cell", "arm", "metric"]):
        table.setdefault(f"{cell} {arm}", {})[str(metric)] = [float(value) for value in group["value"]]
    return {
        "made_with": {**manifest["programs"], **manifest["settings"]["virtual"]},
        "results": result.results_digest.digest,
        "values": table,
    }


def first_rounds(snapshot: dict[str, Any], rounds: int) -> dict[str, Any]:
    """Return a snapshot without its later rounds. What a round draws and gives does not depend on their number."""
    table = {
        cell: {metric: values[:rounds] for metric, values in metrics.items()}
        for cell, metrics in snapshot["values"].items()
    }
    return {**snapshot, "values": table}


def moved(before: dict[str, Any], after: dict[str, Any]) -> str:
    """What differs between two snapshots, in words: the digests first, since they are the likely cause."""
    old, new = before["made_with"], after["made_with"]
    names = sorted(old.keys() | new.keys())
    digests = [f"  {name}: {old.get(name)} → {new.get(name)}" for name in names if old.get(name) != new.get(name)]
    cells = [
        f"  {cell} {metric}: {_shown(values, after['values'].get(cell, {}).get(metric))}"
        for cell, metrics in before["values"].items()
        for metric, values in metrics.items()
        if values != after["values"].get(cell, {}).get(metric)
    ]
    return "\n".join(
        [
            "the demo's results have changed. What made them moved as follows:",
            *(digests or ["  nothing: the same programs gave other results, which is a bug"]),
            f"{len(cells)} of the table's rows differ (first value that differs):",
            *cells[:20],
            "if that is meant: .venv/bin/python -m tests.golden.snapshot, and let the diff be reviewed",
        ]
    )


def _shown(before: list[float], after: list[float] | None) -> str:
    if after is None:
        return "is gone"
    pairs = zip(before, after, strict=False)
    return next((f"{one!r} → {other!r}" for one, other in pairs if one != other), "another number of rounds")


def text(snapshot: dict[str, Any]) -> str:
    """The file's text: one line a row, so that a diff shows rows."""
    rows = [
        f"  {json.dumps(cell)}: {{\n"
        + ",\n".join(f"   {json.dumps(metric)}: {json.dumps(values)}" for metric, values in sorted(metrics.items()))
        + "\n  }"
        for cell, metrics in sorted(snapshot["values"].items())
    ]
    made_with = json.dumps(snapshot["made_with"], indent=2, sort_keys=True).replace("\n", "\n ")
    values = ",\n".join(rows)
    results = json.dumps(snapshot["results"])
    return f'{{\n "made_with": {made_with},\n "results": {results},\n "values": {{\n{values}\n }}\n}}\n'


def main() -> None:
    """Write the snapshot."""
    with tempfile.TemporaryDirectory() as folder:
        SNAPSHOT.write_text(text(take(Path(folder) / "run", jobs=os.cpu_count() or 1)))
    sys.stdout.write(f"{SNAPSHOT} is written\n")


if __name__ == "__main__":
    main()
