"""The table of a calibration: ours and netem beside what theory says, from the raw times of packets."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from longlook.calibration.cases import NETEM, OURS, Case
from longlook.calibration.laws import Check, Times, checks


@dataclass(frozen=True)
class Row:
    """One quantity of one case. `passed` is about ours; netem's verdict says whether the theory is obeyed by it too."""

    case: str
    quantity: str
    unit: str
    theory: float
    tolerance: float
    reason: str
    ours: float | None
    netem: float | None
    passed: bool
    netem_passed: bool


def verdicts(cases: Sequence[Case], packets: pd.DataFrame) -> list[Row]:
    """A row for each quantity; `packets` has case, emulator, sequence, sent_ns and received_ns (missing: lost)."""
    return [
        _row(case, ours, netem)
        for case in cases
        for ours, netem in zip(_checks(case, OURS, packets), _checks(case, NETEM, packets), strict=True)
    ]


def _checks(case: Case, emulator: str, packets: pd.DataFrame) -> list[Check]:
    chosen = packets[(packets["case"] == case.name) & (packets["emulator"] == emulator)].sort_values("sequence")
    return checks(case, _times(chosen["sent_ns"]), _times(chosen["received_ns"]))


def _times(column: "pd.Series[float]") -> Times:
    return np.asarray(column, dtype=np.float64)


def _row(case: Case, ours: Check, netem: Check) -> Row:
    return Row(
        case=case.name,
        quantity=ours.quantity,
        unit=ours.unit,
        theory=ours.theory,
        tolerance=ours.tolerance,
        reason=ours.reason,
        ours=ours.value,
        netem=netem.value,
        passed=ours.passed,
        netem_passed=netem.passed,
    )
