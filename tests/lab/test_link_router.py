"""The real router between two namespaces: what it does to packets, seen from outside and in its log."""

import math
import signal
import socket
import time
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pytest

from longlook.instruments.calibrate.link.link_probe import Arrival, LinkBed, Sink, Source, rate_bps
from longlook.lab.topology import OFFLOAD, PACKET, TUN
from longlook.timeline.normalise.link_log import PacketLog, read_link_log

pytestmark = [pytest.mark.lab, pytest.mark.realtime]

MBIT = 1_000_000
MS = 1_000_000
Stages = list[dict[str, Any]]
every_path = pytest.mark.parametrize("path", [PACKET, TUN, OFFLOAD])


def loss(probability: float) -> dict[str, Any]:
    return {"kind": "loss", "parameters": {"probability": probability}}


def rate(rate_bps: int, queue_bytes: int) -> dict[str, Any]:
    return {"kind": "rate", "parameters": {"rate_bps": rate_bps, "queue_bytes": queue_bytes}}


def delay(delay_ns: int) -> dict[str, Any]:
    return {"kind": "delay", "parameters": {"delay_ns": delay_ns}}


def jitter(jitter_ns: int, reorder: bool) -> dict[str, Any]:
    return {"kind": "jitter", "parameters": {"jitter_ns": jitter_ns, "reorder": reorder}}


def access(max_ns: int) -> dict[str, Any]:
    return {"kind": "access", "parameters": {"max_ns": max_ns}}


def config(up: Stages, down: Stages | None = None, seed: int = 7) -> dict[str, Any]:
    return {"version": 2, "seed": seed, "linger_ns": 20 * MS, "up": up, "down": down or []}


def transfer(
    folder: Path, stages: Stages, count: int, packets_per_s: float, size_bytes: int = 1500, path: str = PACKET
) -> tuple[list[Arrival], PacketLog, dict[str, Any]]:
    """Send up through a link until it is silent; arrivals, log and summary, after the sums have been checked."""
    with LinkBed(folder, config(stages), path) as bed, Sink(bed.server) as sink, Source(bed.client) as source:
        source.send(count, packets_per_s, size_bytes)
        (summary,) = bed.stop(signal.SIGUSR1)
        assert bed.process.returncode == 0
        sink.wait_for(summary["up"]["delivered"], 2.0)
    log = read_link_log(bed.log)
    check_sums(summary, log)
    assert summary["up"]["arrived"] == count
    assert summary["up"]["delivered"] == len(sink.arrivals)
    return sink.arrivals, log, summary


def check_sums(summary: dict[str, Any], log: PacketLog) -> None:
    """arrived = delivered + dropped + queued, and the log says the same as the summary."""
    for number, name in enumerate(("up", "down")):
        counters = summary[name]
        dropped = sum(value for key, value in counters.items() if key.startswith("dropped_"))
        assert counters["arrived"] == counters["delivered"] + dropped + counters["queued"]
        records = log.direction(number)
        assert records["sequence"].tolist() == list(range(counters["arrived"]))
        for code, verdict in log.verdicts.items():
            assert np.count_nonzero(records["verdict"] == code) == counters[verdict], verdict
        assert records["size_bytes"].sum() == counters["arrived_bytes"]


@every_path
def test_rate_is_within_one_percent(tmp_path: Path, path: str) -> None:
    # The queue takes all that is sent faster than the link carries it, so that a sender held up cannot empty it.
    arrivals, _, _ = transfer(tmp_path, [rate(10 * MBIT, 4_000_000)], 800, 4_000, path=path)
    assert rate_bps(arrivals) == pytest.approx(10 * MBIT, rel=0.01)


@every_path
def test_delay_is_within_a_millisecond(tmp_path: Path, path: str) -> None:
    arrivals, log, summary = transfer(tmp_path, [delay(20 * MS)], 300, 1_000, size_bytes=200, path=path)
    spent_ms = median((arrival.received_ns - arrival.sent_ns) / MS for arrival in arrivals)
    assert 20.0 <= spent_ms < 21.0
    records = log.direction(0)
    assert (records["due_ns"] - records["arrival_ns"] == 20 * MS).all()
    assert (records["departure_ns"] >= records["due_ns"]).all()
    assert summary["guard"]["max_late_ns"] == (records["departure_ns"] - records["due_ns"]).max()


def test_directions_are_shaped_apart(tmp_path: Path) -> None:
    with LinkBed(tmp_path, config([delay(5 * MS)], [delay(30 * MS)])) as bed:
        with Sink(bed.client) as sink, Source(bed.server) as source:
            source.send(100, 1_000, 200)
            (summary,) = bed.stop(signal.SIGUSR1)
            sink.wait_for(100, 2.0)
        assert 30.0 <= median((arrival.received_ns - arrival.sent_ns) / MS for arrival in sink.arrivals) < 31.0
        assert (summary["up"]["arrived"], summary["down"]["delivered"]) == (0, 100)
        log = read_link_log(bed.log)
        assert set(log.direction(1)["server_port"].tolist()) != {9}
        assert set(log.direction(1)["client_port"].tolist()) == {9}


@every_path
def test_loss_is_binomial_and_hits_the_same_packets_with_the_same_seed(tmp_path: Path, path: str) -> None:
    count, probability = 3_000, 0.1
    lost: list[set[int]] = []
    for attempt, stages in enumerate(([loss(probability)], [loss(probability), delay(MS)])):
        (tmp_path / str(attempt)).mkdir()
        arrivals, _, summary = transfer(tmp_path / str(attempt), stages, count, 10_000, size_bytes=100, path=path)
        lost.append(set(range(count)) - {arrival.sequence for arrival in arrivals})
        assert summary["up"]["dropped_loss"] == len(lost[-1])
    deviation = math.sqrt(count * probability * (1 - probability))
    assert abs(len(lost[0]) - count * probability) < 5 * deviation
    assert lost[0] == lost[1]


def test_a_full_queue_drops_the_newest(tmp_path: Path) -> None:
    arrivals, log, summary = transfer(tmp_path, [rate(MBIT, 30_000)], 60, 1e6)
    records = log.direction(0)
    # 60 packets come within a few of the 12 ms that one takes to leave: 20 fit, and the next as room is made.
    assert [arrival.sequence for arrival in arrivals][:20] == list(range(20))
    assert 0 < summary["up"]["dropped_queue"] <= 40
    assert summary["up"]["max_queue_bytes"] == 30_000
    dropped = records[records["verdict"] == log.header["verdicts"]["dropped_queue"]]
    assert (dropped["queue_bytes"] + dropped["size_bytes"] > 30_000).all()
    assert (dropped["stage"] == 0).all()
    assert (dropped["due_ns"] == 0).all()
    assert (records["queue_bytes"] <= 30_000).all()
    assert (records["queue_packets"] * 1500 == records["queue_bytes"]).all()


@pytest.mark.parametrize("reorder", [True, False])
def test_jitter_reorders_only_if_allowed(tmp_path: Path, reorder: bool) -> None:
    stages = [delay(20 * MS), jitter(10 * MS, reorder)]
    arrivals, log, _ = transfer(tmp_path, stages, 300, 1_000, size_bytes=200)
    sequences = [arrival.sequence for arrival in arrivals]
    assert (sequences != sorted(sequences)) == reorder
    records = log.direction(0)
    spent_ns = (records["due_ns"] - records["arrival_ns"]).astype(np.int64)
    assert spent_ns.min() >= 10 * MS
    assert spent_ns.max() <= 30 * MS
    assert np.ptp(spent_ns) > 5 * MS


def test_access_delays_at_random_and_never_reorders(tmp_path: Path) -> None:
    arrivals, log, _ = transfer(tmp_path, [access(4 * MS), delay(5 * MS)], 300, 200, size_bytes=200)
    sequences = [arrival.sequence for arrival in arrivals]
    assert sequences == sorted(sequences)
    records = log.direction(0)
    spent_ns = (records["due_ns"] - records["arrival_ns"]).astype(np.int64)
    assert spent_ns.min() >= 5 * MS
    assert spent_ns.max() <= 9 * MS
    # Uniform over 4 ms: the mean of 300 has a standard deviation of 0.07 ms.
    assert spent_ns.mean() == pytest.approx(7 * MS, abs=0.4 * MS)


@every_path
def test_what_is_inside_at_the_end_is_counted_as_queued(tmp_path: Path, path: str) -> None:
    with LinkBed(tmp_path, config([delay(60_000 * MS)]), path) as bed:
        with Source(bed.client) as source:
            source.send(50, 1e6, 300)
        time.sleep(0.2)  # nothing outside shows that the router has fetched what it must keep
        (summary,) = bed.stop(signal.SIGTERM)
    log = read_link_log(bed.log)
    check_sums(summary, log)
    assert summary["up"]["queued"] == 50
    assert (log.direction(0)["departure_ns"] == 0).all()
    assert (log.direction(0)["due_ns"] > 0).all()


def wait_for_records(bed: LinkBed, count: int) -> None:
    """Wait until the log has so many records of packets up: it is flushed a tenth of a second after a packet."""
    deadline = time.monotonic() + 5.0
    while len(read_link_log(bed.log).direction(0)) < count and time.monotonic() < deadline:
        time.sleep(0.01)


def test_the_log_is_readable_after_sigkill(tmp_path: Path) -> None:
    with LinkBed(tmp_path, config([delay(MS)])) as bed:
        with Source(bed.client) as source:
            source.send(100, 1_000, 300)
        wait_for_records(bed, 100)
        bed.process.kill()
        bed.process.wait()
    log = read_link_log(bed.log)
    assert log.direction(0)["sequence"].tolist() == list(range(100))
    assert log.truncated_bytes == 0


def test_times_of_the_log_are_those_of_the_wall_clock(tmp_path: Path) -> None:
    arrivals, log, _ = transfer(tmp_path, [delay(5 * MS)], 20, 500)
    records = log.direction(0)
    for arrival in arrivals:
        in_ns = int(records["arrival_ns"][arrival.sequence]) + log.unix_minus_monotonic_ns
        out_ns = int(records["departure_ns"][arrival.sequence]) + log.unix_minus_monotonic_ns
        # A tenth of a millisecond for clocks read one after the other.
        assert arrival.sent_ns - MS / 10 <= in_ns <= out_ns <= arrival.received_ns + MS / 10


def test_headers_are_logged(tmp_path: Path) -> None:
    _, log, _ = transfer(tmp_path, [], 3, 1_000, size_bytes=128)
    records = log.direction(0)
    assert (records["ip_protocol"] == socket.IPPROTO_UDP).all()
    assert (records["payload_bytes"] == 100).all()
    assert (records["server_port"] == 9).all()
    assert (records["due_ns"] == records["arrival_ns"]).all()


def test_frames_that_are_not_ip_pass_unshaped(tmp_path: Path) -> None:
    frame = b"\xff" * 6 + b"\x02" + b"\x00" * 5 + b"\x88\xb5" + b"longlook" * 8
    with LinkBed(tmp_path, config([loss(1.0)])) as bed:
        with bed.server.namespace.inside():
            receiver = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x88B5))
        with bed.client.namespace.inside():
            sender = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
        with receiver, sender:
            receiver.bind((bed.server.end.device, 0x88B5))
            receiver.settimeout(5.0)
            sender.bind((bed.client.end.device, 0))
            sender.send(frame)
            assert receiver.recv(2048) == frame
        (summary,) = bed.stop()
    assert summary["up"]["other_passed"] == 1
    assert summary["up"]["arrived"] == 0


def test_a_packet_too_large_for_the_other_side_is_counted(tmp_path: Path) -> None:
    with LinkBed(tmp_path, config([])) as bed:
        client, router = bed.client.namespace, bed.router
        client.netlink.link("set", index=client.index(bed.client.end.device), mtu=1800)
        router.netlink.link("set", index=router.index(bed.client.end.router_device), mtu=1800)
        with Source(bed.client) as source:
            source.send(5, 1_000, 1700)
            source.send(2, 1_000, 1500)
        (summary,) = bed.stop(signal.SIGUSR1)
    log = read_link_log(bed.log)
    check_sums(summary, log)
    assert (summary["up"]["dropped_oversize"], summary["up"]["delivered"]) == (5, 2)
    assert log.direction(0)["size_bytes"].tolist() == [1700] * 5 + [1500] * 2


@pytest.mark.parametrize(("phase_ns", "delivered"), [(0, 0), (60_000 * MS, 20)])
def test_schedules_are_so_far_on_as_the_phase_says(tmp_path: Path, phase_ns: int, delivered: int) -> None:
    """Everything is lost in the first minute of link time, which a phase of a minute skips."""
    lost_at_first = {"kind": "loss", "parameters": {"probability": {"steps": [[0, 1.0], [60_000 * MS, 0.0]]}}}
    with LinkBed(tmp_path, {**config([lost_at_first]), "phase_ns": phase_ns}) as bed:
        with Source(bed.client) as source:
            source.send(20, 1000, 500)
        (summary,) = bed.stop(signal.SIGUSR1)
    assert (summary["up"]["arrived"], summary["up"]["delivered"]) == (20, delivered)
    departures = read_link_log(bed.log).direction(0)
    late_ns = departures["due_ns"].astype(np.int64) - departures["arrival_ns"].astype(np.int64)
    assert not delivered or np.all(late_ns == 0)
