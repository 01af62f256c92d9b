"""A calibration of the link in real time, on this host: delays and spacing from outside, laws, queue depths."""

import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from longlook.core import MachineError, codec, link_program, usable_cpus, write_json
from longlook.instruments.calibrate.link.catalogue import LIVE_CASES
from longlook.instruments.calibrate.link.check import LIVE, VIRTUAL, QuantityCheck
from longlook.instruments.calibrate.link.host import DEPTH, FULL_BYTES, LOG, RATES_MBIT, TIMES
from longlook.instruments.calibrate.link.passages import NETEM, OURS, PACKETS
from longlook.instruments.calibrate.link.verdicts import judge
from longlook.lab import PACKET, TUN, has_realtime_priority

LIVE_TABLE, LIVE_RAW = "calibration-live.json", "packets-live.parquet"
_WALL_LIMIT_S = 300.0
_PATHS = {PACKET: "AF_PACKET", TUN: "TUN"}
_LATE_NS, _LATE_SHARE = 1_000_000, 0.001
_WARM_UP_SHARE = 0.2
_SATURATES = 1.05  # times the link's rate: what must have been sent for the link to have had no rest
_CURVE = np.concatenate((np.linspace(0, 0.99, 100), 1 - np.logspace(-2, -3.5, 40)))
"""Shares at which a distribution is drawn; the tail in steps of its own."""


@dataclass(frozen=True)
class LiveRow:
    """One quantity: measured from outside (`probe`) and by the router's log (`log`); `passed` is about both.

    `log_tolerance` is for the log: decisions are exact even if departures are late.
    """

    case: str
    quantity: str
    unit: str
    theory: float
    tolerance: float
    reason: str
    probe: float | None
    log: float | None
    log_tolerance: float | None
    netem: float | None
    passed: bool


@dataclass(frozen=True)
class Curve:
    """A distribution: its values (µs) at shares of the packets. `kind` is `delay` or `spacing`."""

    name: str
    kind: str
    shares: tuple[float, ...]
    values_us: tuple[float, ...]


@dataclass(frozen=True)
class LiveCalibration:
    """The certificate of a host. `realtime`: the router had real-time priority; `load`: of the machine, before."""

    passed: bool
    link: str
    system: str
    cpus: int
    load: float
    realtime: bool
    wall_s: float
    made_unix_s: int
    rows: tuple[LiveRow, ...]
    curves: tuple[Curve, ...]
    aa: Mapping[str, Any] | None = None


def calibrate_live(say: Callable[[str], None], out: Path | None = None) -> LiveCalibration:
    """Measure and judge this host; write table and raw times to `out`.

    Raise MachineError if the host lacks something that a laboratory needs.
    """
    say(f"measuring delays, rates and {len(LIVE_CASES)} cases in real time, a minute and a quarter …")
    load, began = os.getloadavg()[0], time.monotonic()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        _measure(folder)
        packets = pd.read_csv(folder / PACKETS, dtype={"received_ns": "Int64"})
        depths = pd.read_csv(folder / DEPTH)
        with np.load(folder / TIMES) as times:
            delays = {path: times[f"delay {path}"] for path in _PATHS}
            gaps = {mbit: _settled(mbit, times[f"rate {mbit}"]) for mbit in RATES_MBIT}
        rows = [*_delay_rows(delays), *_rate_rows(gaps), *_law_rows(packets), *_depth_rows(depths)]
        if out is not None:
            out.mkdir(parents=True, exist_ok=True)
            packets.to_parquet(out / LIVE_RAW, index=False)
            shutil.copyfile(folder / TIMES, out / TIMES)
    return LiveCalibration(
        passed=all(row.passed for row in rows),
        link=link_program().digest,
        system=f"{platform.system()} {platform.release()}",
        cpus=len(usable_cpus()),
        load=round(load, 2),
        realtime=has_realtime_priority(),
        wall_s=round(time.monotonic() - began, 1),
        made_unix_s=int(time.time()),
        rows=tuple(rows),
        curves=tuple(_curves(delays, gaps)),
    )


def keep(result: LiveCalibration, out: Path) -> Path:
    """Write the table to a folder and return its path."""
    out.mkdir(parents=True, exist_ok=True)
    write_json(out / LIVE_TABLE, codec.encode(result))
    return out / LIVE_TABLE


def _measure(folder: Path) -> None:
    command = [sys.executable, "-m", "longlook.instruments.calibrate.link.host", str(folder)]
    alive_read, alive_write = os.pipe()  # it ends when this process does
    process = subprocess.Popen(command, stdin=alive_read, stderr=subprocess.PIPE, text=True)
    try:
        _, errors = process.communicate(timeout=_WALL_LIMIT_S)
    except subprocess.TimeoutExpired as error:
        raise MachineError(
            f"the calibration did not finish within {_WALL_LIMIT_S:.0f} s", "quiet the machine"
        ) from error
    finally:
        os.close(alive_read)
        os.close(alive_write)
        process.wait()
    if process.returncode != 0:
        raise MachineError("the calibration failed on this host", "\n".join(errors.strip().splitlines()[-5:]) or None)


def _row(
    case: str, check: QuantityCheck, log: QuantityCheck | None = None, netem: QuantityCheck | None = None
) -> LiveRow:
    return LiveRow(
        case=case,
        quantity=check.quantity,
        unit=check.unit,
        theory=check.theory,
        tolerance=check.tolerance,
        reason=check.reason,
        probe=check.value,
        log=None if log is None else log.value,
        log_tolerance=None if log is None else log.tolerance,
        netem=None if netem is None else netem.value,
        passed=check.passed and (log is None or log.passed),
    )


def _delay_rows(delays: Mapping[str, NDArray[np.int64]]) -> Iterator[LiveRow]:
    for path, error_ns in delays.items():
        p50, p99 = (float(value) / 1e3 for value in np.percentile(error_ns, [50, 99]))
        late = float(np.mean(error_ns > _LATE_NS))
        name = f"20 ms by {_PATHS[path]}"
        yield _row(name, QuantityCheck("delay error, median", "µs", 0.0, 100.0, LIVE.median_reason, p50))
        yield _row(name, QuantityCheck("delay error, 99 % point", "µs", 0.0, 500.0, "half of what counts as late", p99))
        share = QuantityCheck("share more than 1 ms late", "", 0.0, _LATE_SHARE, "the guard's limit for a trial", late)
        yield _row(name, share)


def _settled(mbit: int, stamps: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the receive stamps behind the first; none if the probe sent too slowly to keep the link busy."""
    sent_ns: NDArray[np.int64] = stamps[0]
    received_ns: NDArray[np.int64] = stamps[1]
    if len(sent_ns) < 2:
        return received_ns[:0]
    sent_bps = FULL_BYTES * 8e9 * len(sent_ns) / float(sent_ns.max() - sent_ns.min() + 1)
    saturated = sent_bps > mbit * 1e6 * _SATURATES
    return received_ns[int(len(received_ns) * _WARM_UP_SHARE) :] if saturated else received_ns[:0]


def _rate_rows(gaps: Mapping[int, NDArray[np.int64]]) -> Iterator[LiveRow]:
    for mbit, received_ns in gaps.items():
        percent, packet_us = 0.01 if mbit <= 100 else 0.05, FULL_BYTES * 8 / mbit
        reason = f"{percent} %: a packet 100 µs late is 0.01 % of a second"
        rate: float | None = None
        spacing: float | None = None
        if len(received_ns) > 1:
            rate = FULL_BYTES * 8e3 * (len(received_ns) - 1) / float(received_ns[-1] - received_ns[0])
            spacing = float(np.percentile(_spacing_us(mbit, received_ns), 99))
        for check in (
            QuantityCheck("rate", "Mbit/s", float(mbit), mbit * percent / 100, reason, rate),
            QuantityCheck(
                "error of spacing, 99 % point", "µs", 0.0, 60.0, f"60 µs; a packet takes {packet_us:g}", spacing
            ),
        ):
            row = _row(f"{mbit} Mbit/s, saturated", check)
            # What this machine cannot ask says nothing about the link.
            yield row if check.value is not None else replace(row, passed=True, reason="the probe did not keep up")


def _spacing_us(mbit: int, received_ns: NDArray[np.int64]) -> NDArray[np.float64]:
    error_us: NDArray[np.float64] = np.abs(np.diff(received_ns) / 1e3 - FULL_BYTES * 8 / mbit)
    return error_us


def _law_rows(packets: pd.DataFrame) -> Iterator[LiveRow]:
    for case in LIVE_CASES:
        probe = judge(case, packets[packets["emulator"] == OURS], LIVE)
        netem = judge(case, packets[packets["emulator"] == NETEM], LIVE)
        # The phases of a drop-tail queue hang on when packets really came, which depth is judged by.
        by_log = LIVE if any(stage.kind == "rate" for stage in case.stages) else VIRTUAL
        log = judge(case, packets[packets["emulator"] == LOG], by_log)
        for one, decided, other in zip(probe, log, netem, strict=True):
            yield _row(case.name, one, decided, other)


def _depth_rows(depths: pd.DataFrame) -> Iterator[LiveRow]:
    for record in depths.to_dict("records"):
        check = QuantityCheck(
            "packets that met another depth", "", 0.0, 0.0, "none: depths follow from arrivals", record["differing"]
        )
        yield _row(str(record["case"]), check)


def _curves(delays: Mapping[str, NDArray[np.int64]], gaps: Mapping[int, NDArray[np.int64]]) -> Iterator[Curve]:
    for path, error_ns in delays.items():
        yield _curve(_PATHS[path], "delay", error_ns / 1e3)
    for mbit, received_ns in gaps.items():
        if len(received_ns) > 1:
            yield _curve(f"{mbit} Mbit/s", "spacing", _spacing_us(mbit, received_ns))


def _curve(name: str, kind: str, values_us: NDArray[np.float64]) -> Curve:
    values = np.quantile(values_us, _CURVE)
    return Curve(name, kind, tuple(float(share) for share in _CURVE), tuple(round(float(value), 3) for value in values))
