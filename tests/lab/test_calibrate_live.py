"""The measurement of a host, for real but short: what it leaves can be judged, and laws and depths hold."""

import csv
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from longlook.instruments.calibrate.link import host
from longlook.instruments.calibrate.link.catalogue import LIVE_CASES
from longlook.instruments.calibrate.link.check import LIVE
from longlook.instruments.calibrate.link.host import LOG
from longlook.instruments.calibrate.link.laws import Gilbert
from longlook.instruments.calibrate.link.measure import COLUMNS
from longlook.instruments.calibrate.link.passages import OURS
from longlook.instruments.calibrate.link.queues import DropTail
from longlook.instruments.calibrate.link.verdicts import judge
from longlook.lab.topology import PACKET, TUN

pytestmark = [pytest.mark.lab, pytest.mark.realtime]


@pytest.mark.parametrize("law", [Gilbert, DropTail])
def test_a_case_by_probe_and_by_log(tmp_path: Path, law: type) -> None:

    case = next(case for case in LIVE_CASES if isinstance(case.law, law))
    with (tmp_path / "packets.csv").open("w", newline="") as packets, (tmp_path / "depth.csv").open("w") as depths:
        rows, depth = csv.writer(packets), csv.writer(depths)
        rows.writerow(COLUMNS)
        host._case(case, 3, rows, depth)
    table = pd.read_csv(tmp_path / "packets.csv", dtype={"received_ns": "Int64"})
    for emulator in (OURS, LOG):
        found = judge(case, table[table["emulator"] == emulator], LIVE)
        assert all(check.value is not None for check in found)
        losses = [check for check in found if check.quantity in ("packets lost", "packets through")]
        assert all(check.passed for check in losses)
    if law is DropTail:
        assert (tmp_path / "depth.csv").read_text().split(",")[2] == "0"


@pytest.mark.parametrize("path", [PACKET, TUN])
def test_delays_from_outside(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host, "_DELAYED_PACKETS", 300)
    error_ns = host._delays(path)
    assert len(error_ns) == 250
    assert error_ns.min() >= 0


def test_spacing_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host, "_SATURATED_S", 0.3)
    sent_ns, received_ns = host._saturated(10)
    assert len(received_ns) == 250
    assert sent_ns.max() - sent_ns.min() < received_ns[-1] - received_ns[0]
    # The median: one late packet moves the whole of 0.3 s by more than the link ever errs.
    assert abs(float(np.median(np.diff(received_ns))) - 1_200_000) < 12_000
