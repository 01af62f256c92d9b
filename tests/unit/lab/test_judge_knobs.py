"""Knobs beside hand-written logs and lines: what contradicts each, and what does not."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from longlook.core.model import ConnectionState, Endpoint, Link, Outcome, Scalar, Stage
from longlook.lab.judge_knobs import MEASURED, knobs, most_within
from longlook.lab.link_log import LinkLog, read_link_log
from longlook.lab.observations import FlowCase, Observations
from tests.data.trials import MS, RECORD_2, T0, packet_2, records, write_link_log
from tests.unit.lab.test_judge import SOUND, fetched, opened

Packet = dict[str, int | bytes]
Seen = Callable[..., str]
RTT_MS = 40.0
DELAY = (Stage("delay", {"delay_ns": 20_000_000}),)
LINK = Link(DELAY, DELAY)


def datagram(payload: int, sent: float = 0.0, **fields: int) -> Packet:
    """A UDP datagram of the server at a time in ms; `direction=0` is the client's."""
    return packet_2(sent, sent + RTT_MS / 2, ip_protocol=17, payload_bytes=payload, size_bytes=payload + 28, **fields)


def segment(payload: int, flags: int, sent: float = 0.0, **fields: int) -> Packet:
    fields = {"direction": 0, "payload_bytes": payload, "size_bytes": payload + 60, **fields}
    return packet_2(sent, sent + 20, ip_protocol=6, tcp_flags=flags, **fields)


@pytest.fixture
def seen(tmp_path: Path) -> Seen:
    """What contradicts a knob of an end, given a log and the lines of both ends; empty: nothing does."""

    def found(
        knob: str,
        value: Scalar,
        packets: Sequence[Packet] = (),
        role: str = "server",
        lines: Sequence[dict[str, Any]] = (),
        *,
        other: dict[str, Scalar] | None = None,
        connection: ConnectionState = ConnectionState.COLD,
        link: Link = LINK,
        **changes: Any,
    ) -> str:
        path = tmp_path / "link.bin"
        write_link_log(path, records(packets, RECORD_2))
        ends = {"server": Endpoint("s", "1"), "client": Endpoint("c", "1")}
        ends[role] = replace(ends[role], knobs={knob: value, **changes.pop("beside", {})})
        if other is not None:
            second = "client" if role == "server" else "server"
            ends[second] = replace(ends[second], knobs=other)
        trial = replace(SOUND.trial, link=link, connection=connection, **ends)
        case: FlowCase = replace(
            SOUND,
            trial=trial,
            log=LinkLog((read_link_log(path),)),
            **{role: Observations(tuple(lines))} if lines else {},
            **changes,
        )
        judgement = knobs(case)
        if judgement is None:
            return ""
        assert (judgement.outcome, judgement.complete) == (Outcome.FAILED, True)
        assert judgement.hint
        prefix = (
            f"{role} knob {knob} = {str(value).lower() if isinstance(value, bool) else value} was not brought about: "
        )
        assert judgement.reason is not None
        assert judgement.reason.startswith(prefix)
        return judgement.reason.removeprefix(prefix)

    return found


def test_a_datagram_that_is_larger_than_the_largest(seen: Seen, snapshot: SnapshotAssertion) -> None:
    sizes = [datagram(1200), datagram(1331)]
    assert seen("max_udp_payload", 1331, sizes) == ""
    assert seen("max_udp_payload", 1330, sizes) == snapshot
    assert seen("max_udp_payload", 1330, sizes, "client") == "", "they are the server's"
    assert seen("max_udp_payload", 1330, [datagram(1400, direction=0)], "client") == snapshot


def test_datagrams_that_never_get_as_large_as_the_first_should_be(seen: Seen, snapshot: SnapshotAssertion) -> None:
    small = [datagram(1252)] * 25
    assert seen("initial_packet_size", 1331, small) == snapshot
    assert seen("initial_packet_size", 1252, small) == ""
    assert seen("initial_packet_size", 1331, small[:5]) == "", "so little data need not fill one"


def test_cross_traffic_of_another_size(seen: Seen, snapshot: SnapshotAssertion) -> None:
    assert seen("packet_size", 400, [datagram(400)] * 3) == ""
    assert seen("packet_size", 400, [datagram(400), datagram(399)]) == snapshot


def test_codepoints_where_there_should_be_none_and_none_where_there_should(
    seen: Seen, snapshot: SnapshotAssertion
) -> None:
    plain, marked = [datagram(100)] * 6, [datagram(100, ecn=2)] * 6
    assert seen("ecn", True, marked) == ""
    assert seen("ecn", True, plain) == snapshot
    assert seen("ecn", True, plain[:4]) == "", "single packets may be without one"
    assert seen("ecn", False, plain) == ""
    assert seen("ecn", False, [*plain, *marked]) == snapshot


def test_retry_packets(seen: Seen, snapshot: SnapshotAssertion) -> None:
    initial, retry = datagram(1200, quic_form=2), datagram(60, quic_form=5)
    assert seen("retry", True, [retry, initial]) == ""
    assert seen("retry", True, [initial]) == snapshot
    assert seen("retry", True, []) == "", "no connection began"
    assert seen("retry", False, [retry, initial]) == snapshot


def test_what_connection_lines_report(seen: Seen, snapshot: SnapshotAssertion) -> None:
    assert seen("gso", True, lines=[{**opened(1), "gso": True}]) == ""
    assert seen("gso", True, lines=[{**opened(1), "gso": False}]) == snapshot
    assert seen("gso", True, lines=[opened(1)]) == "", "not every program reports it"
    offered = [{**opened(1), "http2_stream_window": 65_535}]
    assert seen("http2_stream_window", 65_535, (), "client", offered) == ""
    assert seen("http2_stream_window", 70_000, (), "client", offered) == snapshot
    assert seen("http2_connection_window", 70_000, (), "client", offered) == ""


def test_data_in_the_syn(seen: Seen, snapshot: SnapshotAssertion) -> None:
    full, bare = [segment(300, 0x02)], [segment(0, 0x02)]
    early = {"other": {"fast_open": True}, "connection": ConnectionState.RESUMED}
    assert seen("fast_open", True, full, "client", **early) == ""
    assert seen("fast_open", True, bare, "client", **early) == snapshot
    assert seen("fast_open", True, bare, "client") == "", "the server was never told to"
    assert seen("fast_open", False, full, "client") == snapshot


@pytest.mark.parametrize(
    "first",
    [
        [segment(0, 0x02, verdict=2), segment(0, 0x02, 1000)],
        [segment(0, 0x02), segment(0, 0x02, 1000)],
        [segment(0, 0x02, verdict=2)],
        [segment(0, 0x02, edits=2)],
        [segment(0, 0x02), segment(0, 0x12, 20, direction=1, verdict=2)],
        [segment(0, 0x02), segment(0, 0x12, 20, direction=1), segment(0, 0x12, 1020, direction=1)],
    ],
    ids=["sent again", "late", "lost", "damaged", "lost answer", "answer sent again"],
)
def test_an_opening_that_is_sent_again_has_no_cookie(
    seen: Seen, first: list[Packet], snapshot: SnapshotAssertion
) -> None:
    """The client then has none for its next connection, and sends its data behind the handshake."""
    early = {"other": {"fast_open": True}, "connection": ConnectionState.RESUMED}
    measured = [segment(0, 0x02, 3000, flow=7), segment(0, 0x12, 3020, flow=7, direction=1)]
    assert seen("fast_open", True, [*first, *measured], "client", **early) == ""
    whole = [segment(0, 0x02), segment(0, 0x02, copy=1), segment(0, 0x12, 20, direction=1)]
    assert seen("fast_open", True, [*whole, *measured], "client", **early) == snapshot


def test_a_client_that_should_have_moved_by_then(seen: Seen, snapshot: SnapshotAssertion) -> None:
    def load(seconds: float) -> list[dict[str, Any]]:
        return [opened(1), fetched("/a", 10, t_start_ns=T0, t_end_ns=T0 + round(seconds * 1000 * MS))]

    assert seen("move_at", 1.0, (), "client", load(1.9)) == ""
    assert seen("move_at", 1.0, (), "client", load(2.1)) == snapshot
    assert seen("move_at", 1.0, (), "client", [*load(2.1), {"event": "move"}]) == ""
    assert seen("move_at", 1.0, (), "client", [*load(2.1), opened(2)]) == "", "over TCP it moves by another connection"


def flood(packets: int, every_ms: float = 0.1) -> list[Packet]:
    return [datagram(1400, number * every_ms) for number in range(packets)]


@pytest.mark.parametrize(
    ("knob", "role", "tight", "loose"),
    [
        ("max_window", "server", 50, 100),
        ("send_buffer", "server", 70_000, 140_000),
        ("stream_send_buffer", "server", 70_000, 140_000),
        ("max_stream_window", "client", 70_000, 140_000),
        ("max_connection_window", "client", 70_000, 140_000),
    ],
)
def test_more_within_a_round_trip_than_a_window_lets_pass(
    seen: Seen, knob: str, role: str, tight: int, loose: int, snapshot: SnapshotAssertion
) -> None:
    first = {"beside": {knob.replace("max_", "initial_"): tight}} if role == "client" else {}
    seen = partial(seen, **first)
    sent = flood(100)
    assert seen(knob, tight, sent, role) == snapshot
    assert seen(knob, loose, sent, role) == ""
    assert seen(knob, tight, flood(100, every_ms=2.0), role) == "", "round trip after round trip it may send as much"
    assert seen(knob, tight, [*sent, datagram(9, verdict=2)], role) == "", "what was lost may be sent again"
    varies = Link(DELAY, (*DELAY, Stage("jitter", {"jitter_ns": 10_000_000})))
    assert seen(knob, tight, sent, role, link=varies) == ""
    other = "client" if role == "server" else "server"
    assert seen(knob, tight, sent, other) == "", "it bounds the other direction, in which next to nothing is sent"


def test_the_stream_window_of_several_objects_at_once_bounds_none_of_them(seen: Seen) -> None:
    content = replace(SOUND.content, phases=(("/a", "/b"),))
    assert seen("stream_send_buffer", 70_000, flood(100), "server", content=content) == ""
    first: dict[str, Scalar] = {"initial_stream_window": 70_000}
    assert seen("max_stream_window", 70_000, flood(100), "client", beside=first, content=content) == ""


@pytest.mark.parametrize("window", ["stream_window", "connection_window"])
def test_a_largest_window_below_the_first_one(seen: Seen, window: str) -> None:
    """It bounds how far a window grows: the first credit holds all the same, whether a knob or the stack sets it."""
    largest, first = f"max_{window}", f"initial_{window}"
    assert seen(largest, 70_000, flood(100), "client") == "", "the stack's first window is not known"
    assert seen(largest, 70_000, flood(100), "client", beside={first: 140_000}) == ""
    assert seen(largest, 70_000, flood(100), "client", beside={first: 60_000}) != ""
    assert seen(largest, 60_000, flood(100), "client", beside={first: 70_000}) != ""


def test_ends_whose_packets_the_log_does_not_have_are_not_judged(seen: Seen) -> None:
    large = [datagram(1400, direction=0)]
    assert seen("max_udp_payload", 1330, large, "client", relayed=True) == ""


def test_the_most_within_a_span() -> None:
    assert most_within([(0, 1), (10, 2), (20, 4)], 10) == 6
    assert most_within([], 10) == 0


def test_every_knob_that_is_measured_has_its_case() -> None:
    text = Path(__file__).read_text()
    assert not [knob for knob in MEASURED if f'"{knob}"' not in text]
