"""Traces of a trial put into place: on its clock, at their connections, beside what the link did to their packets."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from syrupy.assertion import SnapshotAssertion

from longlook.core.errors import InputError
from longlook.timeline.events import Events
from longlook.timeline.normalise import traces
from longlook.timeline.normalise.traces import normalise_traces
from longlook.timeline.timeline import Timeline, table_of_rows
from tests.data import trials
from tests.data.events import row, table_of

US, MS = 1_000, 1_000_000
FLOW = "udp 10.8.0.1:40000 10.8.0.2:443"
SIZE = 1250
DROPPED, LATE = {30, 31, 77}, {50}
"""Packets that the link drops, and one that it only delivers long after the others."""


def sent_ns(number: int) -> int:
    return 100 * MS + number * MS


def link_row(
    number: int, ns: int, form: str, size: int, direction: str = "down", connection_id: str | None = None
) -> dict[str, Any]:
    dropped = direction == "down" and form == "short" and number in DROPPED
    arrival = ns + 5 * US
    left = arrival + (90 * MS if form == "short" and number in LATE else 10 * MS)
    return {
        "time_ns": arrival if dropped else left,
        "vantage": "link",
        "flow": FLOW,
        "kind": "packet_dropped" if dropped else "packet_delivered",
        "priming": False,
        "protocol": "udp",
        "direction": direction,
        "payload_bytes": size,
        "arrival_ns": arrival,
        "quic": form,
        "connection_id": connection_id,
        "sequence": number + (10 if form == "short" else 0),
    }


def timeline() -> Timeline:
    started = {
        "time_ns": 0,
        "vantage": "client",
        "flow": FLOW,
        "kind": "connection_started",
        "priming": False,
        "protocol": "h3",
    }
    link = [
        link_row(0, 50 * MS, "initial", 1200, "up", "0011223344556677"),
        link_row(0, 80 * MS, "initial", 1200),  # an Initial and a Handshake packet, padded
        link_row(1, 81 * MS, "handshake", 400),
        *(link_row(number, sent_ns(number), "short", SIZE) for number in range(100)),
    ]
    rows = sorted([started, *link], key=lambda each: each["time_ns"])
    return Timeline(table_of_rows(rows))


def server_events(offset_ns: int = 0) -> list[dict[str, Any]]:
    def event(ns: int, kind: str, **columns: Any) -> dict[str, Any]:
        return row(ns + offset_ns, kind, **columns)

    def packet(ns: int, kind: str, number: int, **columns: Any) -> dict[str, Any]:
        return event(ns, kind, space="1rtt", packet_number=number, size_bytes=SIZE, **columns)

    lost = [packet(200 * MS, "packet_lost", number, name="reordering_threshold") for number in (30, 31, 50)]
    return [
        event(60 * MS + 8 * US, "packet_received", space="initial", packet_number=0, size_bytes=1200),
        event(80 * MS, "packet_sent", space="initial", packet_number=0, size_bytes=150),
        event(80 * MS + 20 * US, "packet_sent", space="handshake", packet_number=0, size_bytes=900),
        event(81 * MS, "packet_sent", space="handshake", packet_number=1, size_bytes=400),
        *(packet(sent_ns(number), "packet_sent", number) for number in range(100)),
        *lost,
    ]


def client_events() -> list[dict[str, Any]]:
    def packet(number: int) -> dict[str, Any]:
        late = 90 * MS if number in LATE else 10 * MS
        when = sent_ns(number) + 5 * US + late + 3 * US
        columns: dict[str, Any] = {"space": "1rtt", "packet_number": number, "size_bytes": SIZE}
        return row(when, "packet_received", vantage="client", **columns)

    sent = row(50 * MS, "packet_sent", vantage="client", space="initial", packet_number=0, size_bytes=1200)
    first = (("initial", 0, 150, 90), ("handshake", 0, 900, 90), ("handshake", 1, 400, 91))
    handshake = [
        row(at * MS + 8 * US, "packet_received", vantage="client", space=space, packet_number=number, size_bytes=size)
        for space, number, size, at in first
    ]
    received = sorted((packet(each) for each in range(100) if each not in DROPPED), key=lambda each: each["time_ns"])
    return [sent, *handshake, *received]


class Decoder:
    """Gives out made-up rows for each vantage, as the decoder would."""

    def __init__(self, traces: Mapping[str, list[dict[str, Any]]], **account: Any) -> None:
        self._traces = traces
        self._account = {"reference_unix_ns": trials.T0, "read": 1, "warnings": []} | account

    def __call__(self, path: Path, vantage: str, out: Path) -> dict[str, Any]:
        if path.read_bytes() == b"garbage":
            raise InputError(f"{path} is not a trace")
        rows = self._traces[vantage]
        pq.write_table(table_of(*rows), out)
        connection = {
            "connection_id": "00112233445566778899",
            "client": None,
            "server": None,
            "first_ns": rows[0]["time_ns"],
            "last_ns": rows[-1]["time_ns"],
        }
        if paths := sorted({row["path"] for row in rows if row.get("path") is not None}):
            connection["paths"] = paths
        return {**self._account, "connections": [connection]}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for end in ("client", "server"):
        (tmp_path / "qlog" / end).mkdir(parents=True)
        (tmp_path / "qlog" / end / "a.sqlog").write_bytes(b"trace")
    return tmp_path


def normalise(folder: Path, decoder: Decoder) -> tuple[Events, dict[str, Any]]:
    out = folder / "events.parquet"
    metadata = normalise_traces(folder, trials.TRIAL, trials.RUN, timeline(), decoder, out)
    assert metadata is not None
    return Events.read(out), dict(metadata["sources"])


def note(sources: Mapping[str, Any], end: str = "server") -> dict[str, Any]:
    (connection,) = sources[f"qlog/{end}/a.sqlog"]["connections"]
    return dict(connection)


def test_packets_are_joined_with_the_link_and_the_peer_agrees(folder: Path) -> None:
    _, sources = normalise(folder, Decoder({"server": server_events(), "client": client_events()}))
    server = note(sources)
    assert (server["flow"], server["placed_by"]) == (FLOW, "connection id")
    assert server["sent"]["joined_share"] == 1.0
    assert server["sent"]["lag"] == {"packets": 100, "least_ns": 5 * US, "median_ns": 5 * US, "most_ns": 5 * US}
    assert server["peer"]["share"] == 1.0
    assert server["peer"]["compared"] >= 95
    assert server["skew"] == note(sources, "client")["skew"] == []
    assert note(sources, "client")["received"]["lag"]["median_ns"] == 3 * US


def test_a_loss_that_the_link_delivered_is_spurious(folder: Path) -> None:
    events, sources = normalise(folder, Decoder({"server": server_events(), "client": client_events()}))
    assert note(sources)["losses"] == {
        "declared": 3,
        "spurious": 1,
        "unresolved": 0,
        "lost_at_link": 3,
        "undeclared": 1,
    }
    (spurious,) = events.select("packet_spurious").to_pylist()
    assert (spurious["packet_number"], spurious["name"], spurious["source"]) == (50, "link", "link")
    assert spurious["time_ns"] == 200 * MS
    assert spurious["value"] == pytest.approx((sent_ns(50) + 5 * US + 90 * MS - 200 * MS) / 1e9)


def test_packets_of_a_second_path_are_kept_and_not_joined_with_the_first_ones_link(
    folder: Path, snapshot: SnapshotAssertion
) -> None:
    own = [{**each, "path": 0} for each in server_events()]
    other = [{**each, "path": 4, "size_bytes": 700} for each in own if each["kind"] == "packet_sent"]
    both = sorted([*own, *other], key=lambda each: each["time_ns"])
    events, sources = normalise(folder, Decoder({"server": both, "client": client_events()}))
    server = note(sources)
    assert (server["sent"]["joined_share"], server["losses"]["spurious"]) == (1.0, 1)
    (warning,) = sources["qlog/server/a.sqlog"]["warnings"]
    assert warning["problem"] == snapshot
    kept = events.select("packet_sent", "server").column("path").to_pylist()
    assert (kept.count(0), kept.count(4)) == (103, 103)


@pytest.mark.parametrize(
    ("why", "space", "thrown_away"),
    [
        ("rejected", None, 1),
        ("dos_prevention", None, 1),
        ("rejected", "1rtt", 0),
        ("duplicate", None, 0),
        (None, None, 0),
    ],
)
def test_a_packet_that_the_peer_has_no_room_for_is_lost(
    folder: Path, why: str | None, space: str | None, thrown_away: int
) -> None:
    thrown = 60
    lost = {"space": "1rtt", "packet_number": thrown, "size_bytes": SIZE, "name": "reordering_threshold"}
    server = [*server_events(), row(200 * MS, "packet_lost", **lost)]
    came_ns = sent_ns(thrown) + 10 * MS
    client = [each for each in client_events() if each["packet_number"] != thrown or each["kind"] == "packet_sent"]
    if why is not None:
        client.append(row(came_ns, "packet_discarded", vantage="client", name=why, space=space))
    client.sort(key=lambda each: each["time_ns"])
    events, sources = normalise(folder, Decoder({"server": server, "client": client}))
    counts = note(sources)["losses"]
    assert (counts["declared"], counts["unresolved"]) == (4, 0)
    assert (counts["spurious"], counts.get("discarded", 0), counts.get("refused", 0)) == (
        1,
        thrown_away,
        1 - thrown_away,
    )
    assert events.select("packet_spurious")["packet_number"].to_pylist() == [50]
    assert events.select("packet_refused")["packet_number"].to_pylist() == [thrown][thrown_away:]


def acknowledged(*numbers: int) -> list[dict[str, Any]]:
    return [row(300 * MS, "packet_acked", space="1rtt", packet_number=number) for number in numbers]


@pytest.mark.parametrize(
    ("in_peers_log", "acked", "kind", "name"),
    [
        ("all", (), "packet_spurious", "link"),
        ("not this", (), "packet_refused", "peer"),
        ("not this", (99,), "packet_refused", "peer"),
        ("not this", (60, 99), "packet_spurious", "link"),  # it was acknowledged, late
        ("none after it", (), "packet_spurious", "link"),  # it may have waited when the log ended
        ("no log", (), "packet_spurious", "link"),  # no record can tell
        ("no log", (49, 99), "packet_refused", "acknowledgements"),  # 99 left the link after 60, 49 did not
        ("no log", (49,), "packet_spurious", "link"),
        ("no log", (60, 99), "packet_spurious", "link"),
    ],
)
def test_a_packet_of_which_the_receiver_gave_no_sign_was_refused(
    folder: Path, in_peers_log: str, acked: tuple[int, ...], kind: str, name: str
) -> None:
    came_ns = sent_ns(60) + 5 * US + 10 * MS
    lost = {"space": "1rtt", "packet_number": 60, "size_bytes": SIZE, "name": "reordering_threshold"}
    server = [*server_events(), row(200 * MS, "packet_lost", **lost), *acknowledged(*acked)]
    traced = {"server": server, "client": client_events()}
    if in_peers_log == "no log":
        (folder / "qlog" / "client" / "a.sqlog").unlink()
    elif in_peers_log != "all":
        ends_ns = came_ns if in_peers_log == "none after it" else 10**12
        traced["client"] = [
            each for each in traced["client"] if each["packet_number"] != 60 and each["time_ns"] <= ends_ns
        ]
    events, sources = normalise(folder, Decoder(traced))
    late, found = events.select(["packet_spurious", "packet_refused"]).to_pylist()
    assert (late["kind"], late["packet_number"]) == ("packet_spurious", 50)  # nothing left the link after it
    assert (found["kind"], found["name"], found["packet_number"]) == (kind, name, 60)
    assert found["value"] == pytest.approx((came_ns - 200 * MS) / 1e9)
    counts = note(sources)["losses"]
    assert (counts["spurious"], counts.get("refused", 0)) == ((2, 0) if kind == "packet_spurious" else (1, 1))


def test_a_log_that_is_split_in_two_is_read_as_one(folder: Path) -> None:
    """The first part of the client's log has the handshake alone, as quinn's has."""
    (folder / "qlog" / "client" / "b.sqlog").write_bytes(b"trace")
    client = client_events()
    parts = {"a.sqlog": client[:4], "b.sqlog": client[4:]}

    class Split(Decoder):
        def __call__(self, path: Path, vantage: str, out: Path) -> dict[str, Any]:
            own = {**self._traces, "client": parts[path.name]} if vantage == "client" else self._traces
            return Decoder.__call__(Decoder(own, **self._account), path, vantage, out)

    _, sources = normalise(folder, Split({"server": server_events()}))
    assert note(sources)["losses"]["spurious"] == 1
    assert "refused" not in note(sources)["losses"]
    assert note(sources)["peer"]["share"] == 1.0
    assert note(sources)["peer"]["compared"] >= 95


def test_rows_stand_in_order_of_time_with_their_flow(folder: Path) -> None:
    events, _ = normalise(folder, Decoder({"server": server_events(), "client": client_events()}))
    times = events.table["time_ns"].to_pylist()
    assert times == sorted(times)
    assert set(events.table["flow"].to_pylist()) == {FLOW}
    assert events.select("state", "server").num_rows >= 2
    assert events.select("packet_sent", "server").num_rows == 103
    assert not list(folder.glob(".events*"))


def test_a_clock_that_is_ahead_is_reported_and_not_corrected(folder: Path) -> None:
    ahead = 2 * MS
    events, sources = normalise(folder, Decoder({"server": server_events(ahead), "client": client_events()}))
    (problem,) = note(sources)["skew"]
    assert problem == f"a packet reached the link {ahead - 5 * US} ns before its sender's clock says it was sent"
    assert note(sources)["sent"]["joined_share"] == 1.0
    assert events.select("packet_sent", "server")["time_ns"].to_pylist()[0] == 80 * MS + ahead


def test_a_trace_without_the_time_of_day_is_put_where_the_link_has_its_first_packet(folder: Path) -> None:
    began = -server_events()[0]["time_ns"]
    (folder / "qlog" / "client" / "a.sqlog").unlink()
    decoder = Decoder({"server": server_events(began)}, reference_unix_ns=None)
    events, sources = normalise(folder, decoder)
    assert sources["qlog/server/a.sqlog"]["clock_from"] == "link"
    first = events.select("packet_received", "server")["time_ns"].to_pylist()[0]
    assert first == 60 * MS + 5 * US  # when the client's Initial left the link
    assert note(sources)["skew"] == []


def test_what_cannot_be_decoded_is_named_and_the_rest_goes_on(folder: Path, snapshot: SnapshotAssertion) -> None:
    (folder / "qlog" / "client" / "a.sqlog").write_bytes(b"garbage")
    events, sources = normalise(folder, Decoder({"server": server_events()}))
    reason = sources["qlog/client/a.sqlog"]["error"]
    assert reason == snapshot
    assert str(folder) not in reason
    assert note(sources)["peer"] is None
    assert events.select("packet_sent").num_rows == 103


def test_a_trial_without_traces_has_no_events(tmp_path: Path) -> None:
    out = tmp_path / "events.parquet"
    assert normalise_traces(tmp_path, trials.TRIAL, trials.RUN, timeline(), Decoder({}), out) is None
    assert not out.exists()


def test_a_flow_that_cannot_be_found_is_null(folder: Path, snapshot: SnapshotAssertion) -> None:
    two = pa.concat_tables([timeline().table, _moved(timeline().table, "udp 10.8.0.1:40001 10.8.0.2:443")])
    decoder = Decoder({"server": server_events(), "client": client_events()})
    out = folder / "events.parquet"
    metadata = normalise_traces(folder, trials.TRIAL, trials.RUN, Timeline(two), decoder, out)
    assert metadata is not None
    assert note(metadata["sources"])["placed_by"] == snapshot
    assert Events.read(out).table["flow"].null_count == Events.read(out).table.num_rows


def _moved(table: pa.Table, flow: str) -> pa.Table:
    index = table.column_names.index("flow")
    column = pa.array([flow] * table.num_rows).dictionary_encode().cast(table.schema.field("flow").type)
    return table.set_column(index, table.schema.field("flow"), column)


def test_a_trace_that_is_too_long_is_named_and_the_others_are_read(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(traces, "MOST_ROWS", 150)
    events, sources = normalise(folder, Decoder({"server": server_events(), "client": client_events()}))
    error = sources["qlog/server/a.sqlog"]["error"]
    assert error.startswith(
        "qlog/server/a.sqlog is too long: 107 rows, where the traces of a trial may have 150 in all"
    )
    assert events.select("packet_sent", "server").num_rows == 0
    assert events.select("packet_received", "client").num_rows == 100
    assert not list(folder.glob(".events*"))
