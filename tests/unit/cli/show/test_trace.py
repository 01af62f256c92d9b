"""`longlook trace show` and `convert` on traces that contradict themselves, or of which much is not read."""

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from longlook.cli.commands import app
from longlook.cli.show.trace import trace_summary
from longlook.timeline.decode import decode_trace
from tests.data.decoded import acked, document, event, packet, sequence


def said(*arguments: str) -> str:
    done = CliRunner().invoke(app, ["trace", *arguments])
    assert done.exit_code == 0, done.output
    return done.output


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    """Round trips of 41 ms in a file that declares another unit, and an event without a name."""
    events = [
        packet(0, "sent", 0),
        packet(41_000, "received", 0, acked([0]), {"frame_type": "ping"}),
        event(41_000, "recovery:metrics_updated", latest_rtt=41_000_000),
        {"time": 42_000, "data": {}},
        event(43_000, "transport:novel"),
    ]
    header = {"vantage_point": {"type": "server"}, "configuration": {"time_units": "us"}, "events": events}
    path = tmp_path / "trace.qlog"
    path.write_bytes(document(header, qlog_version="draft-02"))
    return path


CONTRADICTION = (
    "implausible: 1 of 1 round trips are over 100 times longer than the trace's own times, first 41000 ms against "
    "41 ms from its packet to the acknowledgement: their unit is not what it was read as (rtt_above_send_to_ack)"
)


def test_show_has_contradictions_and_everything_that_is_no_row(trace: Path) -> None:
    lines = said("show", str(trace)).splitlines()
    assert {CONTRADICTION, "ignored: 1 transport:novel", "frames that give no row: 1 ping", "skipped: 1 no name"} <= {
        *lines
    }


def test_convert_has_them_too(trace: Path, tmp_path: Path) -> None:
    for form in ("csv", "parquet", "qlog"):
        lines = said("convert", str(trace), "--to", form, "--out", str(tmp_path / form)).splitlines()
        assert CONTRADICTION in lines
        assert "skipped: 1 no name" in lines
    (written,) = json.loads(said("convert", str(trace), "--to", "csv", "--out", str(tmp_path / "again"), "--json"))
    assert written["problems"][0] == CONTRADICTION
    account = json.loads(pq.read_metadata(tmp_path / "parquet").metadata[b"longlook"])
    assert account["implausible"][0]["check"] == "rtt_above_send_to_ack"


def test_json_of_show_has_the_check(trace: Path) -> None:
    seen = json.loads(said("show", str(trace), "--json"))
    (found,) = seen["implausible"]
    assert (found["check"], found["connection"]) == ("rtt_above_send_to_ack", 0)
    assert seen["frames_ignored"] == {"ping": 1}


def test_text_has_the_connection_and_the_path_of_each_row(tmp_path: Path) -> None:
    events: list[dict[str, Any]] = [
        {**packet(0, "sent", 0), "group_id": "aa"},
        {**packet(1, "sent", 0), "group_id": "bb", "path_id": 3},
    ]
    path = tmp_path / "two.sqlog"
    path.write_bytes(sequence(*events))
    said("convert", str(path), "--to", "csv", "--out", str(tmp_path / "out.csv"))
    names, *rows = (line.replace(chr(34), "").split(",") for line in (tmp_path / "out.csv").read_text().splitlines())
    assert names[-2:] == ["path", "connection"]
    assert [row[-2:] for row in rows] == [["", "0"], ["3", "1"]]


def test_many_ignored_names_are_not_all_shown(tmp_path: Path) -> None:
    path = tmp_path / "many.sqlog"
    names = [f"other:event_{number:02}" for number in range(15) for _ in range(number + 1)]
    path.write_bytes(sequence(*(event(0, name) for name in names)))
    _, account = decode_trace(path, None)
    shown = [str(part) for part in trace_summary({"trace": "t", "rows": 0, "kinds": {}, **account})]
    (line,) = [part for part in shown if part.startswith("ignored: ")]
    assert line.count("other:event") == 12
    assert line.endswith(", 15 other:event_14, and 6 of 3 more names (--json)")
