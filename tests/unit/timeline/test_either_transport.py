"""Objects of a client that chooses find their connection, also where both sockets have one port."""

import json
from pathlib import Path
from typing import Any

from longlook.timeline.normalise.endpoint import Endpoints, read_endpoints

QUIC, TCP = "udp 10.8.0.1:40000 10.8.0.2:443", "tcp 10.8.0.1:40000 10.8.0.2:443"
AT_NS = 1_700_000_000_000_000_000


def connection(protocol: str, begun_s: float, **keys: Any) -> dict[str, Any]:
    times = {"t_start_ns": AT_NS + round(begun_s * 1e9), "t_handshake_ns": AT_NS + round((begun_s + 0.1) * 1e9)}
    ends = {"local": "10.8.0.1:40000", "remote": "10.8.0.2:443"}
    return {"event": "connection", "protocol": protocol, "primes": False, **ends, **times, **keys}


def fetched(path: str, protocol: str) -> dict[str, Any]:
    times = {"t_start_ns": AT_NS, "t_first_byte_ns": AT_NS + 10**9, "t_end_ns": AT_NS + 2 * 10**9}
    done = {"status": 200, "bytes": 1, "error": None}
    return {"event": "object", "path": path, "protocol": protocol, "local": "10.8.0.1:40000", **done, **times}


def read(folder: Path, client: list[dict[str, Any]], server: list[dict[str, Any]]) -> Endpoints:
    for name, lines in (("client", client), ("server", server)):
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return read_endpoints(folder)


def test_the_protocol_tells_two_sockets_with_one_port_apart(tmp_path: Path) -> None:
    accepted = {"local": "10.8.0.2:443", "remote": "10.8.0.1:40000"}
    found = read(
        tmp_path,
        [connection("h3", 0.0), connection("h2", 0.25), fetched("/a", "h3"), fetched("/b", "h2")],
        [connection("h3", 0.0, **accepted), connection("h2", 0.25, **accepted)],
    )
    flows = {row["name"]: row["flow"] for row in found.rows if row["kind"] == "object_done"}
    assert flows == {"/a": QUIC, "/b": TCP}
    secure = [row["flow"] for row in found.rows if row["kind"] == "handshake_done" and row["vantage"] == "server"]
    assert secure == [QUIC, TCP]
