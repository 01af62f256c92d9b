"""What people name as traces, read from real files."""

import json
from pathlib import Path

import pyarrow as pa
import pytest

from longlook.core.errors import InputError
from longlook.instruments.infer import sources
from longlook.instruments.infer.sources import read_one, read_sets
from longlook.timeline.events import EVENT_SCHEMA, EventKind, Events
from tests.data.decoded import event, sequence

CSV = "trace,time_ns,event\nx,0,init\nx,10,slow_start\nx,50,\ny,0,init\n"


def rows(table: pa.Table) -> list[tuple[str, int, str | None]]:
    columns = (table[name].to_pylist() for name in ("trace", "time_ns", "name"))
    return list(zip(*columns, strict=True))


def events(path: Path, kind: EventKind) -> Path:
    """A server's states on one connection, a client's on the same, and a priming one; the last row is a packet's."""
    names = [("server", kind, 0, "init", False), ("client", kind, 1, "init", False), ("server", kind, 5, "init", True),
             ("server", kind, 7, "recovery", False), ("server", EventKind.PACKET_SENT, 90, None, False)]  # fmt: skip
    data = [
        {"time_ns": at, "vantage": vantage, "source": "derived", "kind": str(of), "priming": priming,
         "flow": "udp 10.8.0.1:40000 10.8.0.2:443", "name": name}
        for vantage, of, at, name, priming in names
    ]  # fmt: skip
    plain = pa.schema([(f.name, f.type.value_type if pa.types.is_dictionary(f.type) else f.type) for f in EVENT_SCHEMA])
    Events(pa.Table.from_pylist(data, schema=plain).cast(EVENT_SCHEMA)).write(path)
    return path


def test_csv_and_json_lines_say_the_same(tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text(CSV)
    lines = [dict(zip(("trace", "time_ns", "event"), row, strict=True)) for row in
             [("x", 0, "init"), ("x", 10, "slow_start"), ("x", 50, None), ("y", 0, "init")]]  # fmt: skip
    (tmp_path / "log.jsonl").write_text("\n".join(map(json.dumps, lines)))
    (one,) = read_sets([str(tmp_path / "log.csv")])
    (other,) = read_sets([str(tmp_path / "log.jsonl")])
    assert one.traces is not None
    assert other.traces is not None
    assert rows(one.traces) == rows(other.traces)
    assert rows(one.traces) == [("x", 0, "init"), ("x", 10, "slow_start"), ("x", 50, None), ("y", 0, "init")]
    assert one.warnings == ()


def test_what_is_wrong_with_lines_is_reported_and_nothing_is_lost(tmp_path: Path) -> None:
    log = tmp_path / "log.csv"
    log.write_text("trace,time_ns,event\nx,20,b\nx,10,a\nx,1,2,3\nx,20,c\n")
    (found,) = read_sets([str(log)])
    assert found.traces is not None
    assert rows(found.traces) == [("x", 10, "a"), ("x", 20, "b"), ("x", 20, "c")]
    assert [str(log) in warning for warning in found.warnings] == [True, True]
    assert "1 lines" in found.warnings[0]
    assert "backwards" in found.warnings[1]


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("trace,time_ns,event\n", "no events"),
        ("trace,time_ns\nx,1\n", "event"),
        ("trace,time_ns,event\nx,soon,a\n", "soon"),
        ("trace,time_ns,event\n,1,a\n", "row 1 has no trace"),
        ("", "log.csv"),
    ],
)
def test_what_is_not_a_log_is_reported(tmp_path: Path, text: str, word: str) -> None:
    log = tmp_path / "log.csv"
    log.write_text(text)
    with pytest.raises(InputError, match=word):
        read_sets([str(log)])


def test_a_log_that_is_no_text_is_reported_and_arrow_prints_nothing(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "log.csv"
    log.write_bytes(b"trace,time_ns,event\nx,1,a\nx,2\xff\n")
    with pytest.raises(InputError, match="not text in UTF-8 at byte 30"):
        read_sets([str(log)])
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("kind", [EventKind.STATE, EventKind.CONGESTION_STATE])
def test_a_connection_at_one_end_is_a_trace(tmp_path: Path, kind: EventKind) -> None:
    path = events(tmp_path / "events.parquet", kind)
    flow = "udp 10.8.0.1:40000 10.8.0.2:443"
    for name in (path, tmp_path):
        found = read_one(str(name))
        assert found.traces is not None
        assert rows(found.traces) == [
            (f"server {flow}", 0, "init"), (f"server {flow}", 7, "recovery"), (f"server {flow}", 90, None),
        ]  # fmt: skip
    client = read_one(str(path), "client")
    assert client.traces is not None
    assert rows(client.traces) == [(f"client {flow}", 1, "init"), (f"client {flow}", 1, None)]


def test_what_is_not_there_is_reported(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file or folder"):
        read_sets([str(tmp_path / "nothing")])
    with pytest.raises(InputError, match=r"events\.parquet"):
        read_sets([str(tmp_path)])


def test_a_trace_of_two_connections_and_one_that_is_too_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "two.qlog"
    grown = [{**event(at, "recovery:metrics_updated", congestion_window=12_000 + at), "group_id": f"{at % 2:08x}"}
             for at in range(20)]  # fmt: skip
    path.write_bytes(sequence(*grown))
    found = read_one(str(path)).traces
    assert found is not None
    assert {name for name, _, _ in rows(found)} == {"two.qlog 0", "two.qlog 1"}
    monkeypatch.setattr(sources, "MOST_ROWS", 19)
    with pytest.raises(InputError, match=r"two\.qlog is too long: 20 rows, where states are found in 19"):
        read_one(str(path))
