"""Measures the cost of checking a client's lines against the link's log: `witnessed`, with the reading of the log."""

import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from tests.data.trials import MONOTONIC_T0, MS, RECORD_2, TRIAL, fetched, write_link_log

from longlook.core import Content
from longlook.lab.judge_witness import witnessed
from longlook.lab.link_log import LinkLog, read_link_log
from longlook.lab.observations import FlowCase, Observations, Stopped

TARGET_MS = 60.0
PACKETS = (1_300, 100_000)
REPEATS = 9
SPACING_NS, DELAY_NS = 100_000, 20 * MS
TCP, UDP = 6, 17


def measure() -> dict[str, Any]:
    """CPU time, the least of some repeats: what else the machine does makes all of them slower."""
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch, "link.bin")
        kinds = {"tcp": (TCP, False), "tcp_with_losses": (TCP, True), "quic": (UDP, False)}
        found = {
            f"{name}_{count}_packets_cpu_ms": _least_ms(path, count, protocol, lossy=lossy)
            for name, (protocol, lossy) in kinds.items()
            for count in PACKETS
        }
    return {"target_ms": TARGET_MS, **found}


def _least_ms(path: Path, count: int, protocol: int, *, lossy: bool) -> float:
    body_bytes = _write(path, count, protocol, lossy=lossy)
    end_ms = (count * SPACING_NS + DELAY_NS) / MS
    line = fetched("/a", -1, 50, end_ms, size=body_bytes, protocol="h3" if protocol == UDP else "h2")
    trial, content = replace(TRIAL, protocol=line["protocol"]), Content("", (("/a",),), {})
    case = FlowCase(trial, content, Stopped.CLIENT_ENDED, client=Observations((line,)), virtual=True)
    return round(1e3 * min(_taken_s(case, path) for _ in range(REPEATS)), 2)


def _taken_s(case: FlowCase, path: Path) -> float:
    begun = time.process_time()
    found = witnessed(replace(case, log=LinkLog((read_link_log(path),))))
    if found is not None:
        raise RuntimeError(f"the made-up client should be believed: {found.reason}")
    return time.process_time() - begun


def _write(path: Path, count: int, protocol: int, *, lossy: bool) -> int:
    """A log in which every third packet goes up; return how large a body its client can have had."""
    array = np.zeros(count, RECORD_2)
    down = np.arange(count) % 3 != 0
    payload = np.where(down, 1448 if protocol == TCP else 1252, 0 if protocol == TCP else 40)
    sent = np.cumsum(payload) - payload
    if lossy:  # one of fifty packets comes thirty packets later
        late = np.flatnonzero(down)[50:-50:50]
        sent[late], sent[late + 30] = sent[late + 30], sent[late].copy()
    array["arrival_ns"] = MONOTONIC_T0 + np.arange(count) * SPACING_NS
    array["departure_ns"] = array["arrival_ns"] + DELAY_NS
    array["direction"], array["ip_protocol"], array["payload_bytes"] = down, protocol, payload
    array["transport_sequence"] = np.where(down, sent, 0) if protocol == TCP else 0
    array["quic_form"] = 1 if protocol == UDP else 0
    write_link_log(path, array)
    answers = down & (np.arange(count) * SPACING_NS > DELAY_NS)  # when the request has crossed
    return int(payload[answers].sum() * 0.97)
