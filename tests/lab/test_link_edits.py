"""What the router changes in packets, as the kernels at both ends see it."""

import errno
import signal
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from longlook.instruments.calibrate.link.link_probe import LinkBed
from longlook.lab.topology import OFFLOAD, PACKET, TUN, EndpointNamespace
from longlook.timeline.normalise.link_log import read_link_log

pytestmark = [pytest.mark.lab, pytest.mark.realtime]

MS = 1_000_000
ECT0, CE = 2, 3
EDIT_CE, EDIT_CORRUPTED, EDIT_PORT, EDIT_ICMP = 1, 2, 4, 8
IP_MTU_DISCOVER, IP_PMTUDISC_DO, IP_MTU, IP_RECVTOS = 10, 2, 14, 13
every_path = pytest.mark.parametrize("path", [PACKET, TUN, OFFLOAD])

Stages = list[dict[str, Any]]


def stage(kind: str, **parameters: Any) -> dict[str, Any]:
    return {"kind": kind, "parameters": parameters}


def config(up: Stages, down: Stages | None = None) -> dict[str, Any]:
    return {"version": 2, "seed": 7, "linger_ns": 20 * MS, "up": up, "down": down or []}


@contextmanager
def udp(side: EndpointNamespace, port: int) -> Iterator[socket.socket]:
    with side.namespace.inside():
        made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    with made:
        made.bind((side.end.address, port))
        made.settimeout(2)
        yield made


def received(sink: socket.socket, timeout_s: float = 0.3) -> list[tuple[bytes, tuple[str, int]]]:
    """Everything that comes until nothing does."""
    sink.settimeout(timeout_s)
    found = []
    while True:
        try:
            found.append(sink.recvfrom(2048))
        except TimeoutError:
            return found


@every_path
def test_the_server_sees_another_port_after_a_rebinding_and_the_old_one_is_dead(tmp_path: Path, path: str) -> None:
    with (
        LinkBed(tmp_path, config([stage("nat", rebind_ns=200 * MS)]), path) as bed,
        udp(bed.client, 40_000) as client,
        udp(bed.server, 9) as server,
    ):
        to_server = (bed.server.end.address, 9)
        client.sendto(b"before", to_server)
        data, old = server.recvfrom(100)
        assert (data, old[1]) == (b"before", 40_000)
        server.sendto(b"hello", old)
        assert client.recvfrom(100)[0] == b"hello"
        time.sleep(0.25)
        server.sendto(b"lost", old)
        assert received(client) == []
        client.sendto(b"after", to_server)
        server.settimeout(2)
        data, new = server.recvfrom(100)
        assert data == b"after"
        assert new[1] != 40_000
        server.sendto(b"again", new)
        client.settimeout(2)
        assert client.recvfrom(100)[0] == b"again"
        (summary,) = bed.stop()
    assert summary["down"]["dropped_nat"] == 1
    records = read_link_log(bed.log).records
    # The log knows the client by its own port, on both ways, and all is one flow.
    assert set(records["client_port"].tolist()) == {40_000}
    assert len(set(records["flow"].tolist())) == 1
    assert np.count_nonzero(records["edits"] & EDIT_PORT) == 2


@every_path
def test_a_silent_client_s_port_is_forgotten_and_its_next_packet_has_another(tmp_path: Path, path: str) -> None:
    with (
        LinkBed(tmp_path, config([stage("nat_timeout", timeout_ns=500 * MS)]), path) as bed,
        udp(bed.client, 40_000) as client,
        udp(bed.server, 9) as server,
    ):
        to_server = (bed.server.end.address, 9)
        client.sendto(b"before", to_server)
        data, old = server.recvfrom(100)
        assert (data, old[1]) == (b"before", 40_000)
        server.sendto(b"hello", old)
        assert client.recvfrom(100)[0] == b"hello"
        time.sleep(0.6)
        server.sendto(b"lost", old)
        assert received(client) == []
        client.sendto(b"after", to_server)
        server.settimeout(2)
        data, new = server.recvfrom(100)
        assert data == b"after"
        assert new[1] != 40_000
        (summary,) = bed.stop()
    assert summary["down"]["dropped_nat"] == 1
    assert set(read_link_log(bed.log).records["client_port"].tolist()) == {40_000}


@every_path
def test_the_sender_of_a_packet_too_big_gets_an_icmp_message(tmp_path: Path, path: str) -> None:
    with (
        LinkBed(tmp_path, config([stage("mtu", mtu_bytes=1300, icmp=True)]), path) as bed,
        udp(bed.client, 40_000) as client,
        udp(bed.server, 9) as server,
    ):
        client.setsockopt(socket.IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_DO)
        client.connect((bed.server.end.address, 9))
        client.send(bytes(1400))
        assert received(server) == []
        assert client.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) == errno.EMSGSIZE
        with pytest.raises(OSError, match="Message too long"):
            client.send(bytes(1400))
        assert client.getsockopt(socket.IPPROTO_IP, IP_MTU) == 1300
        client.send(bytes(1300 - 28))
        assert len(received(server)) == 1
        (summary,) = bed.stop()
    assert (summary["up"]["dropped_mtu"], summary["up"]["icmp_sent"]) == (1, 1)
    records = read_link_log(bed.log).records
    assert np.count_nonzero(records["edits"] & EDIT_ICMP) == 1


def test_without_icmp_packets_too_big_vanish(tmp_path: Path) -> None:
    with (
        LinkBed(tmp_path, config([stage("mtu", mtu_bytes=1300, icmp=False)])) as bed,
        udp(bed.client, 40_000) as client,
        udp(bed.server, 9) as server,
    ):
        client.setsockopt(socket.IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_DO)
        for _ in range(3):
            client.sendto(bytes(1400), (bed.server.end.address, 9))
        assert received(server) == []
        (summary,) = bed.stop()
    assert (summary["up"]["dropped_mtu"], summary["up"]["icmp_sent"]) == (3, 0)


def test_what_was_corrupted_is_delivered_and_refused_by_the_receiver(tmp_path: Path) -> None:
    with (
        LinkBed(tmp_path, config([stage("corrupt", probability=1.0)])) as bed,
        udp(bed.client, 40_000) as client,
        udp(bed.server, 9) as server,
    ):
        for _ in range(20):
            client.sendto(bytes(1000), (bed.server.end.address, 9))
        arrived = received(server)
        (summary,) = bed.stop(signal.SIGUSR1)
    assert summary["up"]["delivered"] == 20
    # A flipped bit in a port leads elsewhere, any other is found out by the checksum.
    assert arrived == []
    assert (read_link_log(bed.log).records["edits"] == EDIT_CORRUPTED).all()


def test_copies_arrive_and_are_counted_apart(tmp_path: Path) -> None:
    with (
        LinkBed(tmp_path, config([stage("duplicate", probability=1.0), stage("delay", delay_ns=5 * MS)])) as bed,
        udp(bed.client, 40_000) as client,
        udp(bed.server, 9) as server,
    ):
        for number in range(20):
            client.sendto(bytes([number]), (bed.server.end.address, 9))
        arrived = [data[0] for data, _ in received(server)]
        (summary,) = bed.stop(signal.SIGUSR1)
    assert sorted(arrived) == sorted([*range(20)] * 2)
    assert [summary["up"][name] for name in ("arrived", "copied", "delivered")] == [20, 20, 40]
    records = read_link_log(bed.log).direction(0)
    assert np.count_nonzero(records["copy"]) == 20
    assert sorted(records["sequence"].tolist()) == sorted([*range(20)] * 2)


def test_codel_marks_the_packets_of_a_sender_that_understands_it(tmp_path: Path) -> None:
    bottleneck = stage("codel", rate_bps=1_000_000, queue_packets=1000, ecn=True)
    with (
        LinkBed(tmp_path, config([bottleneck])) as bed,
        udp(bed.client, 40_000) as client,
        udp(bed.server, 9) as server,
    ):
        client.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, ECT0)
        server.setsockopt(socket.IPPROTO_IP, IP_RECVTOS, 1)
        for _ in range(60):
            client.sendto(bytes(1000), (bed.server.end.address, 9))
        server.settimeout(1)
        codepoints = [server.recvmsg(2048, 64)[1][0][2][0] & 3 for _ in range(60)]
        (summary,) = bed.stop(signal.SIGUSR1)
    assert summary["up"]["delivered"] == 60
    marked = codepoints.count(CE)
    assert marked >= 2
    assert marked + codepoints.count(ECT0) == 60
    records = read_link_log(bed.log).records
    assert np.count_nonzero(records["edits"] & EDIT_CE) == marked
    assert (records["ecn"] == ECT0).all()
