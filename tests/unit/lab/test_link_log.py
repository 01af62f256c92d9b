"""The laboratory's own reader of the link's log: the same values as the reader of timelines, and clear errors."""

from pathlib import Path

import numpy as np
import pytest

from longlook.lab import link_log
from longlook.lab.link_log import LinkLog, LinkLogError, Segment, read_link_log
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
    for name in (*Segment._fields, "ip_protocol", "quic_form"):
        assert log[name] == expected.records[name].tolist(), name
    assert log.unix_minus_monotonic_ns == expected.unix_minus_monotonic_ns == T0 - MONOTONIC_T0


def test_a_record_that_was_cut_off_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "link.bin"
    write_link_log(path, records(DOWN, RECORD_2))
    path.write_bytes(path.read_bytes()[:-1])
    assert len(read_link_log(path)["flow"]) == len(DOWN) - 1
    write_link_log(path, np.empty(0, RECORD_2))
    empty = LinkLog((read_link_log(path),))
    assert (empty.data_bytes(0, 2**62), empty.first_data_ns(0), empty.first_packet_ns(0)) == (0, None, None)


def test_data_are_counted_when_they_have_reached_the_client(tmp_path: Path) -> None:
    log = log_of(tmp_path, *reversed(DOWN), DROPPED, UP)
    each = 1222 - 19  # of QUIC
    assert [log.data_bytes(0, at(ms)) // each for ms in (1.9, 2, 3, 6, 99)] == [0, 1, 2, 5, 5]
    assert [log.data_bytes(at(ms), 2**62) // each for ms in (2, 2.1, 6, 6.1)] == [5, 4, 1, 0]
    assert log_of(tmp_path, *DOWN[:3], packet_2(9, 9, **TCP)).data_bytes(0, 2**62) == 3 * each + 1222


def test_the_first_packet_and_the_first_data_are_told_apart(tmp_path: Path) -> None:
    log = log_of(tmp_path, packet_2(1, 2, payload_bytes=0, **TCP), packet_2(3, 4, **TCP), packet_2(5, 6, **TCP))
    assert (log.first_packet_ns(0), log.first_data_ns(0)) == (at(2), at(4))
    assert (log.first_packet_ns(at(3)), log.first_data_ns(at(5))) == (at(4), at(6))
    assert (log.first_packet_ns(at(7)), log.first_data_ns(at(7))) == (None, None)


def test_a_flow_has_the_packets_of_its_own_client(tmp_path: Path) -> None:
    packets = (*DOWN[:2], packet_2(1, 2, **OTHER))
    assert log_of(tmp_path, *packets).data_bytes(0, 2**62) == 3 * 1203
    assert log_of(tmp_path, *packets, client="10.8.0.1").data_bytes(0, 2**62) == 2 * 1203
    assert log_of(tmp_path, *packets, client="10.8.0.3").data_bytes(0, 2**62) == 1203


def test_two_links_are_put_on_one_clock(tmp_path: Path) -> None:
    one = log_of(tmp_path, *DOWN).logs[0]
    behind = link_log.Records(one.body, one.record_bytes, one.places, one.unix_minus_monotonic_ns + 10 * MS)
    both = LinkLog((one, behind))
    assert both.data_bytes(0, at(11.9)) == 5 * 1203
    assert both.data_bytes(0, at(12)) == 6 * 1203


def test_openings_are_those_of_the_client(tmp_path: Path) -> None:
    syn = packet_2(5, 6, direction=0, tcp_flags=0x02, **TCP)
    answer = packet_2(4, 5, direction=1, tcp_flags=0x12, **TCP)
    log = log_of(tmp_path, UP, packet_2(2, 3, direction=0, quic_form=1), answer, syn)
    assert log.opening_ns(0, 2**62) == at(0)
    assert (log.opening_ns(at(0), at(99)), log.opening_ns(at(0), at(5))) == (at(5), None)


def test_only_new_bytes_of_streams_count(tmp_path: Path) -> None:
    first = 2**32 - 1000
    sent = [(1, 0), (2, 1222), (3, 0), (4, 3666), (5, 2444)]  # ms, offset: the third is sent again, the last is late
    log = log_of(tmp_path, *(packet_2(ms, ms, transport_sequence=(first + off) % 2**32, **TCP) for ms, off in sent))
    assert [log.new_stream_bytes(at(ms)) for ms in (0, 1, 2, 3, 4)] == [3 * 1222, 2 * 1222, 1222, 1222, 0]


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
