import json
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from longlook.core.errors import InputError
from longlook.core.model import Run
from longlook.timeline.normalise import normalise_trial
from longlook.timeline.timeline import KINDS, SCHEMA, Kind, Timeline
from tests.data import trials
from tests.data.trials import MS, connection, failed, fetched, packet, page, records, server_connection

DOCS = Path(__file__).parents[4] / "docs"


def normalise(folder: Path, run: Run = trials.RUN) -> Timeline:
    return normalise_trial(folder, trials.TRIAL, run)


def rows(timeline: Timeline, kind: Kind, **keys: object) -> list[dict[str, object]]:
    return list(timeline.select(kind, **keys).to_pylist())  # type: ignore[arg-type]


@pytest.fixture
def trial(tmp_path: Path) -> Path:
    """A QUIC trial with a priming connection before the measured one."""
    trials.write_lines(
        tmp_path / "client.jsonl",
        [
            {"event": "ready", "role": "client"},
            connection(39000, 1, 20, primes=True),
            fetched("/prime", 1, 25, 26, size=1),
            connection(40000, 100, 120, resumed=True, used_0rtt=True),
            fetched("/index.html", 99, 125, 130, size=1000),
            fetched("/i/0.png", 130, 150, 300, size=50_000),
            {"event": "done", "ok": True},
        ],
    )
    trials.write_lines(
        tmp_path / "server.jsonl",
        [{"event": "ready"}, server_connection(39000, 19), server_connection(40000, 119, resumed=True)],
    )
    trials.write_link_log(
        tmp_path / "link.bin",
        records(
            [
                packet(2, 3, client_port=39000, direction=0),
                packet(101, 102, direction=0),
                packet(122, 125, queue_bytes=12_500, queue_packets=10),
                packet(123, None, verdict=3, stage=0, queue_bytes=44_000),
                packet(124, None, verdict=1),
                packet(125, None, verdict=7, ip_protocol=0, client_port=0, server_port=0),
            ]
        ),
    )
    return tmp_path


def test_packets_of_a_further_path_belong_to_its_connection(tmp_path: Path) -> None:
    began = connection(41000, 30, None)["t_start_ns"]
    further = {"event": "path", "connection": "10.8.0.1:40000", "local": "10.8.254.1:41000", "t_start_ns": began}
    first = {**further, "local": "10.8.0.1:40000"}
    done = [connection(40000, 1, 20), fetched("/index.html", 1, 25, 130, size=1000)]
    trials.write_lines(tmp_path / "client.jsonl", [*done, further, first])
    logged = records([packet(40, 45, client_port=40000), packet(50, 55, client_port=41000)])
    trials.write_link_log(tmp_path / "link.bin", logged)
    flows = [row["flow"] for row in rows(normalise(tmp_path), Kind.PACKET_DELIVERED)]
    assert len(flows) == 2
    assert len(set(flows)) == 1
    assert None not in flows


def test_the_table_has_the_schema_and_is_in_order_of_time(trial: Path) -> None:
    table = normalise(trial).table
    assert table.schema.equals(SCHEMA)
    times = table["time_ns"].to_pylist()
    assert times == sorted(times)
    table.validate(full=True)


def test_client_lines_become_rows_on_the_trials_clock(trial: Path) -> None:
    timeline = normalise(trial)
    (started,) = rows(timeline, Kind.CONNECTION_STARTED)
    assert started["time_ns"] == 100 * MS
    assert started["flow"] == "udp 10.8.0.1:40000 10.8.0.2:443"
    first, second = rows(timeline, Kind.OBJECT_DONE)
    assert (first["name"], first["time_ns"], first["size_bytes"]) == ("/index.html", 130 * MS, 1000)
    assert (first["value"], first["protocol"], first["flow"]) == (200.0, "h3", started["flow"])
    assert second["name"] == "/i/0.png"
    assert [row["time_ns"] for row in rows(timeline, Kind.REQUEST_SENT)] == [99 * MS, 130 * MS]
    assert [row["time_ns"] for row in rows(timeline, Kind.FIRST_BYTE)] == [125 * MS, 150 * MS]


def test_handshakes_name_their_state_as_each_end_saw_it(trial: Path) -> None:
    timeline = normalise(trial)
    (client,) = rows(timeline, Kind.HANDSHAKE_DONE, vantage="client")
    (server,) = rows(timeline, Kind.HANDSHAKE_DONE, vantage="server")
    assert (client["name"], server["name"]) == ("0rtt", "resumed")
    assert client["flow"] == server["flow"]


def test_a_browser_that_cannot_tell_the_state_does_not_say_cold(tmp_path: Path) -> None:
    line = connection(40000, 1, 2, resumed=None, used_0rtt=None, local=None)
    trials.write_lines(tmp_path / "client.jsonl", [line])
    (row,) = rows(normalise(tmp_path), Kind.HANDSHAKE_DONE)
    assert (row["name"], row["flow"]) == (None, "udp * 10.8.0.2:443")


def test_priming_rows_are_kept_apart(trial: Path) -> None:
    timeline = normalise(trial)
    primed = timeline.select(list(Kind), priming=True).to_pylist()
    assert {(row["vantage"], row["kind"]) for row in primed} == {
        ("client", "connection_started"),
        ("client", "handshake_done"),
        ("client", "request_sent"),
        ("client", "first_byte"),
        ("client", "object_done"),
        ("server", "handshake_done"),
        ("link", "packet_delivered"),
    }
    assert {row["flow"] for row in primed} == {"udp 10.8.0.1:39000 10.8.0.2:443"}
    everything = timeline.select(list(Kind), priming=None).num_rows
    assert everything == timeline.table.num_rows == len(primed) + timeline.select(list(Kind)).num_rows


def test_objects_of_several_connections_carry_the_flow_they_name(tmp_path: Path) -> None:
    trials.write_lines(
        tmp_path / "client.jsonl",
        [
            fetched("/a", 1, 25, 26, local="10.8.0.1:40001"),
            connection(40000, 1, 20),
            connection(40001, 1, 20),
            fetched("/a", 1, 25, 27, local="10.8.0.1:40000"),
            fetched("/b", 1, 25, 28),
            fetched("/c", 1, 25, 29, local="10.8.0.1:40002"),
        ],
    )
    timeline = normalise(tmp_path)
    flows = [row["flow"] for row in rows(timeline, Kind.OBJECT_DONE)]
    assert flows == ["udp 10.8.0.1:40001 10.8.0.2:443", "udp 10.8.0.1:40000 10.8.0.2:443", None, None]


def test_one_socket_for_priming_and_measured_connection(tmp_path: Path) -> None:
    trials.write_lines(
        tmp_path / "client.jsonl",
        [connection(40000, 1, 20, primes=True), connection(40000, 100, 120, resumed=True)],
    )
    trials.write_lines(tmp_path / "server.jsonl", [server_connection(40000, 19), server_connection(40000, 119)])
    trials.write_link_log(tmp_path / "link.bin", records([packet(0.5, 1), packet(2, 3), packet(101, 102)]))
    timeline = normalise(tmp_path)
    assert [row["time_ns"] for row in rows(timeline, Kind.PACKET_DELIVERED)] == [102 * MS]
    assert [row["time_ns"] for row in rows(timeline, Kind.HANDSHAKE_DONE, vantage="server")] == [119 * MS]


def test_packets_keep_their_fate(trial: Path) -> None:
    timeline = normalise(trial)
    up, down = rows(timeline, Kind.PACKET_DELIVERED)
    assert (up["direction"], down["direction"]) == ("up", "down")
    assert (down["time_ns"], down["arrival_ns"], down["due_ns"]) == (125 * MS, 122 * MS, 125 * MS)
    assert (down["size_bytes"], down["payload_bytes"], down["queue_bytes"]) == (1250, 1222, 12_500)
    assert (down["protocol"], down["transport_sequence"], down["name"]) == ("udp", None, None)
    assert down["value"] == pytest.approx(0.010)  # 12 500 bytes ahead of it at 10 Mbit/s
    assert down["flow"] == "udp 10.8.0.1:40000 10.8.0.2:443"
    dropped, strange = rows(timeline, Kind.PACKET_DROPPED)
    assert (dropped["time_ns"], dropped["name"], dropped["due_ns"]) == (123 * MS, "queue", None)
    assert (strange["name"], strange["protocol"], strange["flow"]) == ("verdict 7", "other", None)
    (queued,) = rows(timeline, Kind.PACKET_QUEUED)
    assert (queued["time_ns"], queued["due_ns"], queued["value"]) == (124 * MS, None, None)


def test_packets_of_unknown_connections_are_named_by_their_ports(tmp_path: Path) -> None:
    log = records([packet(1, 2, ip_protocol=6, transport_sequence=2**32 - 1)])
    trials.write_link_log(tmp_path / "link.bin", log)
    (row,) = rows(normalise(tmp_path), Kind.PACKET_DELIVERED)
    assert (row["flow"], row["transport_sequence"]) == ("tcp *:40000 *:443", 2**32 - 1)


def test_packets_of_version_2(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    initial = {"quic_form": 2, "connection_id": 0x0807060504030201, "connection_id_bytes": 18}
    short = {"quic_form": 1, "connection_id": 0xFF, "connection_id_bytes": 0}
    packets = [
        trials.packet_2(1, 2, ecn=2, edits=1, flow=0, **initial),
        trials.packet_2(1, 3, ecn=2, edits=2, copy=2, flow=0, **short),
        trials.packet_2(1, 4, ip_protocol=6, acknowledgement=2**32 - 1, flow=1, edits=48),
        trials.packet_2(1, 5, flow=2, quic_form=255, connection_id=2, connection_id_bytes=1, ip_version=6),
        trials.packet_2(1, None, verdict=3, ecn=1, edits=9, flow=0),
        trials.packet_2(2, None, verdict=3, flow=2**32 - 1, ip_version=0, ip_protocol=0, client_port=0, server_port=0),
    ]
    trials.write_link_log(tmp_path / "link.bin", records(packets, trials.RECORD_2))
    first, copy, tcp, ipv6 = rows(normalise(tmp_path), Kind.PACKET_DELIVERED)
    dropped, unread = rows(normalise(tmp_path), Kind.PACKET_DROPPED)
    assert (first["flow"], tcp["flow"]) == ("udp 10.8.0.1:40000 10.8.0.2:443", "tcp 10.8.0.1:40000 10.8.0.2:443")
    assert ipv6["flow"] == "udp [a08:1::]:40000 [a08:2::]:443"
    assert [row["ecn"] for row in (first, copy, dropped, unread)] == [3, 2, 1, None]
    assert (first["detail"], copy["detail"], tcp["detail"]) == (
        "congestion experienced marked",
        "a bit flipped; copy 2",
        "forgiven by surgery; held by surgery",
    )
    assert ipv6["detail"] is None
    assert dropped["detail"] == snapshot
    assert [row["quic"] for row in (first, copy, tcp, ipv6)] == ["initial", "short", None, None]
    assert [row["connection_id"] for row in (first, copy, tcp, ipv6)] == ["0102030405060708", None, None, "02"]
    assert [row["acknowledgement"] for row in (first, tcp)] == [None, 2**32 - 1]
    assert unread["flow"] is None


@pytest.mark.parametrize(
    ("stage", "expected"),
    [
        ({"kind": "codel", "parameters": {"rate_bps": 10_000_000}}, 0.01),
        ({"kind": "rate", "parameters": {"rate_bps": {"steps": [[0, 1_000_000]]}}}, 0.01),
        ({"kind": "loss"}, None),
    ],
)
def test_the_wait_is_known_where_there_is_a_queue(
    tmp_path: Path, stage: dict[str, object], expected: float | None
) -> None:
    log = records([trials.packet_2(1, 2, queued_ns=10_000_000)], trials.RECORD_2)
    police = {"kind": "police", "parameters": {"protocol": "udp", "rate_bps": 5, "burst_bytes": 1500}}
    trials.write_link_log(tmp_path / "link.bin", log, {"up": [], "down": [stage, police]})
    (row,) = rows(normalise(tmp_path), Kind.PACKET_DELIVERED)
    assert row["value"] == expected


def test_cpu_seconds_come_from_the_run(trial: Path) -> None:
    used = {row["vantage"]: row["value"] for row in rows(normalise(trial), Kind.CPU_USED)}
    assert used == {"client": 0.5, "server": 0.75, "link": 0.25}
    assert rows(normalise(trial, trials.run(cpu_s={})), Kind.CPU_USED) == []


def test_what_kernels_counted_comes_from_the_run(trial: Path) -> None:
    run = trials.run(kernel_counts={"client": {"packets": 7, "calls": 32}, "server": {"packets": 4}})
    found = normalise(trial, run)
    assert {row["vantage"]: row["value"] for row in rows(found, Kind.PACKETS_TAKEN)} == {"client": 7, "server": 4}
    assert {row["vantage"]: row["value"] for row in rows(found, Kind.SYSTEM_CALLS)} == {"client": 32}
    assert rows(normalise(trial), Kind.PACKETS_TAKEN) == []


def test_pages_and_failed_objects(tmp_path: Path) -> None:
    lines = [page(10, 40, 90), failed("/a.png", 50, "reset"), failed("/b.png", None, "never begun")]
    trials.write_lines(tmp_path / "client.jsonl", lines)
    timeline = normalise(tmp_path)
    (loaded,) = rows(timeline, Kind.PAGE_LOADED)
    assert (loaded["time_ns"], loaded["name"]) == (90 * MS, "/index.html")
    first, second = rows(timeline, Kind.OBJECT_FAILED)
    assert (first["time_ns"], first["detail"]) == (50 * MS, "reset")
    assert (second["time_ns"], second["detail"]) == (90 * MS, "never begun")
    assert timeline.load_window_ns() == (10 * MS, 90 * MS)


def test_paints_are_those_that_the_browser_reports(tmp_path: Path) -> None:
    shown = {**page(10, 40, 90), "t_first_contentful_paint_ns": trials.ms(60), "t_largest_contentful_paint_ns": None}
    trials.write_lines(tmp_path / "client.jsonl", [shown])
    (painted,) = rows(normalise(tmp_path), Kind.FIRST_CONTENTFUL_PAINT)
    assert (painted["time_ns"], painted["name"]) == (60 * MS, "/index.html")
    assert rows(normalise(tmp_path), Kind.LARGEST_CONTENTFUL_PAINT) == []


def test_an_empty_folder_gives_an_empty_timeline_with_the_reason(tmp_path: Path) -> None:
    timeline = normalise(tmp_path, trials.run(cpu_s={}))
    assert timeline.table.num_rows == 0
    assert timeline.load_window_ns() is None
    assert [entry["present"] for entry in timeline.metadata["sources"].values()] == [False, False, False]


def test_garbled_lines_are_counted_with_the_reason(tmp_path: Path) -> None:
    good = json.dumps(connection(40000, 1, 2))
    bad = [
        "not json",
        '{"event": 3}',
        "[1]",
        '{"event": "object", "path": "/x", "t_start_ns": 5}',
        '{"event": "connection", "t_start_ns": "soon"}',
        '{"event": "connection", "t_start_ns": 1e300}',
        '{"event": "connection", "t_start_ns": 99999999999999999999999999}',
        '{"event": "page"}',
        '{"event": "object", "path": "/x", "t_start_ns": 5, "t_end_ns": 6, "bytes": -1}',
        '{"event": "novelty"}',
        "[" * 100_000,
        "",
        '{"event": "connection", "t_start_',
    ]
    content = "\n".join([good, *bad]).encode() + b"\xff\xfe"
    (tmp_path / "client.jsonl").write_bytes(content)
    account = normalise(tmp_path).metadata["sources"]["client.jsonl"]
    assert account["read"] == 1
    assert account["ignored"] == {"novelty": 1}
    assert account["skipped"] == {
        "not a JSON object with an event": 5,
        "object: neither t_end_ns nor an error": 1,
        "object: bytes is not a count": 1,
        "connection: t_start_ns is not a time in ns": 3,
        "page: no t_start_ns": 1,
    }


def test_lines_end_where_they_end_for_the_laboratory(tmp_path: Path) -> None:
    """A carriage return inside a line is a space of JSON, and no end of it."""
    line = json.dumps(connection(40000, 1, 2))
    content = line.replace(", ", ",\r ") + "\r\n" + line + "\r\n"
    (tmp_path / "client.jsonl").write_bytes(content.encode())
    account = normalise(tmp_path).metadata["sources"]["client.jsonl"]
    assert (account["read"], account["skipped"]) == (2, {})


@pytest.mark.parametrize("seconds", [10**400, 1e300, -1, float("nan"), "1", None, True])
def test_seconds_that_are_none_are_counted_not_raised(tmp_path: Path, seconds: object) -> None:
    line = {"event": "play", "state": "started", "t_ns": trials.ms(1), "position_s": seconds}
    trials.write_lines(tmp_path / "client.jsonl", [line])
    account = normalise(tmp_path).metadata["sources"]["client.jsonl"]
    assert account["skipped"] == {"play: position_s is no number of seconds": 1}


def test_a_link_log_that_is_none_is_counted_not_raised(tmp_path: Path) -> None:
    (tmp_path / "link.bin").write_bytes(b"nonsense")
    account = normalise(tmp_path).metadata["sources"]["link.bin"]
    assert account["present"] is True
    assert account["read"] == 0
    assert len(account["skipped"]) == 1


def test_a_record_cut_off_at_the_end_leaves_the_others(trial: Path) -> None:
    content = (trial / "link.bin").read_bytes()
    (trial / "link.bin").write_bytes(content[:-10])
    account = normalise(trial).metadata["sources"]["link.bin"]
    assert account["read"] == 5
    assert sum(account["skipped"].values()) == 1


def test_a_damaged_link_log_never_stops_the_stage(trial: Path) -> None:
    content = (trial / "link.bin").read_bytes()
    random = np.random.default_rng(5)
    for _ in range(300):
        damaged = bytearray(content)
        for place in random.integers(0, len(damaged), 3):
            damaged[place] = random.integers(0, 256)
        (trial / "link.bin").write_bytes(damaged[: random.integers(0, len(damaged) + 1)])
        assert normalise(trial).metadata["sources"]["link.bin"]["present"]


def test_impossible_records_are_left_out_and_counted(tmp_path: Path) -> None:
    log = records([packet(1, 2), packet(2, 3, direction=2), packet(3, 4, arrival_ns=2**64 - 1)])
    trials.write_link_log(tmp_path / "link.bin", log)
    account = normalise(tmp_path).metadata["sources"]["link.bin"]
    assert (account["read"], account["skipped"]) == (1, {"record with an impossible direction or time": 2})


def test_an_empty_link_log(tmp_path: Path) -> None:
    trials.write_link_log(tmp_path / "link.bin", records([]))
    assert normalise(tmp_path).metadata["sources"]["link.bin"]["read"] == 0


def test_a_timeline_survives_its_file(trial: Path) -> None:
    timeline = normalise(trial)
    timeline.write(trial / "timeline.parquet")
    again = Timeline.read(trial / "timeline.parquet")
    assert again.table.equals(timeline.table)
    assert again.metadata == timeline.metadata
    assert again.metadata["started_unix_ns"] == trials.T0


def test_a_file_that_is_no_timeline_is_refused(tmp_path: Path) -> None:
    (tmp_path / "timeline.parquet").write_bytes(b"PAR1")
    with pytest.raises(InputError, match="not a timeline"):
        Timeline.read(tmp_path / "timeline.parquet")


def test_normalising_twice_gives_the_same_bytes(trial: Path) -> None:
    for name in ("one", "two"):
        normalise(trial).write(trial / name)
    assert (trial / "one").read_bytes() == (trial / "two").read_bytes()


def calls_for(folder: Path, packets: int) -> int:
    """Return how many functions are called while a trial of so many packets is normalised."""
    folder.mkdir()
    log = np.zeros(packets, trials.RECORD)
    random = np.random.default_rng(1)
    log["arrival_ns"] = trials.MONOTONIC_T0 + np.sort(random.integers(0, 10**10, len(log)))
    log["departure_ns"] = log["due_ns"] = log["arrival_ns"] + random.integers(0, 10**8, len(log)).astype(np.uint64)
    log["client_port"] = random.integers(40000, 40010, len(log))
    log["ip_protocol"] = 6
    trials.write_link_log(folder / "link.bin", log)
    trials.write_lines(folder / "client.jsonl", [connection(port, 1, 2, protocol="h2") for port in range(40000, 40005)])
    calls = Counter[str]()
    sys.setprofile(lambda _frame, event, _argument: calls.update([event]))
    try:
        timeline = normalise(folder)
    finally:
        sys.setprofile(None)
    assert timeline.select(Kind.PACKET_DELIVERED).num_rows == packets
    return calls["call"] + calls["c_call"]


def test_nothing_is_done_for_each_packet(tmp_path: Path) -> None:
    calls_for(tmp_path / "first", 1_000)  # modules are imported, and caches filled
    assert calls_for(tmp_path / "many", 100_000) < 2 * calls_for(tmp_path / "few", 1_000)


def test_the_document_lists_every_kind_as_the_module_does() -> None:
    assert set(KINDS) == set(Kind)
    document = (DOCS / "reference" / "row-kinds.md").read_text()
    assert [kind for kind, summary in KINDS.items() if f"| `{kind}` | {summary} |" not in document] == []


def test_the_document_lists_every_column() -> None:
    document = (DOCS / "reference" / "timeline.md").read_text()
    assert [field.name for field in SCHEMA if f"| `{field.name}` |" not in document] == []
