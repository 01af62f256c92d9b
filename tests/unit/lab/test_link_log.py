"""The laboratory's own reader of the link's log: the same values as the reader of timelines, and clear errors."""

from pathlib import Path

import numpy as np
import pytest

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
