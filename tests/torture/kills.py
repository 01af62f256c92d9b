"""Runs that are ended at a random moment: nothing stays behind, nothing finished is lost, the results are the same."""

import contextlib
import json
import os
import random
import signal
import subprocess
import time
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path

from tests.torture.place import Place

STUDY = """
schema = 1
title = "Two arms, two sizes, three rounds"
question = "Are the results the same, whatever ends the run?"
rounds = 3
seed = 20
timeout = "30s"
retries_when_invalid = 5
metrics = ["page_load_time", "throughput"]

[defaults]
server = "quic-go"
client = "quic-go"
connection = "cold"

[arms.tcp]
protocol = "h2"
congestion_control = "cubic"

[arms.quic]
protocol = "h3"

[workload]
kind = "page"
objects = 1

[network]
rate = "20Mbit"
rtt = "36ms"
queue = "1bdp"
loss = "1%"

[capture]
qlog = true

[[factors]]
name = "size"
sets = "workload.object"
levels = ["5KB", "100KB"]

[[contrasts]]
name = "quic vs tcp"
baseline = "tcp"
contender = "quic"
metric = "page_load_time"

[analysis]
min_rounds = 2
"""
TRIALS = 12

Run = subprocess.Popen[str]
ENDS: Mapping[str, Callable[[Run], None]] = {
    "SIGKILL": lambda run: run.kill(),
    "SIGTERM": lambda run: run.terminate(),
    "Ctrl-C": lambda run: os.killpg(run.pid, signal.SIGINT),
    "SIGKILL of the process group": lambda run: os.killpg(run.pid, signal.SIGKILL),
    "SIGHUP": lambda run: os.killpg(run.pid, signal.SIGHUP),
}


def kill_virtual(place: Place, draw: random.Random) -> None:
    """End a run in virtual time once or more; resumed, it gives the results of a run that nobody ended."""
    study, out = written(place), place.path / "out"
    digest, seconds = reference()
    _end_some(place, draw, study, out, "virtual", seconds)
    place.command(*_begin_or_resume(study, out, "virtual")).expect(0)
    assert results_of(out) == digest, f"results {results_of(out)}, undisturbed {digest}"
    place.expect_clean()


def kill_live(place: Place, draw: random.Random) -> None:
    """End a run in real time once or more; resumed, it is complete."""
    study, out = written(place), place.path / "out"
    _end_some(place, draw, study, out, "live", 20.0)
    place.command(*_begin_or_resume(study, out, "live")).expect(0)
    sealed = [json.loads(path.read_text())["outcome"] for path in out.glob("trials/[!.]*/run.json")]
    assert len(sealed) >= TRIALS, f"{len(sealed)} trials"
    assert set(sealed) <= {"ok", "invalid"}, f"outcomes {sorted(set(sealed))}"
    place.expect_clean()


def kill_one_process(place: Place, draw: random.Random) -> None:
    """Kill one process of a run in virtual time, whichever: the run goes on or says why not, and can be resumed."""
    study, out = written(place), place.path / "out"
    _, seconds = reference()
    run = place.longlook("run", str(study), "--out", str(out), "--jobs", "2", "--no-cache")
    after_s = draw.uniform(0, seconds)
    time.sleep(after_s)
    victims = sorted(place.everyone() - {run.pid})
    place.note("a process of the run" if victims else "no process was left", f"after {after_s:.2f} s")
    if victims:
        with contextlib.suppress(ProcessLookupError):  # it has just ended
            os.kill(draw.choice(victims), signal.SIGKILL)
    place.ended(run).expect(0, 1, 3)
    place.expect_calm()
    place.command(*_begin_or_resume(study, out, "virtual")).expect(0)
    place.expect_clean()


def _end_some(place: Place, draw: random.Random, study: Path, out: Path, engine: str, seconds: float) -> None:
    name = draw.choice(list(ENDS))
    place.note(name)
    for _ in range(draw.randint(1, 3)):
        run = place.longlook(*_begin_or_resume(study, out, engine))
        moment_s = draw.uniform(0, seconds)
        place.note(f"after {moment_s:.2f} s")
        try:
            code = run.wait(moment_s)
        except subprocess.TimeoutExpired:
            ENDS[name](run)
            ended = place.ended(run)
            assert "Traceback (most recent call last)" not in ended.errors, ended.tail
            code = ended.code
        else:
            place.ended(run).expect(0)
        place.expect_calm()
        if code == 0:
            break


def _begin_or_resume(study: Path, out: Path, engine: str) -> tuple[str, ...]:
    where = ("--resume", str(out)) if (out / "manifest.json").exists() else ("--out", str(out))
    return ("run", str(study), "--engine", engine, "--jobs", "2" if engine == "virtual" else "1", *where)


def written(place: Place) -> Path:
    """Write the study into a place and return its path."""
    path = place.path / "study.toml"
    path.write_text(STUDY, encoding="utf-8")
    return path


def results_of(out: Path) -> str:
    """Return the digest of a run's exact results."""
    digest: str = json.loads((out / "manifest.json").read_text())["results"]["digest"]
    return digest


@cache
def reference() -> tuple[str, float]:
    """Return the digest of an undisturbed run, and the seconds that it took: once a session."""
    with Place.borrowed() as place:
        began = time.monotonic()
        out = place.path / "out"
        place.command("run", str(written(place)), "--out", str(out), "--jobs", "2").expect(0)
        return results_of(out), time.monotonic() - began
