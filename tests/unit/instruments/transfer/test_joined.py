"""Both ends of one connection: what became of each packet, whatever the clocks show."""

from pathlib import Path

import pytest

from longlook.instruments.transfer.joined import Joined, join
from longlook.instruments.transfer.reading import read_trace
from tests.unit.instruments.transfer.recordings import Event, acknowledgement, arrived, lost, sent, written


def transfer(skew_ms: float) -> tuple[list[Event], list[Event]]:
    """A server that sends 60 packets, and a client whose clock differs; packets 7 and 8 are lost, 20 is overtaken.

    The way down takes 30 ms and from packet 40 on 5 ms more; the way up takes 10 ms.
    """
    server: list[Event] = [sent(float(number), number) for number in range(60)]
    client: list[Event] = []
    for number in range(60):
        if number not in (7, 8):
            late = 5 if number >= 40 else 2.5 if number == 20 else 0
            client.append(arrived(skew_ms + number + 30 + late, number, offset=1200 * number))
    for number in range(20):
        client.append(sent(skew_ms + 35 + 2 * number, number, 40))
        server.append(acknowledgement(45 + 2 * number, number, 0, 2 * number))
    return [*server, lost(50, 7), lost(50, 8), lost(51, 20)], client


def joined(folder: Path, skew_ms: float) -> Joined | str:
    server, client = transfer(skew_ms)
    ends = [
        read_trace(written(folder / f"{end}.sqlog", events, end), None, None)
        for end, events in (("client", client), ("server", server))
    ]
    return join(*ends)


@pytest.mark.parametrize("skew_ms", [0.0, 1e6, 17.25])
def test_what_became_of_each_packet_does_not_depend_on_the_clocks(tmp_path: Path, skew_ms: float) -> None:
    found = joined(tmp_path, skew_ms)
    assert isinstance(found, Joined)
    down, up = found.ways
    assert (down.sender, up.sender) == ("server", "client")
    assert (down.sent, down.never_arrived, down.declared_lost) == (60, 2, 3)
    assert (down.spurious, list(down.spurious_numbers)) == (1, [20])
    assert down.overtaken == 1
    assert down.waits_ns.max() == pytest.approx(5e6, abs=1)
    assert down.clocks_drift  # or a queue: nobody can tell them apart
    assert (up.never_arrived, up.overtaken, up.clocks_drift) == (0, 0, False)
    assert found.rtt_ns == pytest.approx(40e6, abs=2)


def test_ends_of_two_connections_are_not_joined(tmp_path: Path) -> None:
    server, _ = transfer(0)
    client = [arrived(30.0 + number, 1000 + number) for number in range(60)]
    client += [sent(35.0 + number, number, 40) for number in range(20)]
    ends = [
        read_trace(written(tmp_path / f"{end}.sqlog", events, end), None, None)
        for end, events in (("client", client), ("server", server))
    ]
    assert "numbers or sizes that its trace lacks" in str(join(*ends))


def test_packets_beyond_the_end_of_the_other_trace_are_not_called_lost(tmp_path: Path) -> None:
    server, client = transfer(0)
    client = [event for event in client if event[0] < 75]
    ends = [
        read_trace(written(tmp_path / f"{end}.sqlog", events, end), None, None)
        for end, events in (("client", client), ("server", server))
    ]
    found = join(*ends)
    assert isinstance(found, Joined)
    assert found.down.never_arrived == 2
    assert found.down.outside == 60 - 1 - max(number for number in range(60) if number + 30 + 5 * (number >= 40) < 75)


def test_a_connection_of_another_time_is_not_joined(tmp_path: Path) -> None:
    server, client = transfer(0)
    # The same numbers and sizes, with answers that leave before what they answer arrives.
    early = [(at - 200 if name == "quic:packet_received" else at, name, data) for at, name, data in client]
    early = [(at + 300, name, data) for at, name, data in early]
    ends = [
        read_trace(written(tmp_path / f"{end}.sqlog", events, end), None, None)
        for end, events in (("client", early), ("server", server))
    ]
    assert "times do not belong to one connection" in str(join(*ends))
