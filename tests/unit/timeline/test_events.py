"""The table of events: its documentation, selections, and files."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scripts import reference

from longlook.core.errors import InputError
from longlook.timeline.events import (
    EVENT_KINDS,
    EVENT_SCHEMA,
    METRIC_COLUMNS,
    SOURCES,
    EventKind,
    Events,
    metadata_of,
)
from longlook.timeline.states import BBR_STATES, STATES, State
from tests.data.events import events_of, row

DOCS = Path(__file__).parents[3] / "docs"


def test_the_page_of_kinds_has_every_kind_source_and_state() -> None:
    page = reference.row_kinds()
    assert page == (DOCS / "reference" / "row-kinds.md").read_text(), "run: make generate"
    assert set(EVENT_KINDS) == set(EventKind)
    assert set(STATES) == set(State)
    assert set(State) >= BBR_STATES
    lines = page.splitlines()
    for name, summary in EVENT_KINDS.items():
        assert any(line.startswith(f"- `{name}`: {summary.split('. ')[0]}") for line in lines)
    for name, summary in {**SOURCES, **STATES}.items():
        assert f"| `{name}` | {summary} |" in lines


def test_every_column_is_documented() -> None:
    text = (DOCS / "reference" / "timeline.md").read_text().partition("## Columns of events")[2]
    missing = [name for name in EVENT_SCHEMA.names if f"`{name}`" not in text]
    assert not missing
    assert set(METRIC_COLUMNS) <= set(EVENT_SCHEMA.names)


def test_rows_are_selected_by_kind_vantage_and_flow() -> None:
    events = events_of(
        row(0, "packet_sent", flow="udp a b", packet_number=1),
        row(1, "packet_sent", flow="udp a c", packet_number=2),
        row(2, "packet_lost", vantage="client", packet_number=3),
        row(3, "packet_sent", priming=True, flow="udp p b", packet_number=4),
    )
    assert events.select("packet_sent")["packet_number"].to_pylist() == [1, 2]
    assert events.select(["packet_sent", "packet_lost"], "client")["packet_number"].to_pylist() == [3]
    assert events.select(EventKind.PACKET_SENT, "server", "udp a c")["packet_number"].to_pylist() == [2]
    assert events.select("packet_sent", priming=None).num_rows == 3
    assert events.select("packet_sent", flow="unknown").num_rows == 0
    assert events.senders() == [("udp a b", "server"), ("udp a c", "server")]


def test_files_keep_rows_and_metadata_and_are_read_by_column(tmp_path: Path) -> None:
    events = events_of(row(5, "metrics", cwnd_bytes=12_000), row(6, "metrics", cwnd_bytes=13_000))
    events.with_metadata({"started_unix_ns": 7}).write(tmp_path / "events.parquet")
    again = Events.read(tmp_path / "events.parquet")
    assert again.table.equals(events.table)
    assert again.metadata == {"started_unix_ns": 7}
    assert Events.read(tmp_path / "events.parquet", ["time_ns"]).table["time_ns"].to_pylist() == [5, 6]


def test_a_file_of_something_else_is_refused(tmp_path: Path) -> None:
    pq.write_table(pa.table({"x": [1]}), tmp_path / "events.parquet")
    with pytest.raises(InputError, match="not the events of this version"):
        Events.read(tmp_path / "events.parquet")


def test_events_of_before_there_were_paths_are_read(tmp_path: Path) -> None:
    path = tmp_path / "events.parquet"
    whole = events_of(row(1, "packet_sent", packet_number=5), row(2, "metrics", cwnd_bytes=9)).with_metadata({"a": 1})
    Events(whole.table.drop_columns(["path"])).write(path)
    read = Events.read(path)
    assert read.table.equals(whole.table)
    assert (read.metadata, metadata_of(path)) == ({"a": 1}, {"a": 1})
    assert Events.read(path, ["path", "time_ns"]).table.to_pylist() == [
        {"path": None, "time_ns": 1},
        {"path": None, "time_ns": 2},
    ]
