"""The inputs of a report: everything it draws, computed by the stages before it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar

import pandas as pd

from longlook.analysis import Heterogeneity, LossEffects, RoundsWon, TailEffect
from longlook.core import (
    ArmLevel,
    Better,
    ClaimResult,
    Contrast,
    Estimate,
    JudgedExpectation,
    JudgedHypothesis,
    ServerConfig,
    Study,
    find_metric,
)
from longlook.explain import Answer
from longlook.run import Verification
from longlook.study import SERVER_CONFIG, Release, parse_config
from longlook.timeline import CollectorCost, InDoubt, NotRecorded

_OfCell = TypeVar("_OfCell", RoundsWon, TailEffect)

Goodput = tuple[list[float], list[float]]
"""Times, in s, and rates, in Mbit/s, of one trial."""


@dataclass(frozen=True)
class MetricFacts:
    """The name of a metric on the page, its unit and its better direction."""

    label: str
    unit: str
    better: Better


@dataclass(frozen=True)
class ReportContent:
    """The inputs of a report; equal inputs give equal bytes.

    `samples` has one row per attempt and metric: study, cell (cell_id), arm, round, seed, trial_id, attempt, metric,
    value, unit, outcome, reason and a column `factor.NAME` per factor. `tables` are the tables of `analysis.outputs` by
    name, with `population`; a table without rows is absent or None. `manifest` is manifest.json. `verification` is
    present if the trials were run again. `levels` are the levels of arms in the metrics of `metrics_by_arm`;
    `releases`, by arm, are present if the figure is a trend. `wins` and `tails` say how often the contender wins a
    round, and compare the worst loads.
    `heterogeneity` says whether effects differ between levels. `inside` holds the ids of cells that have a page about
    their inside. `costs` are what the traces of endpoints cost, `not_recorded` what collectors could not record,
    `in_doubt` what traces contradict of themselves. `answers` are the answers of the page of explanations. `unmeasured`
    says which settings and knobs nothing in the trials measured; empty: none. `losses` is what losses do in each cell,
    if losses are integrated. `expectations` are the study's, as they were judged in each trial. `part` says in a
    sentence which part of a study the run is; empty: all of it. `hypotheses` are the study's, judged in each cell, and
    `unregistered` says in a clause why they do not count as registered; empty: they do.
    """

    study: Study
    samples: pd.DataFrame
    estimates: list[Estimate]
    claims: list[ClaimResult]
    manifest: Mapping[str, Any]
    metrics: Mapping[str, MetricFacts]
    tables: Mapping[str, pd.DataFrame | None] = field(default_factory=dict)
    wins: Sequence[RoundsWon] = ()
    tails: Sequence[TailEffect] = ()
    heterogeneity: Sequence[Heterogeneity] = ()
    verification: Verification | None = None
    levels: Sequence[ArmLevel] = ()
    releases: Mapping[str, Release] = field(default_factory=dict)
    inside: frozenset[str] = frozenset()
    costs: Sequence[CollectorCost] = ()
    not_recorded: Sequence[NotRecorded] = ()
    in_doubt: Sequence[InDoubt] = ()
    answers: Sequence[Answer] = ()
    unmeasured: str = ""
    losses: LossEffects | None = None
    expectations: Sequence[JudgedExpectation] = ()
    part: str = ""
    hypotheses: Sequence[JudgedHypothesis] = ()
    unregistered: str = ""

    def table(self, name: str) -> pd.DataFrame | None:
        """Return a table of all trials by its name; None if no trial has rows in it."""
        return self.tables.get(name)

    @cached_property
    def samples_by_cell(self) -> Mapping[str, Sequence[Mapping[str, Any]]]:
        """The samples of each cell as rows, in their order: for so few, each operation on a table takes far longer."""
        found: dict[str, list[Mapping[str, Any]]] = {}
        for row in records(self.samples):
            found.setdefault(str(row["cell"]), []).append(row)
        return found

    @cached_property
    def wins_by_cell(self) -> Mapping[tuple[str, str], Sequence[RoundsWon]]:
        """The rounds won, by contrast and cell."""
        return _grouped(self.wins)

    @cached_property
    def tails_by_cell(self) -> Mapping[tuple[str, str], Sequence[TailEffect]]:
        """The effects on the worst loads, by contrast and cell."""
        return _grouped(self.tails)

    @cached_property
    def goodput_by_cell(self) -> Mapping[str, Mapping[tuple[str, int, str], Goodput]]:
        """The goodput over time by cell, and there by arm, round and trial id, in that order; empty without any."""
        found: dict[str, dict[tuple[str, int, str], Goodput]] = {}
        goodput = self.table("goodput")
        if goodput is not None:
            names = ("cell_id", "arm", "round", "trial_id", "time_s", "mbps")
            columns = [goodput[name].tolist() for name in names]
            for cell, arm, number, trial, time_s, mbps in zip(*columns, strict=True):
                series = found.setdefault(str(cell), {}).setdefault((arm, number, trial), ([], []))
                series[0].append(time_s)
                series[1].append(mbps)
        return {cell: dict(sorted(series.items())) for cell, series in found.items()}

    def arms_beside(self, contrast: Contrast) -> list[str]:
        """Return the arms that are shown with a contrast: all, or for a contrast of a family only its own two."""
        two = (contrast.baseline, contrast.contender)
        return [arm.name for arm in self.study.arms if not contrast.family or arm.name in two]

    def arm_label(self, name: str) -> str:
        """Return the label of an arm, or its name if the study does not define it."""
        return next((arm.label or arm.name for arm in self.study.arms if arm.name == name), name)

    def short_label(self, name: str) -> str:
        """Return the short label of an arm."""
        return short_labels(self.study).get(name, name)

    def by_arm(self, table: pd.DataFrame) -> list[tuple[str, pd.DataFrame]]:
        """Return the short label of each arm that has rows in a table with the column `arm`, and these rows.

        Arms are in the order of the study.
        """
        found = [(arm.name, table[table["arm"] == arm.name]) for arm in self.study.arms]
        return [(self.short_label(name), rows) for name, rows in found if not rows.empty]

    @property
    def compared_first(self) -> tuple[str | None, str | None]:
        """The baseline and the contender of the first contrast, which have colours of their own; None of a scenario."""
        first = self.study.first_contrast
        return (None, None) if first is None else (first.baseline, first.contender)

    def facts(self, metric: str) -> MetricFacts:
        """Return the name of a metric for the page; a metric without a description is called by its name."""
        if metric in self.metrics:
            return self.metrics[metric]
        unit = next((estimate.unit for estimate in self.estimates if estimate.metric == metric), "")
        return MetricFacts(metric.replace("_", " "), unit, Better.LOWER)

    def estimates_of(self, contrast: Contrast) -> list[Estimate]:
        """Return the estimates of a contrast on its own metric."""
        return [item for item in self.estimates if item.contrast == contrast.name and item.metric == contrast.metric]


def _grouped(items: Iterable[_OfCell]) -> dict[tuple[str, str], list[_OfCell]]:
    found: dict[tuple[str, str], list[_OfCell]] = {}
    for item in items:
        found.setdefault((item.contrast, item.cell_id), []).append(item)
    return found


def short_labels(study: Study) -> dict[str, str]:
    """Return arms' labels by name, without what they have in brackets if the rest is still unique.

    The name of a server's own configuration stays, since it is what such an arm is about.
    """
    full = {arm.name: printable(arm.label or arm.name) for arm in study.arms}
    short = {arm.name: _shortened(full[arm.name], parse_config(arm.settings.get(SERVER_CONFIG))) for arm in study.arms}
    seen = list(short.values())
    return {name: short[name] if seen.count(short[name]) == 1 else full[name] for name in full}


def _shortened(label: str, config: ServerConfig | None) -> str:
    short = label.split(" (", maxsplit=1)[0] or label
    return short if config is None else f"{short} ({printable(config.name)})"


def printable(text: str) -> str:
    """Return text without control characters and line separators, which Vega's expressions cannot hold."""
    return "".join(letter if letter.isprintable() else " " for letter in text)


def records(table: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the rows of a table as dictionaries."""
    return [{str(name): value for name, value in row.items()} for row in table.to_dict("records")]


def metric_facts(study: Study) -> dict[str, MetricFacts]:
    """Return the names, units and directions of a study's metrics."""
    metrics = {name: find_metric(name) for name in study.metrics}
    return {name: MetricFacts(metric.label, metric.unit, metric.better) for name, metric in metrics.items()}
