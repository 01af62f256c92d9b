"""The table of a calibration: ours and netem beside what theory says, from the raw times of packets."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from longlook.instruments.calibrate.link.check import VIRTUAL, QuantityCheck, WakeUpDelay
from longlook.instruments.calibrate.link.laws import Case, ObservedPackets
from longlook.instruments.calibrate.link.passages import NETEM, OURS


@dataclass(frozen=True)
class Row:
    """One quantity of one case. `passed` is about our link, `netem_passed` about netem; None if netem was not measured.

    A theory that netem follows too is right.
    """

    case: str
    quantity: str
    unit: str
    theory: float
    tolerance: float
    reason: str
    ours: float | None
    netem: float | None
    passed: bool
    netem_passed: bool | None


def verdicts(cases: Sequence[Case], packets: pd.DataFrame) -> list[Row]:
    """Return a row for each quantity.

    `packets` has the columns case, emulator, sequence, sent_ns, received_ns (missing: lost) and times.
    """
    rows = []
    for case in cases:
        ours, netem = (judge(case, packets[packets["emulator"] == emulator]) for emulator in (OURS, NETEM))
        rows += [_row(case, one, other) for one, other in zip(ours, netem, strict=True)]
    return rows


def judge(case: Case, packets: pd.DataFrame, late: WakeUpDelay = VIRTUAL) -> list[QuantityCheck]:
    """Return the checks of a case from the packets of one emulator."""
    chosen = packets[packets["case"] == case.name].sort_values("sequence")
    times = np.asarray(chosen["times"], dtype=np.int64) if "times" in chosen else np.ones(len(chosen), dtype=np.int64)
    marked = np.asarray(chosen["marked"], dtype=np.bool_) if "marked" in chosen else None
    sent_ns, received_ns = (np.asarray(chosen[name], dtype=np.float64) for name in ("sent_ns", "received_ns"))
    return case.checks(ObservedPackets(sent_ns, received_ns, times, marked, late))


def _row(case: Case, ours: QuantityCheck, netem: QuantityCheck) -> Row:
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
        netem_passed=None if case.netem is None else netem.passed,
    )
