"""A hypothesis beside the verdict of each cell that it is about."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from longlook.core.model import Hypothesis
from longlook.core.results import Estimate


class Foresight(StrEnum):
    """Whether a hypothesis holds in a cell."""

    HOLDS = "holds"
    REFUTED = "refuted"
    OPEN = "open"


@dataclass(frozen=True)
class JudgedHypothesis:
    """A hypothesis in one cell that was run; `reason` is a clause."""

    hypothesis: Hypothesis
    cell: Mapping[str, str]
    cell_id: str
    result: Foresight
    reason: str
    estimate: Estimate
