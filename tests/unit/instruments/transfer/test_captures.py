"""Captures of TCP: what `longlook explain` says of transfers whose truth is known."""

import gzip
import struct
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from longlook.core import InputError
from longlook.instruments.transfer.answer import TransferAnswer, explain_one
from longlook.instruments.transfer.classes import TimeClass
from longlook.instruments.transfer.reading import End, read_trace
from longlook.timeline.decode import decode_trace
from tests.support.captures import (
    ACK,
    BEGIN_NS,
    CLIENT,
    COOKED,
    COOKED_2,
    ETHERNET,
    LOOPBACK,
    RAW,
    SERVER,
    Download,
    Frame,
    block,
    ip,
    linked,
    pcap,
    pcapng,
    tcp,
)
from tests.unit.instruments.transfer.recordings import causes, share


def explained(folder: Path, data: bytes, vantage: End | None = None) -> TransferAnswer:
    path = folder / "made.pcap"
    path.write_bytes(data)
    return explain_one(read_trace(path, vantage, None))


@pytest.mark.parametrize(("place", "end"), [(1, "server"), (0, "client"), (0.5, "unknown")])
def test_a_capture_says_where_it_was_taken(tmp_path: Path, place: float, end: str) -> None:
    answer = explained(tmp_path, pcap(Download(place=place).frames))
    assert (answer.recording.protocol, answer.recording.end) == ("TCP", end)
    assert answer.recording.handshake_seen
    assert any("capture was taken" in sentence for sentence in answer.rests_on)
    rtt_ms = (answer.path.shortest_rtt_ns or 0) / 1e6
    assert rtt_ms == pytest.approx(20 if end == "unknown" else 40, abs=0.5)


def test_the_user_names_the_end(tmp_path: Path) -> None:
    assert explained(tmp_path, pcap(Download(place=0.5).frames), "server").recording.end == "server"


@pytest.mark.parametrize("with_times", [True, False])
@pytest.mark.parametrize("with_sacks", [True, False])
def test_losses_are_segments_that_are_sent_again(tmp_path: Path, with_times: bool, with_sacks: bool) -> None:
    made = Download(lost=frozenset({25, 47, 48}), with_times=with_times, with_sacks=with_sacks)
    recording = explained(tmp_path, pcap(made.frames)).recording
    assert len(recording.lost) == made.repeated == 3
    assert {*recording.triggers} == {"fast_retransmit"}
    assert len(recording.sent.take(recording.sent.number >= 0)) == made.sent + 1  # with the SYN


def test_a_receiver_sees_the_same_losses(tmp_path: Path) -> None:
    made = Download(lost=frozenset({25, 47, 48}), place=0)
    assert explained(tmp_path, pcap(made.frames)).path.lost_packets == 3


@pytest.mark.parametrize("with_times", [True, False])
def test_late_segments_are_not_lost(tmp_path: Path, with_times: bool) -> None:
    made = Download(lost=frozenset({25, 47}), late_ms=0.5, place=0, with_times=with_times)
    assert explained(tmp_path, pcap(made.frames)).path.lost_packets == 0


def test_sequence_numbers_wrap(tmp_path: Path) -> None:
    plain, wrapped = (pcap(Download(first=first, lost=frozenset({40})).frames) for first in (1000, 2**32 - 60_000))
    answers = [explained(tmp_path, data) for data in (plain, wrapped)]
    assert answers[0].intervals.sums() == answers[1].intervals.sums()
    assert answers[0].path == answers[1].path


def test_window_limited_flights(tmp_path: Path) -> None:
    answer = explained(tmp_path, pcap(Download().frames))
    assert share(answer, TimeClass.CONGESTION_WINDOW) > 0.7


@pytest.mark.parametrize("place", [0, 1])
def test_a_full_receive_window(tmp_path: Path, place: float) -> None:
    made = Download(receive_window=10 * 1448, scale=3, place=place)
    answer = explained(tmp_path, pcap(made.frames))
    assert share(answer, TimeClass.CONNECTION_CREDIT) > 0.7
    assert causes(answer)[0] == "connection_credit"
    assert answer.suspicions[0].settings == {"tcp_receive_buffer": "64MiB"}


def test_a_program_with_nothing_to_send(tmp_path: Path) -> None:
    answer = explained(tmp_path, pcap(Download(pause_ms=120).frames))
    assert share(answer, TimeClass.APPLICATION) > 0.6
    assert "application_limited" in causes(answer)


@pytest.mark.parametrize(("place", "name"), [(0, TimeClass.SERVER_THINK), (1, TimeClass.APPLICATION)])
def test_a_slow_answer(tmp_path: Path, place: float, name: TimeClass) -> None:
    assert share(explained(tmp_path, pcap(Download(place=place, think_ms=1500).frames)), name) > 0.6


def test_a_closed_window_is_a_slow_reader(tmp_path: Path) -> None:
    made = Download(flights=4)
    last = made.frames[-1]
    number = made.first + made.sent * made.segment_bytes
    closed = [
        Frame(last.time_ns + place * 100_000_000, tcp(107, number, window=0, ends=(CLIENT, SERVER)))
        for place in range(1, 8)
    ]
    opened = Frame(closed[-1].time_ns + 100_000_000, tcp(107, number, window=8000, ends=(CLIENT, SERVER)))
    more = Frame(opened.time_ns + 10_000, tcp(number, 107, bytes(1448), ends=(SERVER, CLIENT)))
    answer = explained(tmp_path, pcap([*made.frames, *closed, opened, more]))
    assert "slow_reader" in causes(answer)


def test_without_a_handshake(tmp_path: Path) -> None:
    answer = explained(tmp_path, pcap(Download(handshake=False).frames))
    assert answer.recording.end == "server"  # by the timestamps
    assert any("scale of the receive windows is unknown" in sentence for sentence in answer.rests_on)


@pytest.mark.parametrize("by_client", [True, False])
def test_one_direction(tmp_path: Path, by_client: bool) -> None:
    source = struct.pack(">H", (CLIENT if by_client else SERVER)[1])
    frames = [frame for frame in Download(place=0).frames if frame.packet[20:22] == source]
    if by_client:
        with pytest.raises(InputError, match="fewer than two packets"):
            explained(tmp_path, pcap(frames))
        return
    answer = explained(tmp_path, pcap(frames))
    assert any("packets of the server alone" in sentence for sentence in answer.rests_on)
    assert not answer.recording.sends


def test_joined_segments_count_as_several(tmp_path: Path) -> None:
    made = Download(joined=5)
    answer = explained(tmp_path, pcap(made.frames))
    assert len(answer.case.data) == made.sent
    assert any("24 segments are longer than 1448 bytes" in sentence for sentence in answer.rests_on)


def test_frames_are_those_of_the_file(tmp_path: Path) -> None:
    made = Download(lost=frozenset({25}))
    recording = explained(tmp_path, pcap(made.frames)).recording
    frame = recording.frame_of(int(recording.lost.number[0]))
    assert frame is not None
    sequence = struct.unpack(">I", made.frames[frame - 1].packet[24:28])[0]
    assert sequence == made.first + 25 * made.segment_bytes


WAYS = {
    "us": lambda frames: pcap(frames, ns=False),
    "big endian": lambda frames: pcap(frames, order=">"),
    "Ethernet": lambda frames: pcap(frames, ETHERNET),
    "cooked": lambda frames: pcap(frames, COOKED),
    "cooked 2": lambda frames: pcap(frames, COOKED_2),
    "loopback": lambda frames: pcap(frames, LOOPBACK),
    "pcapng": pcapng,
    "pcapng, big endian": lambda frames: pcapng(frames, order=">"),
    "pcapng, us": lambda frames: pcapng(frames, ((ETHERNET, 6),)),
    "pcapng, powers of two": lambda frames: pcapng(frames, ((ETHERNET, 128 + 30),)),
    "headers alone": lambda frames: pcap(frames, ETHERNET, snap=96),
    "pcapng, headers alone": lambda frames: pcapng(frames, ((ETHERNET, 9),), snap=96),
    "gzip": lambda frames: gzip.compress(pcap(frames)),
}


@pytest.mark.parametrize("way", WAYS)
def test_containers_and_links_do_not_matter(tmp_path: Path, way: str) -> None:
    frames = Download(lost=frozenset({25})).frames
    plain, other = (explained(tmp_path, data) for data in (pcap(frames), WAYS[way](frames)))
    assert len(other.recording.lost) == len(plain.recording.lost) == 1
    assert other.path.shortest_rtt_ns == pytest.approx(plain.path.shortest_rtt_ns, abs=2000)
    assert other.path.data_bytes == plain.path.data_bytes
    assert not other.recording.problems


def test_tags_and_version_6(tmp_path: Path) -> None:
    ends = (("2001:db8::1", 40_000), ("2001:db8::2", 443))
    frames = Download(ends=ends).frames
    tagged = [replace(frame, packet=linked(frame.packet, ETHERNET, (0x88A8, 0x8100))) for frame in frames]
    data = pcap(tagged, RAW).replace(struct.pack("<I", RAW), struct.pack("<I", ETHERNET), 1)
    assert explained(tmp_path, data).recording.protocol == "TCP"


def test_extension_headers(tmp_path: Path) -> None:
    ends = (("2001:db8::1", 40_000), ("2001:db8::2", 443))
    frames = []
    for frame in Download(ends=ends).frames:
        packet = frame.packet
        extensions = bytes([0, 60]) + bytes(7) + bytes([6]) + bytes(7)
        length = struct.unpack(">H", packet[4:6])[0] + 16
        made = packet[:4] + struct.pack(">H", length) + b"\0" + packet[7:40] + extensions[1:] + packet[40:]
        frames.append(replace(frame, packet=made))
    assert len(explained(tmp_path, pcap(frames)).case.data) == 120


def test_two_connections(tmp_path: Path) -> None:
    other = Download(ends=((CLIENT[0], 40_001), SERVER), flights=3).frames
    path = tmp_path / "two.pcapng"
    path.write_bytes(pcapng([*Download().frames, *other]))
    busiest = read_trace(path, None, None)
    assert busiest.sent.total_bytes > read_trace(path, None, 1).sent.total_bytes
    assert any("2 connections" in problem for problem in busiest.problems)
    with pytest.raises(InputError, match="has 2 connections"):
        read_trace(path, None, 2)


def test_packets_that_two_interfaces_saw(tmp_path: Path) -> None:
    near, far = Download(place=1), Download(place=0)
    both = [*near.frames, *(replace(frame, interface=1) for frame in far.frames)]
    data = pcapng(sorted(both, key=lambda frame: frame.time_ns), ((RAW, 9), (RAW, 9)))
    answer = explained(tmp_path, data, "server")
    assert len(answer.case.data) == near.sent
    assert (answer.path.shortest_rtt_ns or 0) / 1e6 == pytest.approx(40, abs=0.5)


def test_a_clock_that_goes_back(tmp_path: Path) -> None:
    frames = Download().frames
    later = [replace(frame, time_ns=frame.time_ns - 3_000_000_000) for frame in frames[60:]]
    answer = explained(tmp_path, pcap([*frames[:60], *later]))
    assert any("clock goes back by" in problem and "packet 61" in problem for problem in answer.recording.problems)
    assert answer.intervals.total_ns < 2_000_000_000


def test_the_same_ports_again(tmp_path: Path) -> None:
    first = Download(flights=4)
    second = Download(flights=8, first=900_000)
    later = [replace(frame, time_ns=frame.time_ns + 5_000_000_000) for frame in second.frames]
    data = pcap([*first.frames, *(replace(frame, packet=_other_syn(frame.packet)) for frame in later)])
    path = tmp_path / "again.pcap"
    path.write_bytes(data)
    _, account = decode_trace(path, None)
    assert len(account["connections"]) == 2


def _other_syn(packet: bytes) -> bytes:
    """Return the client's packets with other sequence numbers."""
    if packet[20:22] != struct.pack(">H", CLIENT[1]):
        return packet
    sequence = struct.unpack(">I", packet[24:28])[0] + 1_000_000
    return packet[:24] + struct.pack(">I", sequence) + packet[28:]


def _damaged() -> Sequence[tuple[str, bytes]]:
    whole = pcapng(Download().frames)
    first = len(pcapng([]))
    return [
        ("cut", whole[: len(whole) // 2]),
        ("a block of 0 bytes", whole[: first + 4] + bytes(4) + whole[first + 8 :]),
        ("a block of 4294967295 bytes", whole[: first + 4] + b"\xff" * 4 + whole[first + 8 :]),
        ("damaged packet", whole[:first] + block(6, struct.pack("<IIIII", 9, 0, 0, 4, 4) + bytes(4))),
        ("which no link carries", pcap([]) + struct.pack("<IIII", 1, 1, 1 << 30, 1 << 30)),
        ("within its header", pcap([])[:10]),
    ]


@pytest.mark.parametrize(("said", "data"), _damaged(), ids=[said for said, _ in _damaged()])
def test_damage_is_said_and_nothing_is_lost_before_it(tmp_path: Path, said: str, data: bytes) -> None:
    path = tmp_path / "damaged.pcapng"
    path.write_bytes(data)
    _, account = decode_trace(path, None)
    assert account["truncated"]
    warnings = " ".join(warning["problem"] for warning in account["warnings"])
    assert said in warnings or "ends within" in warnings


def test_other_traffic_is_counted(tmp_path: Path) -> None:
    others = [
        ip(1, b"\x08\0\0\0", (CLIENT, SERVER)),
        tcp(1, 1, flags=ACK)[:30],
        b"\x45" + bytes(30),
        ip(6, b"\0" * 4 + b"\0" * 16, (CLIENT, SERVER)),
    ]
    path = tmp_path / "others.pcap"
    frames = [Frame(BEGIN_NS, packet) for packet in others]
    path.write_bytes(pcap([*frames, *Download().frames]))
    _, account = decode_trace(path, None)
    assert account["ignored"] == {"ICMP": 1, "other protocols of IP": 1}
    assert sum(account["skipped"].values()) == 2
