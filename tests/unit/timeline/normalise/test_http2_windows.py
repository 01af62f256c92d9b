"""What an HTTP/2 client says of its windows, by its connection."""

import json
from pathlib import Path

from longlook.timeline.normalise.endpoint import read_endpoints

LINE = {"event": "connection", "protocol": "h2", "remote": "10.8.0.2:443", "t_start_ns": 1, "t_handshake_ns": 2}


def test_windows_are_kept_by_flow_and_one_that_is_no_number_is_counted(tmp_path: Path) -> None:
    lines = [
        LINE | {"local": "10.8.0.1:1", "http2_stream_window": 20_000, "http2_connection_window": 70_000},
        LINE | {"local": "10.8.0.1:2", "http2_stream_window": 30_000},
        LINE | {"local": "10.8.0.1:3"},
        LINE | {"local": "10.8.0.1:4", "http2_stream_window": "large"},
    ]
    (tmp_path / "client.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    found = read_endpoints(tmp_path)
    assert found.http2_windows == {
        "tcp 10.8.0.1:1 10.8.0.2:443": {"stream": 20_000, "connection": 70_000},
        "tcp 10.8.0.1:2 10.8.0.2:443": {"stream": 30_000, "connection": None},
    }
    assert found.accounts["client.jsonl"].skipped == {"connection: http2_stream_window is not a count": 1}
