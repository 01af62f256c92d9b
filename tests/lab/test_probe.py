"""The outside probe itself: what it sends, what it sees, and what it refuses."""

import json
import signal
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from longlook.core.programs import link_program
from longlook.instruments.calibrate.link.link_probe import LinkBed
from longlook.instruments.calibrate.link.probe import (
    ProbePacket,
    Receiver,
    send_by_schedule,
    send_regularly,
    stream_bps,
)
from tests.support.realtime import HostWasLate

pytestmark = [pytest.mark.lab, pytest.mark.realtime]

MS = 1_000_000


def config(*up: dict[str, Any]) -> dict[str, Any]:
    return {"version": 2, "seed": 7, "linger_ns": 20 * MS, "up": list(up), "down": []}


def test_every_datagram_is_seen_with_size_stamps_and_header_fields(tmp_path: Path) -> None:
    delay = {"kind": "delay", "parameters": {"delay_ns": 5 * MS}}
    with LinkBed(tmp_path, config(delay)) as bed:
        with Receiver(bed.server.namespace, tmp_path) as receiver:
            send_regularly(bed.client, 500, 5_000, 300)
            bed.stop(signal.SIGUSR1)
        found = receiver.arrivals
    assert receiver.socket_drops == 0
    assert found["sequence"].tolist() == list(range(500))
    assert set(found["size_bytes"].tolist()) == {300}
    assert set(found["ttl"].tolist()) == {64}
    assert found["intact"].all()
    spent_ns = found["received_ns"].astype(np.int64) - found["sent_ns"].astype(np.int64)
    assert spent_ns.min() >= 5 * MS
    assert np.median(spent_ns) < 6 * MS


def test_a_schedule_gives_times_sizes_and_ports(tmp_path: Path) -> None:
    packets = [ProbePacket(number * MS, 100 + number, number % 3) for number in range(60)]
    with LinkBed(tmp_path, config()) as bed:
        with Receiver(bed.server.namespace, tmp_path) as receiver:
            sent_ns = send_by_schedule(bed.client, packets, tmp_path, tos=2)
            bed.stop(signal.SIGUSR1)
        found = receiver.arrivals
    assert found["size_bytes"].tolist() == [packet.size_bytes for packet in packets]
    assert found["sent_ns"].tolist() == sent_ns.tolist()
    assert set((found["tos"] & 3).tolist()) == {2}
    assert abs(float(np.median(np.diff(sent_ns.astype(np.int64)))) - MS) < MS / 5


def test_as_fast_as_possible_loses_nothing_that_the_link_had_room_for(tmp_path: Path) -> None:
    with LinkBed(tmp_path, config()) as bed:
        with Receiver(bed.server.namespace, tmp_path) as receiver:
            send_regularly(bed.client, 2_000, 0, 1500, priority=0)
            lines = bed.stop(signal.SIGUSR1)
        outside = bed.client.drops() + bed.server.drops() + receiver.socket_drops
        outside += sum(line.get("guard", {}).get("ring_drops", 0) for line in lines)
    if outside:
        raise HostWasLate(f"the kernel lost {outside} packets outside of the link")
    assert len(receiver.arrivals) == 2_000


def test_a_stream_is_measured(tmp_path: Path) -> None:
    rate = {"kind": "rate", "parameters": {"rate_bps": 50_000_000, "queue_bytes": 100_000}}
    with LinkBed(tmp_path, config(rate)) as bed:
        measured_bps = stream_bps(bed.client, bed.server, 2.0, 0.5)
    assert 40e6 < measured_bps < 50e6


@pytest.mark.parametrize(
    ("text", "reason"),
    [("", "empty"), ("5\n4\n", "line 2"), ("x\n", "line 1"), ("0 9000\n", "9000 bytes cannot be sent")],
)
def test_an_impossible_schedule_is_refused(tmp_path: Path, text: str, reason: str) -> None:
    schedule = tmp_path / "schedule"
    schedule.write_text(text)
    command = [link_program().path, "probe", "send", "--to", "127.0.0.1:9", "--schedule", str(schedule)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=10)
    assert done.returncode == 2
    assert reason in json.loads(done.stdout)["reason"]
