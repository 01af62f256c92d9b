"""Events as qlog: what the draft names, and that the very rows come back."""

import csv
import json
import struct
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from longlook.core.errors import InputError
from longlook.timeline import export
from longlook.timeline.decode import decode_trace
from longlook.timeline.events import EVENT_SCHEMA, EventKind
from longlook.timeline.export import convert, qlog
from longlook.timeline.export.qlog import COLUMNS, event, milliseconds

BLANK: dict[str, Any] = dict.fromkeys(COLUMNS)


def made(kind: str, **columns: object) -> tuple[str, dict[str, Any]]:
    name, data = event({**BLANK, "kind": kind, **columns})
    return name, json.loads(data)


@pytest.mark.parametrize(
    ("time_ns", "text"),
    [(0, "0"), (1_500_000, "1.5"), (-1, "-0.000001"), (1_795_228_495_184_082_801, "1795228495184.082801")],
)
def test_times_keep_every_digit(time_ns: int, text: str) -> None:
    assert milliseconds(time_ns) == text


def test_packets_are_the_drafts() -> None:
    assert made("packet_sent", space="1rtt", packet_number=7, size_bytes=1200) == (
        "quic:packet_sent",
        {"header": {"packet_type": "1RTT", "packet_number": 7}, "raw": {"length": 1200}},
    )
    name, data = made("packet_lost", space="0rtt", packet_number=7, name="pto")
    assert (name, data["trigger"], data["header"]["packet_type"]) == ("quic:packet_lost", "pto_expired", "0RTT")
    assert made("packet_acked", space="handshake", packet_number=3, acked_bytes=9) == (
        "quic:packets_acked",
        {"packet_number_space": "handshake", "packet_numbers": [3], "longlook_acked_bytes": 9},
    )


def test_the_kernels_numbers_have_the_drafts_names_and_units() -> None:
    name, data = made("metrics", cwnd_bytes=14480, srtt_ns=36_500_001, pacing_bps=10**6, acked_bytes=5)
    assert name == "quic:recovery_metrics_updated"
    assert data == {
        "congestion_window": 14480,
        "smoothed_rtt": 36.500001,
        "pacing_rate": 10**6,
        "longlook_acked_bytes": 5,
    }
    assert made("congestion_state", name="recovery", detail="Recovery") == (
        "quic:congestion_state_updated",
        {"new": "recovery", "longlook_detail": "Recovery"},
    )


def test_what_the_draft_has_no_word_for_stays_ours() -> None:
    assert made("packet_acked", packet_number=1 << 31, size_bytes=2896)[0] == "longlook:packet_acked"  # TCP's
    assert made("packet_lost", value=3.0) == ("longlook:packet_lost", {"value": 3.0})
    assert made("state", name="slow_start", detail="window") == (
        "longlook:state",
        {"name": "slow_start", "detail": "window"},
    )


WORDS = st.one_of(st.none(), st.sampled_from(["local", "recovery", "set", "stream", "mtu", 'a "b"\\ü\n', "rto", "ack"]))
COUNTS = st.one_of(st.none(), st.integers(0, 2**62))
ROWS = st.fixed_dictionaries(
    {
        "time_ns": st.integers(-(2**40), 2**60),
        "source": st.sampled_from(["qlog", "qlog", "derived", "link", "tcp"]),
        "kind": st.sampled_from([str(kind) for kind in EventKind]),
        "space": st.sampled_from([None, "initial", "handshake", "0rtt", "1rtt", "retry", "version_negotiation"]),
        "name": WORDS,
        "detail": st.one_of(WORDS, st.sampled_from(['{"a":1.50,"b":[{}]}', "{}", '{"initiator":1}'])),
        "value": st.one_of(st.none(), st.floats(-1e6, 1e6), st.integers(0, 1500).map(float)),
        **dict.fromkeys([name for name in COLUMNS if name not in ("space", "name", "detail", "value")], COUNTS),
    }
)


def table_of(rows: list[dict[str, Any]]) -> pa.Table:
    flow = "udp 10.8.0.1:40000 10.8.0.2:443"
    shared = {"vantage": "server", "priming": False, "flow": flow}
    columns = {name: [{**shared, **row}.get(name) for row in rows] for name in EVENT_SCHEMA.names}
    return pa.table(
        {
            field.name: pa.array(
                columns[field.name], pa.string() if pa.types.is_dictionary(field.type) else field.type
            ).cast(field.type)
            for field in EVENT_SCHEMA
        }
    )


@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=st.lists(ROWS, min_size=1, max_size=60))
def test_reading_a_file_back_gives_the_very_rows(rows: list[dict[str, Any]], tmp_path: Path) -> None:
    table = table_of(sorted(rows, key=lambda row: row["time_ns"]))
    batches = [table.slice(0, 20), table.slice(20)] if len(rows) > 20 else [table]
    (trace,) = qlog.traces(batches, lambda _end, _flow: {"reference_unix_ns": 1_700_000_000_123_456_789})
    path = tmp_path / "out.sqlog"
    qlog.write(batches, {trace: path})
    assert trace.count == len(rows)
    read, account = decode_trace(path, None)
    assert (account["read"], account["skipped"], account["ignored"]) == (len(rows), {}, {})
    assert (account["reference_unix_ns"], account["vantage"]) == (1_700_000_000_123_456_789, "server")
    assert read.select(EVENT_SCHEMA.names).to_pylist() == table.to_pylist()


def test_a_block_of_secrets_stands_behind_the_sections_header() -> None:
    block = export._secrets_block(b"CLIENT_RANDOM 00 11\n")
    kind, total, secrets, length = struct.unpack_from("<IIII", block)
    assert (kind, secrets, length, total) == (10, 0x544C534B, 20, len(block))
    assert block[16:36] == b"CLIENT_RANDOM 00 11\n" and struct.unpack("<I", block[-4:]) == (total,)


@pytest.mark.parametrize(
    ("to", "message"),
    [("qlog", "has no events.parquet"), ("csv", "has no events.parquet"), ("pcapng", "no packet log")],
)
def test_a_folder_without_what_is_asked_for_is_reported(tmp_path: Path, to: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        convert(tmp_path, to, tmp_path / "out")


def test_a_missing_trace_and_a_missing_place_are_reported(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        convert(tmp_path / "absent.qlog", "qlog", tmp_path / "out")
    with pytest.raises(InputError, match="no such folder"):
        convert(tmp_path, "qlog", tmp_path / "absent" / "out")


def test_no_text_of_a_trace_is_a_formula_or_a_control_character_in_csv(tmp_path: Path) -> None:
    trace, out = tmp_path / "trace.sqlog", tmp_path / "out.csv"
    head = {"qlog_version": "0.3", "qlog_format": "JSON-SEQ", "trace": {"vantage_point": {"type": "server"}}}
    sent = {"header": {"packet_type": "1RTT", "packet_number": 1}, "raw": {"length": 1}}
    events = (
        {"time": 1, "name": "transport:packet_sent", "data": sent},
        {"time": 2, "name": "connectivity:connection_closed", "data": {"owner": "=cmd|A1", "reason": "@x\x1b[2J"}},
        {"time": 3, "name": "recovery:congestion_state_updated", "data": {"new": '=HYPERLINK("a")'}},
        {"time": 4, "name": "transport:alpn_information", "data": {"chosen_alpn": "+1+1"}},
    )
    trace.write_text("".join(f"\x1e{json.dumps(record)}\n" for record in (head, *events)))
    (written,) = convert(trace, "csv", out)
    assert written.count == 4
    with out.open(newline="") as file:
        rows = list(csv.DictReader(file))
    cells = [cell for row in rows for cell in row.values()]
    assert not [cell for cell in cells if cell[:1] in tuple("=+-@\t\r")]
    assert "\x1b" not in out.read_text()
    assert {"'+1+1", '\'=HYPERLINK("a")'} <= set(cells)
    assert [row["time_ns"] for row in rows] == ["1000000", "2000000", "3000000", "4000000"]


@pytest.mark.parametrize("to", ["qlog", "parquet", "csv"])
def test_a_trace_without_rows_is_not_written(tmp_path: Path, to: str) -> None:
    trace, out = tmp_path / "trace.sqlog", tmp_path / "out"
    head = {"qlog_version": "0.3", "qlog_format": "JSON-SEQ", "trace": {"vantage_point": {"type": "client"}}}
    event = {"time": 1.0, "name": "http:frame_created", "data": {}}
    trace.write_text("".join(f"\x1e{json.dumps(record)}\n" for record in (head, event)))
    with pytest.raises(InputError, match="no event in it becomes a row"):
        convert(trace, to, out)
    assert not out.exists()
