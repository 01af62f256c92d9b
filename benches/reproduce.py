"""Measures how well `longlook reproduce` rebuilds transfers over known paths from the trace of one end.

Every transfer is a trial of `reproduce.toml` with qlogs of both ends, or with a capture of TCP that is made of the
link's log. Its path is known, so the fitted path can be compared with it, and the trial of the fit with the transfer.
"""

import statistics
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from longlook.core import InputError, RunFolder, units
from longlook.engines import make_engine
from longlook.instruments.transfer.rebuild.run import ReproduceRequest, Reproduction, reproduce
from longlook.pipeline import Observer, RunOptions, sample_study
from longlook.study import find_study
from longlook.timeline import convert

STUDY = Path(__file__).with_suffix(".toml")
ENDS = ("server", "client")
RATE, ROUND_TRIP = "network.rate", "network.rtt"
KNOWN = {"far": (5_000_000, 200_000_000)}
OTHERS = (20_000_000, 40_000_000)
"""The rate in bit/s and the round trip in ns of each path of the study."""


def measure() -> dict[str, Any]:
    """For each end: transfers, how many are alike, those refused, and the sizes of the errors of the fit in %."""
    with tempfile.TemporaryDirectory() as place:
        rows = list(_rebuilt(Path(place)))
    return {**{end: _summary([row for row in rows if row["end"] == end]) for end in ENDS}, "transfers": rows}


def _rebuilt(place: Path) -> Iterator[dict[str, Any]]:
    options = RunOptions(make_engine("virtual"))
    sample_study(find_study(str(STUDY)), place / "known", options, Observer())
    folder = RunFolder.open(place / "known")
    for trial in folder.plan.trials:
        for end in ENDS:
            trace = _trace(folder.trials / trial.id, end, place / f"{trial.id}.pcapng")
            row = {"program": trial.cell["program"], "path": trial.cell["path"], "end": end}
            try:
                request = ReproduceRequest(trace, "client" if end == "client" else "server", rounds=0)
                found = reproduce(request, place / f"{trial.id}-{end}", options, Observer())
            except InputError as error:
                yield {**row, "refused": error.message.removeprefix(f"{trace}: ")}
                continue
            yield {**row, **_errors(found, *KNOWN.get(trial.cell["path"], OTHERS))}


def _trace(trial: Path, end: str, capture: Path) -> Path:
    qlogs = [*(trial / "qlog" / end).glob("*")]
    if qlogs:
        return qlogs[0]
    [written] = convert(trial, "pcapng", capture)
    return written.path


def _errors(found: Reproduction, rate_bps: int, rtt_ns: int) -> dict[str, Any]:
    likeness, settings = found.likeness, found.rebuilt.settings
    if likeness is None:
        raise RuntimeError("a reproduction with trials has a likeness")
    return {
        "alike": likeness.alike,
        "time_error_pct": _error_pct(likeness.time_factor, 1),
        "other_classes_pct": round(100 * likeness.class_distance, 2),
        "rate_error_pct": _error_pct(units.parse_rate(settings[RATE]), rate_bps),
        "rtt_error_pct": _error_pct(units.parse_time(settings[ROUND_TRIP]), rtt_ns),
    }


def _error_pct(found: float, known: float) -> float:
    return round(100 * (found / known - 1), 2)


def _summary(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    fitted = [row for row in rows if "refused" not in row]
    sizes = {
        name: [abs(row[name]) for row in fitted]
        for name in ("time_error_pct", "other_classes_pct", "rate_error_pct", "rtt_error_pct")
    }
    return {
        "transfers": len(rows),
        "refused": len(rows) - len(fitted),
        "alike": sum(row["alike"] for row in fitted),
        **{name: {"median": round(statistics.median(own), 2), "largest": max(own)} for name, own in sizes.items()},
    }
