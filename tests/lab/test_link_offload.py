"""The link between devices with segmentation offload: super-packets of the kernel, decided packet by packet."""

import socket
import threading
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

from longlook.instruments.calibrate.link.link_probe import LinkBed
from longlook.lab.topology import OFFLOAD
from longlook.timeline.normalise.link_log import PacketLog, read_link_log
from tests.lab.test_link_router import check_sums

pytestmark = [pytest.mark.lab, pytest.mark.realtime]

MS = 1_000_000
UDP_SEGMENT = 103
Stages = list[dict[str, Any]]


def stage(kind: str, **parameters: Any) -> dict[str, Any]:
    return {"kind": kind, "parameters": parameters}


def config(up: Stages) -> dict[str, Any]:
    return {"version": 2, "seed": 7, "linger_ns": 20 * MS, "up": up, "down": []}


def sent_by_tcp(folder: Path, up: Stages, data: bytes) -> tuple[bytes, PacketLog, dict[str, Any]]:
    """What the server received of a connection of the client, the log and the summary."""
    received = bytearray()
    with LinkBed(folder, config(up), OFFLOAD) as bed:
        with bed.server.namespace.inside():
            listener = socket.create_server((bed.server.end.address, 9))
        listener.settimeout(20)
        with bed.client.namespace.inside():
            sender = socket.create_connection((bed.server.end.address, 9), timeout=20)
        taken, _ = listener.accept()
        taken.settimeout(20)

        def receive() -> None:
            while piece := taken.recv(1 << 16):
                received.extend(piece)

        thread = threading.Thread(target=receive)
        thread.start()
        with sender, listener:
            sender.sendall(data)
            sender.shutdown(socket.SHUT_WR)
            thread.join()
        taken.close()
        (summary,) = bed.stop()
        assert bed.process.returncode == 0
    return bytes(received), read_link_log(bed.log), summary


def test_the_link_sees_packets_and_the_kernel_hands_over_many_at_a_time(tmp_path: Path) -> None:
    data = Random(1).randbytes(3_000_000)
    received, log, summary = sent_by_tcp(tmp_path, [], data)
    assert received == data
    check_sums(summary, log)
    up = log.direction(0)
    assert up["size_bytes"].max() == 1500
    assert up["payload_bytes"].sum() >= len(data)
    # The packets of a super-packet arrive at one moment.
    _, together = np.unique(up["arrival_ns"], return_counts=True)
    assert together.max() > 10
    assert summary["guard"]["unfinished_checksums"] == summary["up"]["dropped_oversize"] == 0


def test_data_comes_through_whatever_happens_to_single_packets(tmp_path: Path) -> None:
    harm = [
        stage("loss", probability=0.01),
        stage("duplicate", probability=0.02),
        stage("corrupt", probability=0.01),
        stage("reorder", probability=0.02, depth_packets=3, wait_ns=5 * MS),
        stage("rate", rate_bps=300_000_000, queue_bytes=1_000_000),
    ]
    data = Random(2).randbytes(2_000_000)
    received, log, summary = sent_by_tcp(tmp_path, harm, data)
    assert received == data
    up = log.direction(0)
    assert min(summary["up"]["dropped_loss"], summary["up"]["copied"], np.count_nonzero(up["edits"] & 2)) > 3


def test_of_datagrams_that_were_sent_together_one_is_lost(tmp_path: Path) -> None:
    with LinkBed(tmp_path, config([stage("loss_index", indexes=[3])]), OFFLOAD) as bed:
        with bed.server.namespace.inside():
            sink = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        with bed.client.namespace.inside():
            source = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        with sink, source:
            sink.bind((bed.server.end.address, 9))
            sink.settimeout(5)
            source.setsockopt(socket.SOL_UDP, UDP_SEGMENT, 1_000)
            source.sendto(b"".join(bytes([number]) * 1_000 for number in range(10)) + b"end", sink.getsockname())
            received = [sink.recv(2048) for _ in range(10)]
        (summary,) = bed.stop()
    assert received == [*(bytes([number]) * 1_000 for number in range(10) if number != 3), b"end"]
    log = read_link_log(bed.log)
    check_sums(summary, log)
    assert log.direction(0)["size_bytes"].tolist() == [1_028] * 10 + [31]
    assert len(set(log.direction(0)["arrival_ns"].tolist())) == 1
