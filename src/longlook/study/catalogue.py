"""The stacks, workloads and metrics that a study may name."""

from collections.abc import Mapping
from dataclasses import dataclass

from longlook.core import registry
from longlook.core.metric import Metric
from longlook.core.stack import Stack
from longlook.core.workload import WorkloadKind


@dataclass(frozen=True)
class Catalogue:
    """Plug-ins by name."""

    stacks: Mapping[str, Stack]
    workloads: Mapping[str, WorkloadKind]
    metrics: Mapping[str, Metric]


def installed() -> Catalogue:
    """Return all plug-ins of this installation."""
    return Catalogue(registry.load("stacks"), registry.load("workloads"), registry.load("metrics"))
