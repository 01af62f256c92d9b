"""Live sources on the loopback, with the real program as server and as client: what both ends say of each frame."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from longlook.core.live import LiveSource, digest_of
from tests.adapters.harness import (
    job_text,
    json_lines,
    of_event,
    program_of,
    server_command,
    serving,
    stack_named,
    start,
)

NAME = "quic-go"
SOURCE = LiveSource(20, 20_000_000, 3_000, 20_000, 10, 0, 1_000_000_000)
CARRIED = [
    *(("quic-live", carrier) for carrier in ("stream_per_frame", "one_stream", "datagrams")),
    *(("tls-live", "one_stream"), ("udp-live", "datagrams")),
]


def viewed(folder: Path, protocol: str, port: int, **keys: object) -> tuple[int, list[dict[str, Any]]]:
    command = stack_named(NAME).client_command
    assert command is not None
    job = folder / "job.json"
    job.write_text(json.dumps({**json.loads(job_text(protocol, port, ())), "live": vars(SOURCE), **keys}))
    process: subprocess.Popen[str] = start(command(program_of(NAME), str(job)))
    out, errors = process.communicate(timeout=20)
    assert not errors, errors
    return process.returncode, json_lines(out)


@pytest.mark.parametrize(("protocol", "carrier"), CARRIED)
def test_both_ends_account_for_every_frame(protocol: str, carrier: str, tmp_path: Path) -> None:
    knobs = {"carrier": carrier} if protocol == "quic-live" else {}
    with serving(server_command(NAME, protocol, str(tmp_path))) as server:
        code, lines = viewed(tmp_path, protocol, server.port, knobs=knobs)
        assert code == 0
        assert server.stop() == 0
    (live,), (source,), frames = of_event(lines, "live"), of_event(server.lines, "source"), of_event(lines, "frames")
    assert (live["frames"], live["completed"], live["bytes"]) == (20, 20, SOURCE.total_bytes)
    assert live["digest"] == digest_of(SOURCE, range(20))
    assert live["t_source_ns"] == source["t_start_ns"] == frames[0]["t_first_ns"]
    assert (source["carrier"], source["sent"], source["bytes"]) == (carrier, 20, SOURCE.total_bytes)
    latencies = [latency for line in frames for latency in line["latency_ns"]]
    assert len(latencies) == 20
    assert all(0 <= latency < 10**9 for latency in latencies)
    for connections in (of_event(lines, "connection"), of_event(server.lines, "connection")):
        assert [(line["protocol"], line["resumed"]) for line in connections] == [(protocol, False)]


def test_a_source_that_nobody_serves_is_a_failure_with_the_reason(tmp_path: Path) -> None:
    with serving(server_command(NAME, "tls-live", str(tmp_path))) as server:
        code, lines = viewed(tmp_path, "udp-live", server.port, timeout_s=1)
    (live,) = of_event(lines, "live")
    assert (code, live["error"], live["completed"]) == (1, "not done within 1 s", 0)
    assert not of_event(lines, "frames")
