"""What a report is made of: everything it draws, computed by the stages before it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from longlook.core.model import ArmLevel, Better, ClaimResult, Contrast, Estimate, Study
from longlook.metrics import find_metric
from longlook.run.verification import Verification
from longlook.study.releases import Release
from longlook.timeline.collectors import CollectorCost, NotRecorded


@dataclass(frozen=True)
class MetricFacts:
    """How a metric is called on the page."""

    label: str
    unit: str
    better: Better


@dataclass(frozen=True)
class ReportContent:
    """The inputs of a report; equal inputs give equal bytes.

    `samples` has one row per attempt and metric: study, cell (cell_id), arm, round, seed, trial_id, attempt, metric,
    value, unit, outcome, reason and a column `factor.NAME` per factor. `goodput` has the columns trial_id, arm,
    cell_id, round, time_s, mbps, or is None where no link log was kept. `manifest` is manifest.json. `verification` is
    there when the trials were run again. `levels` are of the metrics of `metrics_by_arm`; `releases`, by arm, are there
    where the figure is a trend. `flows` and `rates` have the columns trial_id, arm, cell_id, round and those of
    `flowtables`, or are None where no flows competed. `inside` are the ids of cells that have a page about their inside
    beside the report. `costs` are those of the traces of endpoints, `not_recorded` says what collectors could not do.
    """

    study: Study
    samples: pd.DataFrame
    estimates: list[Estimate]
    claims: list[ClaimResult]
    manifest: Mapping[str, Any]
    metrics: Mapping[str, MetricFacts]
    goodput: pd.DataFrame | None = None
    flows: pd.DataFrame | None = None
    rates: pd.DataFrame | None = None
    verification: Verification | None = None
    levels: Sequence[ArmLevel] = ()
    releases: Mapping[str, Release] = field(default_factory=dict)
    inside: frozenset[str] = frozenset()
    costs: Sequence[CollectorCost] = ()
    not_recorded: Sequence[NotRecorded] = ()

    def arms_beside(self, contrast: Contrast) -> list[str]:
        """Arms that are shown with a contrast: all, or of a family, where every contrast has its own, the two."""
        two = (contrast.baseline, contrast.contender)
        return [arm.name for arm in self.study.arms if not contrast.family or arm.name in two]

    def arm_label(self, name: str) -> str:
        """The label of an arm, or its name when the study does not define it."""
        return next((arm.label or arm.name for arm in self.study.arms if arm.name == name), name)

    def short_label(self, name: str) -> str:
        """The short label of an arm."""
        return short_labels(self.study).get(name, name)

    def facts(self, metric: str) -> MetricFacts:
        """How a metric is called; one that nobody described is called by its name."""
        if metric in self.metrics:
            return self.metrics[metric]
        unit = next((estimate.unit for estimate in self.estimates if estimate.metric == metric), "")
        return MetricFacts(metric.replace("_", " "), unit, Better.LOWER)

    def estimates_of(self, contrast: Contrast) -> list[Estimate]:
        """The estimates of a contrast on its own metric."""
        return [item for item in self.estimates if item.contrast == contrast.name and item.metric == contrast.metric]


def short_labels(study: Study) -> dict[str, str]:
    """Arms' labels by name, without what they say in brackets where the rest still tells them apart."""
    full = {arm.name: printable(arm.label or arm.name) for arm in study.arms}
    short = {name: label.split(" (")[0] or label for name, label in full.items()}
    seen = list(short.values())
    return {name: short[name] if seen.count(short[name]) == 1 else full[name] for name in full}


def printable(text: str) -> str:
    """Text without control characters and line separators, which Vega's expressions cannot hold."""
    return "".join(letter if letter.isprintable() else " " for letter in text)


def records(table: pd.DataFrame) -> list[dict[str, Any]]:
    """The rows of a table as dictionaries."""
    return [{str(name): value for name, value in row.items()} for row in table.to_dict("records")]


def metric_facts(study: Study) -> dict[str, MetricFacts]:
    """How the metrics of a study are called."""
    metrics = {name: find_metric(name) for name in study.metrics}
    return {name: MetricFacts(metric.label, metric.unit, metric.better) for name, metric in metrics.items()}
