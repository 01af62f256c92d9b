"""What can have reached a client by when: hand-written logs, and senders of TCP and QUIC that are drawn at random."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from longlook.lab.link_data import Delivered, in_stream
from longlook.lab.link_log import TCP, UDP, LinkLog, read_link_log
from tests.data.trials import MS, RECORD_2, T0, packet_2, records, write_link_log

Packet = dict[str, int | bytes]
ASKED = packet_2(0, 0.5, direction=0, payload_bytes=300)
DOWN = [packet_2(1 + index, 2 + index, sequence=index) for index in range(5)]
DROPPED = packet_2(3, None, verdict=2)
OF_TCP = {"ip_protocol": TCP}
ROOM = 1222 - 24
FOREVER = 2**62


def at(ms: float) -> int:
    return T0 + round(ms * MS)


def log_of(folder: Path, packets: Sequence[Packet]) -> LinkLog:
    path = folder / "link.bin"
    write_link_log(path, records(packets, RECORD_2))
    return LinkLog((read_link_log(path),))


def test_data_count_when_they_have_reached_the_client(tmp_path: Path) -> None:
    came = Delivered(log_of(tmp_path, [ASKED, *reversed(DOWN), DROPPED]))
    assert [came.data_bytes(at(0), at(ms)) for ms in (1.9, 2, 3, 6, 99)] == [0, ROOM, 2 * ROOM, 5 * ROOM, 5 * ROOM]
    assert came.data_bytes(at(0.1), at(99)) == 0, "nothing was asked for since"
    tcp = [packet_2(9, 9, **OF_TCP), packet_2(10, 10, transport_sequence=1222, **OF_TCP)]
    both = Delivered(log_of(tmp_path, [ASKED, *DOWN[:3], *tcp]))
    assert both.data_bytes(at(0), at(99), bodies=2) == 3 * ROOM + 2 * 1222 + 2 * 72
    bare = Delivered(log_of(tmp_path, [ASKED, *DOWN]), framed=False)
    assert bare.data_bytes(at(0), at(99)) == 5 * 1222


def test_what_was_sent_before_the_request_had_crossed_answers_nothing(tmp_path: Path) -> None:
    asked = packet_2(2.5, 3.5, direction=0)
    log = log_of(tmp_path, [ASKED, *DOWN[:3], asked, *DOWN[3:]])
    assert Delivered(log).data_bytes(at(0), FOREVER) == 5 * ROOM
    assert Delivered(log).data_bytes(at(2), FOREVER) == 2 * ROOM, "those that came to the link at 4 and 5 ms"
    assert Delivered(log, bound_ns=MS).data_bytes(at(2), FOREVER) == 3 * ROOM
    assert Delivered(log).first_data_ns(at(2)) == at(5)


def test_a_new_connection_of_quic_asks_when_the_server_has_answered(tmp_path: Path) -> None:
    hello, again = packet_2(0, 1, direction=0, quic_form=2), packet_2(4, 5, direction=0, quic_form=2)
    retry, handshake = packet_2(2, 3, quic_form=5), packet_2(6, 7, quic_form=4)
    finished, answer = packet_2(7.5, 8.5, direction=0, quic_form=4), packet_2(9, 10)
    log = log_of(tmp_path, [hello, retry, again, handshake, finished, answer])
    assert Delivered(log, early=False).data_bytes(at(0), FOREVER) == ROOM
    assert Delivered(log, early=False).first_data_ns(at(0)) == at(10)
    assert Delivered(log, early=True).data_bytes(at(0), FOREVER) == 3 * ROOM
    unanswered = log_of(tmp_path, [hello, retry, again])
    assert Delivered(unanswered, early=False).first_data_ns(at(0)) is None


def test_the_first_packet_and_the_first_data_are_told_apart(tmp_path: Path) -> None:
    tcp = [(1, 0), (3, 1222), (5, 1222)]
    packets = [
        packet_2(ms, ms + 1, payload_bytes=size, transport_sequence=max(0, 1222 * (ms - 3) // 2), **OF_TCP)
        for ms, size in tcp
    ]
    came = Delivered(log_of(tmp_path, [ASKED, *packets, packet_2(9, 9.5, direction=0)]))
    assert (came.first_packet_ns(at(0)), came.first_data_ns(at(0))) == (at(2), at(4))
    assert (came.first_packet_ns(at(3)), came.first_packet_ns(at(7))) == (at(4), None)
    assert came.first_data_ns(at(1)) is None


def test_two_links_are_put_on_one_clock(tmp_path: Path) -> None:
    one = log_of(tmp_path, [ASKED, *DOWN]).logs[0]
    write_link_log(tmp_path / "later.bin", records([{**each} for each in DOWN], RECORD_2))
    data = (tmp_path / "later.bin").read_bytes()
    moved = data.replace(str(T0).encode(), str(T0 + 10 * MS).encode())
    (tmp_path / "later.bin").write_bytes(moved)
    both = Delivered(LinkLog((one, read_link_log(tmp_path / "later.bin"))))
    assert both.data_bytes(at(0), at(11.9)) == 5 * ROOM
    assert both.data_bytes(at(0), at(12)) == 6 * ROOM


def test_many_flows_have_a_stream_each(tmp_path: Path) -> None:
    """More than one byte of a flow's number differs, and some have none."""
    flows = [*range(250, 262), 65_536, 2**32 - 1]
    packets = [
        packet_2(index, index + 1, flow=flow, transport_sequence=1222 * part, **OF_TCP)
        for part in range(2)
        for index, flow in enumerate(flows, 1 + 14 * part)
    ]
    came = Delivered(log_of(tmp_path, [{**ASKED, **OF_TCP}, *packets]))
    assert came.data_bytes(at(0), FOREVER) == len(packets) * 1222
    assert len(list(came.late_bytes(at(15.5), {TCP: 0, UDP: 0}))) == len(flows)


SEGMENTS = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 12)), min_size=1, max_size=30)


@given(segments=SEGMENTS, first=st.sampled_from([0, 5, 2**32 - 20, 2**32 - 1]), syn=st.booleans())
def test_bytes_of_a_stream_count_once_there_is_no_gap_before_them(
    segments: list[tuple[int, int]], first: int, *, syn: bool
) -> None:
    """Against a set of bytes: segments of any place and length, in any order, with repeats and other borders."""
    begin = 0 if syn else min((place for place, size in segments if size), default=0)
    sequences = [(first + place) % 2**32 for place, _ in segments]
    payloads, flags = [size for _, size in segments], [0] * len(segments)
    if syn:
        sequences, payloads, flags = [(first - 1) % 2**32, *sequences], [0, *payloads], [0x12, *flags]
    have, expected = set[int](), [0] * (2 if syn else 1)
    for place, size in segments:
        have |= set(range(place, place + size))
        end = begin
        while end in have:
            end += 1
        expected.append(end - begin)
    found = in_stream(sequences, payloads, flags)
    assert [total - found[0] for total in found] == expected


@given(sizes=st.lists(st.integers(0, 1448), min_size=1, max_size=40), first=st.integers(0, 2**32 - 1))
def test_a_stream_in_order_counts_as_it_comes(sizes: list[int], first: int) -> None:
    ends = np.cumsum([0, *sizes])
    found = in_stream([int(first + end) % 2**32 for end in ends[:-1]], sizes, [0] * len(sizes))
    assert [total - found[0] for total in found] == ends.tolist()


def test_a_port_that_is_used_again_begins_another_stream() -> None:
    sequences, payloads, flags = [9, 10, 20, 500, 501, 9], [0, 10, 10, 0, 7, 0], [0x12, 0, 0, 0x12, 0, 0]
    assert list(in_stream(sequences, payloads, flags)) == [0, 0, 10, 20, 20, 27, 27]


def varint_bytes(value: int) -> int:
    return next(size for size, least in ((8, 2**30), (4, 2**14), (2, 64), (1, 0)) if value >= least)


@dataclass(frozen=True)
class Sender:
    """A sender of QUIC that wastes nothing: its packets carry what they must, and the rest is data of bodies."""

    bodies: tuple[int, ...]
    id_bytes: int
    payloads: tuple[int, ...]  # one after the other, and again from the first on

    def packets(self) -> list[tuple[int, list[tuple[int, int, int]]]]:
        """The UDP payload of each packet, and the frames in it: body, offset, length."""
        made, frames, number, body, offset = [], [], 0, 0, 0
        free = self.payloads[0] - self.id_bytes - 18
        while body < len(self.bodies):
            header = 1 + varint_bytes(4 * body) + (varint_bytes(offset) if offset else 0)
            length = min(self.bodies[body] - offset, free - header)
            if length > 0 or self.bodies[body] == 0:
                frames.append((body, offset, max(0, length)))
                offset, free = offset + max(0, length), free - header - max(0, length)
            if offset == self.bodies[body]:
                body, offset = body + 1, 0
            if free < 12 or body == len(self.bodies):
                made.append((self.payloads[number % len(self.payloads)], frames))
                number, frames = number + 1, []
                free = self.payloads[number % len(self.payloads)] - self.id_bytes - 18
        return made


SENDERS = st.builds(
    Sender,
    bodies=st.lists(st.integers(0, 60_000), min_size=1, max_size=8).map(tuple),
    id_bytes=st.integers(0, 20),
    payloads=st.lists(st.integers(80, 1472) | st.sampled_from([999, 1000, 1252]), min_size=1, max_size=4).map(tuple),
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("quic")


@settings(max_examples=60)
@given(sender=SENDERS, draw=st.randoms(use_true_random=False), share_again=st.sampled_from([0.0, 0.1, 0.5]))
def test_no_honest_end_over_quic_lacks_room(folder: Path, sender: Sender, draw: object, share_again: float) -> None:
    """Packets are sent again though they came, copied and overtaken; the client tells the truth."""
    random = draw.random  # type: ignore[attr-defined]
    log: list[Packet] = [packet_2(0, 1, direction=0, quic_form=1)]
    ends_ms, have = dict[int, float](), [0] * len(sender.bodies)
    arrivals: list[tuple[float, list[tuple[int, int, int]]]] = []
    sequence, now = 0, 2.0
    for payload, frames in sender.packets():
        for _ in range(1 + (random() < share_again)):
            fields = {"payload_bytes": payload, "quic_form": 1, "connection_id_bytes": sender.id_bytes}
            left_ms, sequence, now = now + 20 * random(), sequence + 1, now + 0.01
            log.append(packet_2(now, left_ms, sequence=sequence, **fields))
            if random() < share_again / 5:
                log.append(packet_2(now, left_ms + random(), sequence=sequence, copy=1, **fields))
            arrivals.append((left_ms, frames))
    seen = set[tuple[int, int]]()
    for left_ms, frames in sorted(arrivals, key=lambda each: each[0]):
        for body, offset, length in frames:
            if (body, offset) not in seen:
                seen.add((body, offset))
                have[body] += length
                if have[body] == sender.bodies[body]:
                    ends_ms[body] = left_ms
    came = Delivered(log_of(folder, sorted(log, key=lambda each: int(str(each["departure_ns"])))))
    needed = 0
    for count, (body, end_ms) in enumerate(sorted(ends_ms.items(), key=lambda each: each[1]), 1):
        needed += sender.bodies[body]
        assert came.data_bytes(at(0), at(end_ms), count) >= needed
    assert len(ends_ms) == len(sender.bodies)


@settings(max_examples=40)
@given(sender=SENDERS)
def test_an_end_over_quic_can_be_early_by_few_packets(folder: Path, sender: Sender) -> None:
    """Without loss: by what its ids, numbers and frames have more than the least, and the first frames of streams."""
    packets = sender.packets()
    log = [packet_2(0, 1, direction=0, quic_form=1)]
    for index, (payload, _) in enumerate(packets):
        fields = {"payload_bytes": payload, "quic_form": 1, "connection_id_bytes": sender.id_bytes}
        log.append(packet_2(2 + index, 3 + index, sequence=index, **fields))
    came = Delivered(log_of(folder, log))
    needed = sum(sender.bodies)
    room = came.data_bytes(at(0), at(2 + len(packets)), len(sender.bodies))
    slack = max(sender.payloads) + 72 * len(sender.bodies) + sum(8 + 12 + 6 * len(frames) for _, frames in packets)
    assert room - needed <= slack
