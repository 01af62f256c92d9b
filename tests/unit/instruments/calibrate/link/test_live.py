"""The certificate of a host from raw times, and its page: without a host."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from longlook.cli import app
from longlook.instruments.calibrate.link import live
from longlook.instruments.calibrate.link.catalogue import LIVE_CASES
from longlook.instruments.calibrate.link.host import DEPTH, LOG, RATES_MBIT, TIMES
from longlook.instruments.calibrate.link.laws import Bernoulli
from longlook.instruments.calibrate.link.live import LiveCalibration
from longlook.instruments.calibrate.link.passages import OURS, PACKETS
from longlook.instruments.calibrate.link.queues import DropTail

CASE, LAW = next((case, case.law) for case in LIVE_CASES if isinstance(case.law, Bernoulli))


def leave_raw_times(folder: Path, lateness_ns: float = 0.0, *, slow_probe: bool = False) -> None:
    """What a sound host would leave: packets 5 µs late, even spacing, one case, no queue that differs."""
    random = np.random.default_rng(1)
    late = random.normal(5_000 + lateness_ns, 1_000, 4_000).astype(np.int64)
    left = {mbit: (np.arange(2_000) * 12_000_000 // mbit).astype(np.int64) for mbit in RATES_MBIT}
    spaced = {f"rate {mbit}": np.array([left_ns // 2, left_ns]) for mbit, left_ns in left.items()}
    if slow_probe:
        spaced["rate 1000"][0] = left[1000]
    np.savez(folder / TIMES, allow_pickle=False, **{"delay packet": late, "delay tun": late * 2, **spaced})
    frames = []
    for emulator in (OURS, LOG):
        sent_ns = np.array(CASE.schedule.offsets_ns())
        received = pd.array(sent_ns, dtype="Int64")
        received[random.random(len(sent_ns)) < LAW.probability] = pd.NA  # type: ignore[union-attr]
        frames.append(
            pd.DataFrame(
                {
                    "case": CASE.name,
                    "emulator": emulator,
                    "sequence": range(len(sent_ns)),
                    "sent_ns": sent_ns,
                    "received_ns": received,
                    "times": 1,
                }
            )
        )
    pd.concat(frames).to_csv(folder / PACKETS, index=False)
    (folder / DEPTH).write_text("case,packets,differing,largest_bytes\nqueue,2000,0,99000\n")


def calibration(monkeypatch: pytest.MonkeyPatch, lateness_ns: float = 0.0, out: Path | None = None) -> LiveCalibration:
    monkeypatch.setattr(live, "_measure", lambda folder: leave_raw_times(folder, lateness_ns))
    monkeypatch.setattr(live, "LIVE_CASES", (CASE,))
    return live.calibrate_live(lambda _text: None, out)


def test_a_sound_host_passes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    result = calibration(monkeypatch, out=tmp_path)
    assert [(row.case, row.quantity) for row in result.rows if not row.passed] == []
    assert result.passed
    assert {curve.kind for curve in result.curves} == {"delay", "spacing"}
    assert (tmp_path / TIMES).exists()
    assert len(pd.read_parquet(tmp_path / live.LIVE_RAW)) == 2 * CASE.schedule.count


def test_a_late_host_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    result = calibration(monkeypatch, lateness_ns=2e6)
    assert not result.passed
    assert {row.quantity for row in result.rows if not row.passed} == {
        "delay error, median",
        "delay error, 99 % point",
        "share more than 1 ms late",
    }


def test_a_probe_that_is_too_slow_says_nothing_about_the_link(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "_measure", lambda folder: leave_raw_times(folder, slow_probe=True))
    monkeypatch.setattr(live, "LIVE_CASES", (CASE,))
    result = live.calibrate_live(lambda _text: None)
    unasked = [row for row in result.rows if row.probe is None]
    assert {row.case for row in unasked} == {"1000 Mbit/s, saturated"}
    assert all(row.passed and row.reason == "the probe did not keep up" for row in unasked)


def test_the_page_opens_without_a_network(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pair = {"rounds": 2, "median_s": 0.5, "mean_pct": 0.1, "largest_pct": 0.3, "differences_pct": [0.3, -0.1]}
    found = calibration(monkeypatch)
    monkeypatch.setattr("longlook.instruments.calibrate.run.calibrate_live", lambda _say, _out: found)
    monkeypatch.setattr(
        "longlook.instruments.calibrate.run.same_arm_twice", lambda _engine, _say: {"rounds": 2, "h2": pair, "h3": pair}
    )
    out = tmp_path / "certificate"
    done = CliRunner().invoke(app, ["calibrate", "--engine", "live", "--aa", "--json", "--out", str(out)])
    assert done.exit_code == 0, done.output
    printed: dict[str, Any] = json.loads(done.stdout)
    assert printed == json.loads((out / live.LIVE_TABLE).read_text())
    page = (out / "index.html").read_text()
    assert "Every quantity is within its tolerance" in page
    assert "src=" not in page.split("<script")[0]
    assert {path.suffix for path in (out / "figures").iterdir()} == {".svg", ".png", ".pdf"}
    shown = CliRunner().invoke(app, ["calibrate", "--engine", "live", "--aa"])
    assert "the same arm twice" in shown.output


def test_an_unknown_engine_is_refused() -> None:
    done = CliRunner().invoke(app, ["calibrate", "--engine", "steam"])
    assert done.exit_code != 0


def test_depths_follow_from_arrivals() -> None:
    arrival = np.array([0, 10, 20, 100], dtype=np.uint64)
    size, accepted = np.full(4, 1500, dtype=np.uint32), np.array([True, True, False, True])
    due = np.array([50, 100, 0, 150], dtype=np.uint64)
    right = np.array([0, 1500, 3000, 0], dtype=np.uint32)
    law, names = DropTail(240_000_000, 4_500), ["arrival_ns", "size_bytes", "queue_bytes", "due_ns"]
    for wrong_bytes, differing in ((0, 0), (1500, 4)):
        records = np.rec.fromarrays([arrival, size, right + wrong_bytes, due], names=names)
        assert law.other_depths(records, accepted) == differing
