"""The bank: the runs whose trials every rate of a certification is made from, and how large they are.

All of them are ordinary runs of shipped studies. `cells` has many cells with few rounds, `dense` few cells with many,
`power` arms whose difference is known, `live` a part of `cells` in real time. `strata` and `random` are the same loads
with losses that are integrated and drawn. `strata-whole` and `random-whole` are this with 24 loads and many rounds.
Trials that two of them share come from the cache.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from longlook.core import Outcome, RunFolder, Study
from longlook.engines import make_engine
from longlook.pipeline import Observer, RunOptions, sample_study
from longlook.study import find_study

METRIC = "page_load_time"


@dataclass(frozen=True)
class BankRun:
    """One run of the bank: a study with a number of rounds, in the cells that `only` leaves."""

    study: str
    rounds: int
    only: tuple[str, ...] = ()
    engine: str = "virtual"
    at_point: str = ""  # `strata` or `sampled`: losses are integrated or drawn, and rounds differ in nothing else

    def read(self) -> Study:
        """Return the study as it is run."""
        if not self.at_point:
            return find_study(self.study, rounds=self.rounds, engine=self.engine)
        return find_study(self.study, rounds=self.rounds, engine=self.engine, around="none", losses=self.at_point)


@dataclass(frozen=True)
class Scale:
    """How much is run and how often it is resampled.

    `draws` are samples of each population, `paths` sequences of rounds of each, `heatmaps` are heatmaps; `repeats` of
    each exact trial under each disturbance are made in each of `passes`.
    """

    name: str
    runs: Mapping[str, BankRun]
    draws: int
    paths: int
    heatmaps: int
    repeats: int
    passes: int


def _levels(**levels: str) -> tuple[str, ...]:
    return tuple(f"{factor}={level}" for factor, chosen in levels.items() for level in chosen.split())


_NEAR = {"rate": "10Mbit", "rtt": "36ms", "queue": "1bdp"}
_POINTS = _levels(rate="2Mbit 10Mbit", rtt="36ms", queue="1bdp", loss="0.2% 1% 3%", jitter="0ms")

_WHOLE = {
    "strata-whole": BankRun("certify", 40, _POINTS, at_point="strata"),
    "random-whole": BankRun("certify", 2000, _POINTS, at_point="sampled"),
}

FULL = Scale(
    "full",
    {
        "cells": BankRun("certify", 20),
        "dense": BankRun(
            "certify",
            60,
            _levels(rate="2Mbit 10Mbit 50Mbit", rtt="36ms 112ms", queue="1bdp", loss="0.2% 1% 3%", jitter="0ms 2ms"),
        ),
        "power": BankRun("certify-power", 60),
        "live": BankRun("certify", 20, _levels(**_NEAR, loss="0% 1%"), "live"),
        "strata": BankRun("certify-strata", 20, at_point="strata"),
        "random": BankRun("certify-strata", 100, at_point="sampled"),
        **_WHOLE,
    },
    draws=100,
    paths=2,
    heatmaps=1000,
    repeats=16,
    passes=4,
)
QUICK = Scale(
    "quick",
    {
        "cells": BankRun("certify", 20, _levels(**_NEAR, loss="0% 1% 3%")),
        "dense": BankRun("certify", 40, _levels(**_NEAR, loss="1%")),
        "power": BankRun("certify-power", 40, _levels(loss="0% 0.5%", jitter="0ms")),
        "live": BankRun("certify", 20, _levels(**_NEAR, loss="1%", jitter="2ms"), "live"),
        "strata": BankRun("certify-strata", 10, at_point="strata"),
        "random": BankRun("certify-strata", 40, at_point="sampled"),
        **_WHOLE,
    },
    draws=100,
    paths=10,
    heatmaps=200,
    repeats=1,
    passes=1,
)
SCALES = {scale.name: scale for scale in (QUICK, FULL)}


class Bank:
    """The runs of a certification in its folder `out`; each is run when its samples are asked for the first time."""

    def __init__(self, scale: Scale, out: Path, jobs: int, observer: Observer, *, use_cache: bool = True) -> None:
        self.scale = scale
        self._out, self._jobs, self._observer, self._use_cache = out, jobs, observer, use_cache
        self._samples: dict[str, pd.DataFrame] = {}
        self._studies: dict[str, Study] = {}

    def folder(self, name: str) -> Path:
        """Return where a run lies."""
        return self._out / "runs" / name

    def study(self, name: str) -> Study:
        """Return the study of a run."""
        if name not in self._studies:
            self._studies[name] = self.scale.runs[name].read()
        return self._studies[name]

    def samples(self, name: str) -> pd.DataFrame:
        """Return the samples of a run; what is missing of it runs first, and finished trials stay."""
        if name not in self._samples:
            run, out = self.scale.runs[name], self.folder(name)
            options = RunOptions(
                make_engine(run.engine),
                jobs=self._jobs,
                use_cache=self._use_cache,
                only=run.only,
                resume=(out / "manifest.json").exists(),
                command=("longlook", "certify"),
            )
            self._observer.say(f"{name}: {run.study}, {run.rounds} rounds, engine {run.engine} …")
            self._samples[name] = sample_study(self.study(name), out, options, self._observer)
        return self._samples[name]

    def made(self) -> list["MadeRun"]:
        """Return the facts of the runs that there are."""
        folders = {name: self.folder(name) for name in self.scale.runs}
        return [made(name, folder) for name, folder in folders.items() if (folder / "samples.parquet").exists()]


@dataclass(frozen=True)
class MadeRun:
    """The facts of a run of the bank."""

    name: str
    study: str
    engine: str
    plan: str  # its hash
    cells: int
    trials: int
    good: int  # whose outcome is ok
    results: str | None  # the digest of its exact results
    programs: Mapping[str, str]
    settings: Mapping[str, Mapping[str, str]]


def made(name: str, path: Path) -> MadeRun:
    """Return the facts of a finished run of the bank."""
    folder = RunFolder.open(path)
    manifest, plan = folder.manifest, folder.plan
    results = (folder.result(trial.id) for trial in plan.trials)
    return MadeRun(
        name,
        manifest["study"],
        manifest["engine"],
        plan.hash,
        len({trial.cell_id for trial in plan.trials}),
        len(plan.trials),
        sum(result is not None and result.outcome is Outcome.OK for result in results),
        manifest.get("results", {}).get("digest"),
        manifest["programs"],
        manifest["settings"],
    )
