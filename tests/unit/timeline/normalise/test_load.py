"""A load whose client prints no lines: the laboratory's lines give its window, and nothing that it did not see."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from longlook.core import LOAD_FILE
from longlook.metrics.loads import METRICS
from longlook.timeline.normalise.endpoint import Endpoints, read_endpoints
from longlook.timeline.timeline import Kind, Timeline, table_of_rows
from tests.data.trials import MS, T0

ENDS = {"protocol": "h3", "local": "198.18.0.1:7", "remote": "198.18.0.2:443"}
FLOW = {"event": "flow", **ENDS, "primes": False, "t_start_ns": T0}
FILE = {"event": "file", "path": "/a", "bytes": 50_000, "digest": "sha256:0", "problem": None}
LOAD = {"event": "load", "t_start_ns": T0, "t_end_ns": T0 + 100 * MS, "bytes": 50_000}


def read(folder: Path, printed: str, *lines: Mapping[str, Any]) -> Endpoints:
    (folder / "client.jsonl").write_text(printed)
    (folder / LOAD_FILE).write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    return read_endpoints(folder)


def test_its_window_is_the_load_and_all_else_is_unknown(tmp_path: Path) -> None:
    found = read(tmp_path, "a line for people\n", FLOW, FILE, LOAD)
    assert [each.flow for each in found.connections] == ["udp 198.18.0.1:7 198.18.0.2:443"]
    assert [row["kind"] for row in found.rows] == [Kind.LOAD_STARTED, Kind.LOAD_ENDED]
    assert found.accounts[LOAD_FILE].ignored == {"file": 1}
    timeline = Timeline(table_of_rows([row | {"time_ns": row["time_ns"] - T0} for row in found.rows])).with_metadata({})
    assert timeline.load_window_ns() == (0, 100 * MS)
    known = {metric.name: value for metric in METRICS if (value := metric.measure(timeline)) is not None}
    assert known == {"page_load_time": 0.1, "throughput": 4.0}


def test_a_connection_that_it_reports_counts_once(tmp_path: Path) -> None:
    own = {"event": "connection", **ENDS, "t_start_ns": T0, "t_handshake_ns": T0 + MS, "primes": True}
    found = read(tmp_path, f"{json.dumps(own)}\n", FLOW, LOAD)
    assert [each.priming for each in found.connections] == [True]


def test_other_clients_have_no_such_file(tmp_path: Path) -> None:
    assert LOAD_FILE not in read_endpoints(tmp_path).accounts
