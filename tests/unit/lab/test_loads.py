"""When a load was whose client prints no lines: hand-written logs of the link."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from longlook.core.job import Content, ExpectedAnswer
from longlook.core.model import ConnectionState
from longlook.lab.loads import SMALLEST_BYTES, load_lines, load_of
from longlook.lab.observations import LeftFile, LoadSeen, Observations
from tests.data.trials import MS, T0, packet_2, trial
from tests.unit.lab.test_link_data import Packet, log_of

TRIAL = trial(protocol="h3")
PATH = "/download.bin"


def short(arrival: float, departure: float | None, **fields: int | bytes) -> Packet:
    return packet_2(arrival, departure, quic_form=1, **fields)


FILES = {PATH: LeftFile(3_000, "sha256:0")}
CLIENT = Observations(files=FILES, exit_code=0)
HELLO = packet_2(1, 2, direction=0, quic_form=2, client_port=7)
FLIGHT = packet_2(2, 3, quic_form=4)
ASKED = short(4, 5, direction=0, payload_bytes=80, client_port=7)
DATA = [short(6 + index, 8 + index) for index in range(3)]


def at(ms: float) -> int:
    return T0 + round(ms * MS)


def load(folder: Path, packets: Sequence[Packet], until: float = 99, size: int = 3_000, **changes: Any) -> LoadSeen:
    content = Content("/www", ((PATH,),), {PATH: ExpectedAnswer(size, "sha256:0")})
    found = load_of(replace(TRIAL, **changes), content, CLIENT, log_of(folder, packets), at(until))
    assert found is not None
    return found


def times(found: LoadSeen) -> tuple[float | None, float | None]:
    return tuple(None if each is None else (each - T0) / MS for each in (found.started_ns, found.ended_ns))  # type: ignore[return-value]


def test_a_load_is_from_the_clients_first_packet_to_the_last_with_data(tmp_path: Path) -> None:
    assert times(load(tmp_path, [HELLO, FLIGHT, ASKED, *DATA])) == (1, 10)
    dropped, queued = short(20, None, verdict=2), short(21, None, verdict=1)
    flipped, tcp = short(22, 23, edits=2), short(23, 24, ip_protocol=6)
    assert times(load(tmp_path, [HELLO, FLIGHT, ASKED, *DATA, dropped, queued, flipped, tcp])) == (1, 10)
    lost_hello = {**HELLO, "verdict": 2, "departure_ns": 0, "arrival_ns": HELLO["arrival_ns"]}
    assert times(load(tmp_path, [lost_hello, packet_2(3, 4, direction=0, quic_form=2), *DATA])) == (1, 10)


def test_packets_that_acknowledge_or_close_end_no_load(tmp_path: Path) -> None:
    small = [short(20, 21, payload_bytes=40), short(30, 31, payload_bytes=SMALLEST_BYTES - 1)]
    assert times(load(tmp_path, [HELLO, FLIGHT, ASKED, *DATA, *small])) == (1, 10)
    more = short(30, 31, payload_bytes=SMALLEST_BYTES)
    assert times(load(tmp_path, [HELLO, FLIGHT, ASKED, *DATA, small[0], more])) == (1, 31)


def test_small_packets_count_if_the_bodies_need_them(tmp_path: Path) -> None:
    tiny = short(6, 8, payload_bytes=60)
    assert times(load(tmp_path, [HELLO, FLIGHT, ASKED, tiny], size=10)) == (1, 8)
    assert times(load(tmp_path, [HELLO, FLIGHT, ASKED, *DATA, short(20, 21, payload_bytes=60)], size=3_700)) == (
        1,
        21,
    )


def test_what_comes_after_the_client_is_no_part_of_it(tmp_path: Path) -> None:
    packets = [HELLO, FLIGHT, ASKED, *DATA, short(40, 41)]
    assert times(load(tmp_path, packets, until=40.5)) == (1, 10)
    assert times(load(tmp_path, packets, until=41)) == (1, 41)


def test_a_load_that_nobody_saw_has_no_times(tmp_path: Path) -> None:
    assert times(load(tmp_path, DATA)) == (None, None)
    assert times(load(tmp_path, [HELLO, FLIGHT])) == (1, None)
    assert load_of(TRIAL, Content("/", (), {}), CLIENT, None, 0) == LoadSeen(FILES)


def test_clients_with_lines_have_no_load(tmp_path: Path) -> None:
    log, content = log_of(tmp_path, [HELLO]), Content("/", (), {})
    assert load_of(TRIAL, content, Observations(exit_code=0), log, at(9)) is None
    printed = replace(CLIENT, lines=({"event": "object", "path": PATH},))
    assert load_of(TRIAL, content, printed, log, at(9)) is None
    connected = replace(CLIENT, lines=({"event": "connection"},))
    assert load_of(TRIAL, content, connected, log, at(9)) is not None


def test_a_primed_load_begins_with_the_second_connection(tmp_path: Path) -> None:
    first = [HELLO, FLIGHT, packet_2(3, 4, direction=0, quic_form=2, client_port=7)]
    first += [ASKED, short(5, 6, payload_bytes=300)]
    second = [
        packet_2(30, 31, direction=0, quic_form=2, client_port=7),
        packet_2(31, 32, direction=0, quic_form=3, client_port=7),
    ]
    data = [short(40 + index, 41 + index) for index in range(3)]
    state = {"connection": ConnectionState.ZERO_RTT}
    found = load(tmp_path, [*first, *second, *data], **state)
    assert times(found) == (30, 43)
    assert [(each.client_port, each.primes) for each in found.flows] == [(7, True), (7, False)]
    alone = load(tmp_path, first, **state)
    assert (times(alone), [each.primes for each in alone.flows]) == ((None, None), [True])


def test_every_connection_that_a_client_begins_is_seen(tmp_path: Path) -> None:
    hello_again = packet_2(1.5, 2.5, direction=0, quic_form=2, client_port=7)  # after a Retry, or a loss
    other_port = packet_2(3, 4, direction=0, quic_form=2, client_port=8)
    anew = packet_2(30, 31, direction=0, quic_form=2, client_port=7)
    early = packet_2(30, 31, direction=0, quic_form=3, client_port=7)
    moved = short(31, 32, direction=0, payload_bytes=80, client_port=9)  # a connection that goes on from elsewhere
    found = load(tmp_path, [HELLO, hello_again, FLIGHT, other_port, ASKED, *DATA, anew, early, moved])
    assert [(each.client_port, each.early) for each in found.measured] == [(7, False), (8, False), (7, True)]
    assert [(each.started_ns - T0) / MS for each in found.measured] == [1, 3, 30]


def test_the_lines_say_what_was_seen_and_nothing_else(tmp_path: Path) -> None:
    found = load(tmp_path, [HELLO, FLIGHT, ASKED, *DATA])
    flow, file, window = load_lines(found, "198.18.0.1", "198.18.0.2:443", "h3")
    assert (flow["local"], flow["primes"], flow["t_start_ns"]) == ("198.18.0.1:7", False, at(1))
    assert file == {"event": "file", "path": PATH, "bytes": 3_000, "digest": "sha256:0", "problem": None}
    assert window == {"event": "load", "t_start_ns": at(1), "t_end_ns": at(10), "bytes": 3_000}
    assert [line["event"] for line in load_lines(LoadSeen(FILES), "c", "s", "h3")] == ["file"]
