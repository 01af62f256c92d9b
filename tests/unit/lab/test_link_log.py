"""The laboratory's own reader of the link's log: the same values as the reader of timelines, and clear errors."""

from ipaddress import ip_address
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from longlook.lab.link_log import LinkLog, LinkLogError, TcpSegment, read_link_log
from longlook.timeline.normalise.link_log import read_link_log as read_with_numpy
from tests.data.trials import MONOTONIC_T0, MS, RECORD_2, T0, packet_2, records, write_link_log

OTHER = {"client_address": bytes([10, 8, 0, 3])}
DOWN = [packet_2(1 + index, 2 + index, sequence=index) for index in range(5)]
DROPPED = packet_2(3, None, verdict=2)
UP = packet_2(0, 1, direction=0, payload_bytes=300, quic_form=2)
TCP = {"ip_protocol": 6}


def log_of(tmp_path: Path, *packets: dict[str, int | bytes], client: str = "") -> LinkLog:
    path = tmp_path / "link.bin"
    write_link_log(path, records(packets, RECORD_2))
    return LinkLog((read_link_log(path, client),))


def at(ms: float) -> int:
    return T0 + round(ms * MS)


def test_columns_are_those_of_the_other_reader(tmp_path: Path) -> None:
    log = log_of(tmp_path, *DOWN, DROPPED, UP).logs[0]
    expected = read_with_numpy(tmp_path / "link.bin")
    for name in (*TcpSegment._fields, "ip_protocol", "quic_form"):
        assert list(log[name]) == expected.records[name].tolist(), name
    assert log.unix_minus_monotonic_ns == expected.unix_minus_monotonic_ns == T0 - MONOTONIC_T0


def test_a_record_that_was_cut_off_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "link.bin"
    write_link_log(path, records(DOWN, RECORD_2))
    path.write_bytes(path.read_bytes()[:-1])
    assert len(read_link_log(path)["flow"]) == len(DOWN) - 1
    write_link_log(path, np.empty(0, RECORD_2))
    empty = LinkLog((read_link_log(path),))
    assert (empty.opening_ns(0, 2**62), list(empty.tcp_connections(9))) == (None, [])


def test_a_flow_has_the_packets_of_its_own_client(tmp_path: Path) -> None:
    packets = (*DOWN[:2], packet_2(1, 2, **OTHER))
    for client, count in (("", 3), ("10.8.0.1", 2), ("10.8.0.3", 1)):
        assert len(log_of(tmp_path, *packets, client=client).logs[0]["flow"]) == count


@pytest.mark.parametrize("version", [4, 6])
@given(st.lists(st.integers(1, 3), min_size=1, max_size=20))
def test_a_client_is_found_by_all_of_its_address(
    tmp_path_factory: pytest.TempPathFactory, version: int, hosts: list[int]
) -> None:
    """Addresses of IPv6 differ in their last bytes alone, those of IPv4 in their first four."""
    begins = "198.18.0." if version == 4 else "2001:2::"
    packed = {host: ip_address(f"{begins}{host}").packed.ljust(16, b"\0") for host in (1, 2, 3)}
    packets = [
        packet_2(index, index + 1, ip_version=version, client_address=packed[host]) for index, host in enumerate(hosts)
    ]
    folder = tmp_path_factory.mktemp("log")
    for host in (1, 2, 3):
        assert len(log_of(folder, *packets, client=f"{begins}{host}").logs[0]["flow"]) == hosts.count(host)


def test_versions_of_ip_are_those_of_ip_packets(tmp_path: Path) -> None:
    packets = [packet_2(index, index + 1, ip_version=version) for index, version in enumerate((6, 0, 6))]
    assert log_of(tmp_path, *packets).logs[0].ip_versions() == {6}
    assert log_of(tmp_path, *packets, packet_2(9, 10, ip_version=4)).logs[0].ip_versions() == {4, 6}


def test_openings_are_those_of_the_client(tmp_path: Path) -> None:
    syn = packet_2(5, 6, direction=0, tcp_flags=0x02, **TCP)
    answer = packet_2(4, 5, direction=1, tcp_flags=0x12, **TCP)
    log = log_of(tmp_path, UP, packet_2(2, 3, direction=0, quic_form=1), answer, syn)
    assert log.opening_ns(0, 2**62) == at(0)
    assert (log.opening_ns(at(0), at(99)), log.opening_ns(at(0), at(5))) == (at(5), None)


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (lambda data: b"", "no packet log of this version"),
        (lambda data: b"LLLINK1\n" + data[8:], "no packet log of this version"),
        (lambda data: data[:30], "damaged header"),
        (lambda data: data[:8] + b"\x02\x00\x00\x00[]", "no JSON object"),
        (lambda data: data.replace(b"unix_ns", b"unix_ms"), "damaged header"),
        (lambda data: data.replace(b'"flow"', b'"flaw"'), "lacks the fields flow"),
        (lambda data: data.replace(b'"record_bytes": 128', b'"record_bytes": 0  '), "damaged header"),
    ],
)
def test_a_damaged_log_is_named_with_the_reason(tmp_path: Path, damage: object, reason: str) -> None:
    path = tmp_path / "link.bin"
    write_link_log(path, records(DOWN, RECORD_2))
    path.write_bytes(damage(path.read_bytes()))  # type: ignore[operator]
    with pytest.raises(LinkLogError, match=reason) as error:
        read_link_log(path)["flow"]
    assert "link.bin" in str(error.value)
