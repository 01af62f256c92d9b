"""Settings of the kernel's TCP beside hand-written logs of what packets show of them."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from longlook.core.job import ExpectedAnswer
from longlook.core.model import Endpoint, Outcome
from longlook.lab.judge_settings import settings
from longlook.lab.link_log import LinkLog, read_link_log
from longlook.lab.observations import FlowCase, FlowKind
from tests.data.trials import MS, RECORD_2, T0, packet_2, records, write_link_log
from tests.unit.lab.test_judge import CONTENT, DIGEST, SOUND, TRIAL, client, fetched, opened

SEGMENT, RTT, HEADERS = 1448, 100.0, 52
SIZE = 200 * SEGMENT
Make = Callable[..., FlowCase]
Packet = dict[str, int | bytes]


def at(ms: float) -> int:
    return T0 + round(ms * MS)


def data(sent: float, number: int, payload: int = SEGMENT, **fields: int) -> Packet:
    """A full segment of the answer, from 0, behind 1,000 bytes of a handshake."""
    own = {"transport_sequence": 1001 + number * SEGMENT, "tcp_flags": 0x18, "size_bytes": payload + HEADERS}
    return packet_2(sent, sent + RTT / 2, ip_protocol=6, payload_bytes=payload, **{**own, **fields})


def ack(heard: float, up_to: int, **fields: int) -> Packet:
    """The client's acknowledgement of all segments below `up_to`, when the server hears it."""
    own = {"acknowledgement": 1001 + up_to * SEGMENT, "tcp_flags": 0x10, "size_bytes": HEADERS, "direction": 0}
    return packet_2(heard - RTT / 2, heard, ip_protocol=6, payload_bytes=0, **{**own, **fields})


SYN = ack(50, 0, tcp_flags=0x02, size_bytes=60)
SYN_ACK = data(50, 0, payload=0, tcp_flags=0x12, size_bytes=60)
HANDSHAKE = [SYN, SYN_ACK, data(150, 0, payload=1000, transport_sequence=1), ack(250, 0)]
REQUESTED = 250.0


def answer(first: int, total: int = 200, gap: float = 0.0) -> list[Packet]:
    """A server that sends so many segments at once, and then two for each that is acknowledged."""
    packets = [data(REQUESTED + number * gap, number) for number in range(first)]
    sent = first
    for number in range(1, total + 1):
        heard = REQUESTED + RTT + number * 0.3
        packets.append(ack(heard, number))
        packets += [data(heard, each) for each in range(sent, min(sent + 2, total))]
        sent = min(sent + 2, total)
    return packets


@pytest.fixture
def make(tmp_path: Path) -> Make:
    def made(tcp: dict[str, Any], packets: Sequence[Packet], size: int = SIZE, **changes: Any) -> FlowCase:
        path = tmp_path / "link.bin"
        write_link_log(path, records(packets, RECORD_2))
        times = {"t_start_ns": at(0), "t_first_byte_ns": at(REQUESTED + RTT / 2), "t_end_ns": at(900)}
        line = fetched("/a", size, local="10.8.0.1:40000", **times)
        case = replace(
            SOUND,
            content=replace(CONTENT, expected={"/a": ExpectedAnswer(size, DIGEST)}),
            virtual=True,
            tcp=tcp,
            log=LinkLog((read_link_log(path),)),
            **client(opened(40000), line),
        )
        return replace(case, **changes)

    return made


def seen(case: FlowCase) -> str:
    found = settings(case)
    if found is None:
        return ""
    assert (found.outcome, found.complete) == (Outcome.FAILED, True)
    assert found.hint
    return str(found.reason)


def window(packets: int, **other: Any) -> dict[str, Any]:
    return {"initial_window_packets": packets, **other}


def test_a_first_flight_of_as_many_packets_as_set_is_sound(make: Make) -> None:
    for packets in (1, 10, 49, 150):
        assert seen(make(window(packets), [*HANDSHAKE, *answer(packets)])) == ""


def test_a_flight_that_stops_short_is_no_initial_window(make: Make, snapshot: SnapshotAssertion) -> None:
    short = [*HANDSHAKE, *answer(49)]
    assert seen(make(window(150), short)) == snapshot
    assert seen(make(window(10), [*HANDSHAKE, *answer(9)])) == snapshot


def test_a_flight_that_goes_on_beyond_is_none_either(make: Make, snapshot: SnapshotAssertion) -> None:
    assert seen(make(window(10), [*HANDSHAKE, *answer(32)])) == snapshot
    assert seen(make(window(10), [*HANDSHAKE, *answer(11)])) == "", (
        "the handshake's acknowledgement may have let it grow"
    )


def test_an_answer_that_does_not_fill_the_window_proves_nothing(make: Make) -> None:
    few = 20
    assert seen(make(window(150), [*HANDSHAKE, *answer(few, total=few)], size=few * SEGMENT)) == ""


def test_a_server_that_is_still_sending_proves_nothing(make: Make) -> None:
    """In real time, or where packets are spread, the first acknowledgement comes meanwhile."""
    assert seen(make(window(150), [*HANDSHAKE, *answer(49, gap=2.0)])) == ""
    assert "sent 49 packets" in seen(make(window(150), [*HANDSHAKE, *answer(49, gap=0.5)]))


@pytest.mark.parametrize(
    "packets",
    [
        [ack(40, 0, tcp_flags=0x02), *HANDSHAKE, *answer(1)],
        [*HANDSHAKE, data(240, 0, payload=1000, transport_sequence=1), *answer(5)],
        [*HANDSHAKE, ack(260, 0, tcp_flags=0x50), *answer(5)],
    ],
    ids=["its SYN was lost", "a packet was lost before", "a mark came before"],
)
def test_what_reduces_the_window_by_the_rules_proves_nothing(make: Make, packets: list[Packet]) -> None:
    assert seen(make(window(10), packets)) == ""


def test_a_window_that_is_not_the_server_s_alone_is_not_judged(make: Make) -> None:
    short = [*HANDSHAKE, *answer(5)]
    assert "sent 5 packets" in seen(make(window(10), short))
    for changes in (
        {"tcp": window(10, receive_buffer_bytes=16_384)},
        {"tcp": window(10, send_buffer_bytes=16_384)},
        {"tcp": window(10, multipath=True)},
        {"tcp": {}},
        {"kind": FlowKind.BULK},
        {"log": None},
        {"trial": replace(TRIAL, proxy=Endpoint("some-proxy", "1"))},
    ):
        assert seen(replace(make(window(10), short), **changes)) == "", changes


def test_a_window_is_judged_by_the_answers_of_its_own_connection(make: Make) -> None:
    short, elsewhere = [*HANDSHAKE, *answer(5)], fetched("/a", SIZE, local="10.8.0.1:9")
    assert seen(make(window(10), short, **client(elsewhere))) == ""
    unnamed = {**fetched("/a", SIZE), "t_start_ns": at(0), "t_first_byte_ns": at(REQUESTED + RTT / 2)}
    assert "sent 5 packets" in seen(make(window(10), short, **client(unnamed)))


@pytest.mark.parametrize(
    ("tcp", "packet", "reason"),
    [
        ({"mss_bytes": 1460}, data(1, 0), ""),
        ({"mss_bytes": 1459}, data(1, 0), "tcp_mss = 1459 was not brought about: a packet has 1460 bytes of payload"),
        ({"timestamps": True}, data(1, 0), ""),
        ({"timestamps": False}, data(1, 0, size_bytes=SEGMENT + 40), ""),
        ({"timestamps": False}, data(1, 0), "tcp_timestamps = false was not brought about: packets with data have 12"),
        ({"timestamps": True}, data(1, 0, size_bytes=SEGMENT + 40), "packets with data have 0 bytes of options"),
        ({"sack": False}, ack(90, 0), ""),
        ({"sack": True}, ack(90, 0, size_bytes=64), ""),
        (
            {"sack": False},
            ack(90, 0, size_bytes=64),
            "tcp_sack = false was not brought about: an acknowledgement has 24",
        ),
        ({"sack": False, "timestamps": False}, ack(90, 0), "an acknowledgement has 12 bytes of options"),
        ({"ecn": True}, ack(50, 0, tcp_flags=0xC2), ""),
        ({"ecn": "accecn"}, ack(50, 0, tcp_flags=0xC2), ""),
        ({"ecn": False}, SYN, ""),
        ({"ecn": True}, SYN, "tcp_ecn = true was not brought about: the client's SYN does not ask for it"),
        ({"ecn": False}, ack(50, 0, tcp_flags=0xC2), "tcp_ecn = false was not brought about: the client's SYN asks"),
    ],
)
def test_what_single_packets_show_of_a_setting(make: Make, tcp: dict[str, Any], packet: Packet, reason: str) -> None:
    found = seen(make(tcp, [packet]))
    assert reason in found and bool(found) is bool(reason)


@pytest.mark.parametrize("buffer", ["receive_buffer", "send_buffer"])
def test_more_on_its_way_than_a_buffer_holds(make: Make, buffer: str) -> None:
    packets = [*HANDSHAKE, *answer(100)]  # 144,800 bytes before the first acknowledgement
    assert seen(make({f"{buffer}_bytes": 70_000}, packets)) == (
        f"tcp_{buffer} = 70000 was not brought about: 144800 bytes were on their way"
    )
    assert seen(make({f"{buffer}_bytes": 80_000}, packets)) == "", "within what the kernel sends beyond it"
