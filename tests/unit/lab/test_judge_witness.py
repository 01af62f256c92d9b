"""The link's log as the witness of what a client reports: hand-written lines beside hand-written logs."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as runs
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion

from longlook.core.model import ConnectionState, Endpoint, Outcome
from longlook.lab.judge import judge
from longlook.lab.judge_witness import witnessed
from longlook.lab.link_log import LinkLog, read_link_log
from longlook.lab.loads import load_of
from longlook.lab.observations import FlowCase, FlowKind, LeftFile, Observations
from tests.data.trials import MS, RECORD_2, T0, packet_2, records, write_link_log
from tests.unit.lab.test_judge import CONTENT, DONE, SOUND, TRIAL, accepted, client, opened, server
from tests.unit.lab.test_judge import fetched as fetched_object
from tests.unit.lab.test_judge_echo import case as echo_case
from tests.unit.lab.test_judge_echo import echo

SIZE, SEGMENT = 14_480, 1448
CONTENT_2 = replace(CONTENT, expected={path: replace(each, bytes=SIZE) for path, each in CONTENT.expected.items()})
Make = Callable[..., FlowCase]
Packet = dict[str, int | bytes]


def at(ms: float) -> int:
    return T0 + round(ms * MS)


def tcp(arrival: float, departure: float | None, payload: int, **fields: int) -> Packet:
    return packet_2(arrival, departure, ip_protocol=6, payload_bytes=payload, size_bytes=payload + 52, **fields)


def flight(first: float, count: int, sequence: int, every: float = 1.0) -> list[Packet]:
    """Full segments that leave the link one after the other, from a time on."""
    return [
        tcp(first - 10, first + every * number, SEGMENT, transport_sequence=sequence + SEGMENT * number)
        for number in range(count)
    ]


SYN, SYN_ACK = tcp(1, 11, 0, direction=0, tcp_flags=0x02), tcp(11, 21, 0, tcp_flags=0x12)
HELLO, CERTIFICATE = tcp(21, 31, 500, direction=0, tcp_flags=0x18), tcp(31, 41, 1000, transport_sequence=1)
REQUEST = tcp(41, 51, 200, direction=0, tcp_flags=0x18)
BODIES = flight(61, 21, 1001)  # two bodies and what frames them, from 61 to 81 ms
ALERT = tcp(90, 100, 31, transport_sequence=1001 + 21 * SEGMENT, tcp_flags=0x19)
PACKETS = [SYN, SYN_ACK, HELLO, CERTIFICATE, REQUEST, *BODIES, ALERT]


def fetched(path: str, end: float, start: float = 0.5, first: float = 61.1, **keys: Any) -> dict[str, Any]:
    times = {"t_start_ns": at(start), "t_first_byte_ns": at(first), "t_end_ns": at(end)}
    return fetched_object(path, SIZE, **{**times, **keys})


LINES = (
    {**opened(1), "t_start_ns": at(0.5), "t_handshake_ns": at(41)},
    fetched("/a", 71.1),
    fetched("/b", 81.1),
)


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """A case in virtual time, whose clock is known to a millisecond, with some packets and lines of its client."""

    def made(lines: Sequence[dict[str, Any]] = LINES, packets: Sequence[Packet] = PACKETS, **changes: Any) -> FlowCase:
        path = tmp_path / "link.bin"
        write_link_log(path, records(packets, RECORD_2))
        case = replace(SOUND, content=CONTENT_2, virtual=True, log=LinkLog((read_link_log(path),)), **client(*lines))
        return replace(case, **changes)

    return made


def reason_of(case: FlowCase) -> str:
    found = judge(case)
    if found.outcome is Outcome.OK:
        return ""
    assert (found.outcome, found.complete) == (Outcome.FAILED, True), found.reason
    return str(found.reason).removeprefix("the client reports what the link did not carry: ")


def test_a_load_that_crossed_the_link_is_sound(make: Make) -> None:
    assert judge(make()).outcome is Outcome.OK
    assert judge(make(session=True, **client(*LINES, DONE, exit_code=None))).outcome is Outcome.OK


def test_a_body_ends_with_its_last_packet_and_not_before(make: Make, snapshot: SnapshotAssertion) -> None:
    early = (LINES[0], LINES[1], fetched("/b", 78.5))
    assert reason_of(make(early)) == snapshot
    assert reason_of(make((LINES[0], fetched("/a", 62), LINES[2]))).startswith("/a ends 0.0615 s")
    assert reason_of(make(early, virtual=False)) == "", "in real time clocks are known to 5 ms"


def test_what_came_before_the_load_is_none_of_its_bytes(make: Make) -> None:
    """A priming connection fetches much; what was delivered counts from the first request on."""
    primed = [tcp(-90, -80 + number, SEGMENT, flow=7, transport_sequence=number * SEGMENT) for number in range(30)]
    assert reason_of(make((LINES[0], LINES[1], fetched("/b", 75)), [*primed, *PACKETS])).startswith("/b ends")


def test_little_comes_behind_the_end_over_tcp_but_closing_and_repeats(make: Make, snapshot: SnapshotAssertion) -> None:
    """A longer answer than asked for would else hide by how much an end is early."""
    more = flight(120, 4, 1001 + 21 * SEGMENT)
    assert reason_of(make(packets=[*PACKETS, *more])) == snapshot
    assert reason_of(make(packets=[*PACKETS, tcp(110, 120, 481, transport_sequence=1001 + 21 * SEGMENT + 31)])) == ""
    repeats = [tcp(100, 130 + number, SEGMENT, transport_sequence=1001 + SEGMENT * number) for number in range(15)]
    assert reason_of(make(packets=[*PACKETS, *repeats])) == ""
    other = replace(TRIAL, client=Endpoint("other", "2", {"move_at": 1.0}))
    assert reason_of(make(packets=[*PACKETS, *more], trial=other)) == "", "the connection that it left goes on"


def test_a_load_begins_before_its_connection_is_opened(make: Make, snapshot: SnapshotAssertion) -> None:
    late = (LINES[0], fetched("/a", 71.1, start=2.5), fetched("/b", 81.1, start=2.5))
    assert reason_of(make(late)) == snapshot
    assert reason_of(make((LINES[0], fetched("/a", 71.1, start=1.09), LINES[2]))) == ""
    warm = replace(CONTENT_2, waits_s=(0.1, 0.0))
    asked = (LINES[0], fetched("/a", 71.1, start=40.9), fetched("/b", 81.1, start=40.9))
    assert reason_of(make(asked, content=warm)) == ""
    assert reason_of(make(asked, content=replace(CONTENT_2, waits_s=(0.0, 0.1)))).startswith("the load begins")
    assert reason_of(make(asked, relayed=True)) == ""
    after_asking = (LINES[0], fetched("/a", 71.1, start=45), fetched("/b", 81.1, start=45))
    assert reason_of(make(after_asking, content=warm)).endswith("of which the link had delivered at most 0")


def test_a_priming_connection_is_opened_before_the_load(make: Make) -> None:
    resumed = replace(TRIAL, connection=ConnectionState.RESUMED)
    primes = {**opened(2, primes=True), "t_start_ns": at(-99), "t_handshake_ns": at(-60)}
    priming = [tcp(-99, -89, 0, direction=0, tcp_flags=0x02, flow=7), tcp(-80, -70, 900, flow=7)]
    servers = server(accepted(2), accepted(1, resumed=True))
    usual = make((primes, *LINES), [*priming, *PACKETS], trial=resumed, **servers)
    assert reason_of(usual) == ""
    late = (primes, LINES[0], fetched("/a", 71.1, start=2.5), fetched("/b", 81.1, start=2.5))
    assert reason_of(make(late, [*priming, *PACKETS], trial=resumed, **servers)).startswith("the load begins 0.0015 s")


def test_no_answer_begins_before_the_first_packet(make: Make, snapshot: SnapshotAssertion) -> None:
    early = (LINES[0], fetched("/a", 71.1, first=39), LINES[2])
    assert reason_of(make(early)) == snapshot
    secure = ({**LINES[0], "t_handshake_ns": at(19)}, *LINES[1:])
    assert reason_of(make(secure)) == snapshot
    assert reason_of(make(secure, trial=replace(TRIAL, connection=ConnectionState.ZERO_RTT), **EARLY)) == ""


EARLY = server(accepted(1, resumed=True, early=True))


def page(start: float, first: float, loaded: float) -> dict[str, Any]:
    times = {"t_start_ns": at(start), "t_first_byte_ns": at(first), "t_loaded_ns": at(loaded)}
    return {"event": "page", "url": "u", **times}


def test_a_page_has_loaded_when_its_images_have_come(make: Make) -> None:
    for line, reason in (
        (page(0, 62, 82), ""),
        (page(0, 62, 58), "the page has loaded 0.058 s after its start with 28960 bytes"),
        (page(0, 20, 82), "the page's first byte is there 0.021 s before the first packet"),
        (page(25, 62, 82), "the load begins 0.024 s after its connection was opened"),
    ):
        lines = (*LINES, line, DONE)
        found = reason_of(make(session=True, **client(*lines, exit_code=None)))
        assert found.startswith(reason) and bool(found) is bool(reason), found


def test_an_echo_s_answer_came_over_the_link(make: Make) -> None:
    sent = packet_2(1, 4, direction=0)
    log = make(packets=[sent, packet_2(5, 8)]).log
    asked = {**echo(1200, at(8)), "t_start_ns": at(1)}
    assert witnessed(replace(echo_case(asked), log=log, virtual=True)) is None
    for answered, packets in ((8, [sent, packet_2(5, 9)]), (9, [sent]), (9, [packet_2(5, 9)])):
        case = make(packets=packets)
        found = witnessed(replace(echo_case({**asked, "t_answer_ns": at(answered)}), log=case.log, virtual=True))
        assert found is not None and found.outcome is Outcome.FAILED
        assert "the payload of 1200 bytes is answered before the link delivered an answer" in (found.reason or "")


QUIC = replace(TRIAL, protocol="h3", congestion_control=None)
QUIC_LINES = [{**line, "protocol": "h3"} for line in LINES]
QUIC_SERVER = server(accepted(1, protocol="h3", congestion_control=None))
QUIC_BEGIN = [
    packet_2(1, 11, direction=0, quic_form=2),
    packet_2(11, 21, quic_form=4, payload_bytes=1200),
    packet_2(21, 31, direction=0, quic_form=4),
]


def test_quic_s_packets_have_no_room_for_more_than_they_carry(make: Make) -> None:
    """24 packets of 1,222 bytes have room for 28,752 bytes behind ids and offsets, and 144 more for early frames."""
    down = [packet_2(50, 61 + number / 2) for number in range(24)]
    assert reason_of(make(QUIC_LINES, [*QUIC_BEGIN, *down], trial=QUIC, **QUIC_SERVER)).startswith("/b ends")
    whole = [*QUIC_BEGIN, *down, packet_2(50, 81)]
    assert reason_of(make(QUIC_LINES, whole, trial=QUIC, **QUIC_SERVER)) == ""


@pytest.mark.parametrize(
    "useless",
    [
        packet_2(11, 31.5, quic_form=4),  # of the handshake, before anything can have been asked for
        packet_2(50, 81, edits=2),  # a bit was flipped on the way
        packet_2(50, 81, copy=1),  # of what has come
    ],
)
def test_what_cannot_be_an_answer_over_quic_is_none(make: Make, useless: Packet) -> None:
    down = [packet_2(50, 61 + number / 2, sequence=number) for number in range(24)]
    found = reason_of(make(QUIC_LINES, [*QUIC_BEGIN, *down, useless], trial=QUIC, **QUIC_SERVER))
    assert found.startswith("/b ends")


def test_much_behind_the_end_over_quic_is_part_of_the_load_but_where_packets_overtake(
    make: Make, snapshot: SnapshotAssertion
) -> None:
    """Room for 22 probes and repeats is left to a sender that sees no packet overtaken."""
    down = [packet_2(50, 61 + number / 2) for number in range(40)]
    late = [packet_2(51 + number, 90 + number) for number in range(28)]
    few = make(QUIC_LINES, [*QUIC_BEGIN, *down, *late[:27]], trial=QUIC, **QUIC_SERVER)
    assert reason_of(few) == ""
    many = make(QUIC_LINES, [*QUIC_BEGIN, *down, *late], trial=QUIC, **QUIC_SERVER)
    assert reason_of(many) == snapshot
    overtaken = [*QUIC_BEGIN, *down, packet_2(49.5, 89), *late]
    assert reason_of(make(QUIC_LINES, overtaken, trial=QUIC, **QUIC_SERVER)) == ""
    heard = [packet_2(155 + number, 190 + number) for number in range(28)]
    found = reason_of(make(QUIC_LINES, [*overtaken, *heard], trial=QUIC, **QUIC_SERVER))
    assert found == snapshot


def test_flows_that_have_no_end_and_trials_without_a_log_are_not_asked(make: Make) -> None:
    wrong = (LINES[0], LINES[1], fetched("/b", 75))
    assert witnessed(make(wrong)) is not None
    assert witnessed(make(wrong, log=None)) is None
    assert witnessed(make(wrong, kind=FlowKind.BULK)) is None


def test_a_clock_that_was_set_blames_no_program(make: Make, snapshot: SnapshotAssertion) -> None:
    found = witnessed(make((LINES[0], LINES[1], fetched("/b", 75)), clock_moved_ns=-2_000 * MS))
    assert found is not None and found.outcome is Outcome.INVALID
    assert found.reason == snapshot


@runs(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(ends=st.tuples(st.integers(0, 30_000), st.integers(0, 30_000)), shift=st.integers(0, 30_000))
def test_a_shorter_load_than_the_link_s_is_never_sound(make: Make, ends: tuple[int, int], shift: int) -> None:
    """Times in µs: by how much each end is early and the start late."""
    lines = [LINES[0]]
    for (path, end), early in zip((("/a", 71.1), ("/b", 81.1)), ends, strict=True):
        lines.append(fetched(path, end - early / 1e3, start=0.5 + shift / 1e3, first=min(61.1, end - early / 1e3)))
    claimed_ms = (max(line["t_end_ns"] for line in lines[1:]) - lines[1]["t_start_ns"]) / MS
    found = judge(make(lines))
    if found.outcome is Outcome.OK:
        assert claimed_ms >= 80.6 - 1.3, "the bound of both clocks, and a segment that holds but 448 bytes of the body"
    if not any(ends) and not shift:
        assert found.outcome is Outcome.OK


def test_observations_without_lines_are_sound(make: Make) -> None:
    assert witnessed(make(client=Observations())) is None


def test_files_without_lines_need_as_many_bytes_over_the_link(tmp_path: Path) -> None:
    files = {path: LeftFile(each.bytes, each.digest) for path, each in CONTENT_2.expected.items()}
    hello = packet_2(1, 2, direction=0, quic_form=2)
    asked = packet_2(4, 5, direction=0, quic_form=1, payload_bytes=80)

    def judged(packets: int) -> str | None:
        data = [packet_2(6 + number, 7 + number, quic_form=1) for number in range(packets)]
        write_link_log(tmp_path / "link.bin", records([hello, packet_2(2, 3, quic_form=4), asked, *data], RECORD_2))
        log = LinkLog((read_link_log(tmp_path / "link.bin"),))
        seen = Observations(exit_code=0, files=files)
        load = load_of(TRIAL, CONTENT_2, seen, log, at(999))
        found = witnessed(replace(SOUND, content=CONTENT_2, client=seen, log=log, load=load))
        return None if found is None else found.reason

    assert judged(25) is None
    assert "its files have 28960 bytes, of which the link had delivered at most 12124" in str(judged(10))
    assert "at most 0" in str(judged(0))
