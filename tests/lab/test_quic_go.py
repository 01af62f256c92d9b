"""The laboratory with a real stack: every connection state proven, times that the link's arithmetic allows."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from longlook import registry
from longlook.engines.live import LiveEngine
from longlook.job import Job
from longlook.linkprogram import link_program
from longlook.model import Capture, ConnectionState, Endpoint, Link, Outcome, Run, Stage, Trial, Workload
from longlook.stacks import Stack
from longlook.tls import identity

pytestmark = pytest.mark.lab

RATE_BPS, DELAY_NS = 10_000_000, 10_000_000
PAGE = {"objects": 5, "object_bytes": 50_000}


@pytest.fixture(scope="module")
def engine() -> Iterator[LiveEngine]:
    with LiveEngine() as engine:
        yield engine


def run(engine: LiveEngine, folder: Path, protocol: str, connection: ConnectionState, capture: Capture) -> Run:
    stack: Stack = registry.get("stacks", "quic-go")
    program = stack.install(stack.default_version)
    path = (
        Stage("rate", {"rate_bps": RATE_BPS, "queue_bytes": 100_000}),
        Stage("delay", {"delay_ns": DELAY_NS}),
    )
    trial = Trial(
        id="trial",
        study="lab",
        cell={},
        cell_id="cell",
        arm=protocol,
        round=0,
        seed=1,
        link=Link(path, path),
        workload=Workload("page", PAGE),
        protocol=protocol,
        connection=connection,
        congestion_control="cubic" if protocol == "h2" else None,
        server=Endpoint("quic-go", stack.default_version),
        client=Endpoint("quic-go", stack.default_version),
        timeout_s=20.0,
        capture=capture,
    )
    programs = {"server": program, "client": program, "link": link_program()}
    content = registry.get("workloads", "page").prepare(PAGE)
    return engine.run(Job(trial, 1, str(folder), programs, content, identity()))


@pytest.mark.parametrize(
    ("protocol", "connection"),
    [
        ("h3", ConnectionState.COLD),
        ("h3", ConnectionState.RESUMED),
        ("h3", ConnectionState.ZERO_RTT),
        ("h2", ConnectionState.COLD),
        ("h2", ConnectionState.RESUMED),
    ],
)
def test_page_over(engine: LiveEngine, tmp_path: Path, protocol: str, connection: ConnectionState) -> None:
    result = run(engine, tmp_path, protocol, connection, Capture())
    assert (result.outcome, result.reason) == (Outcome.OK, None)
    lines = [json.loads(line) for line in (tmp_path / "client.jsonl").read_text().splitlines()]
    objects = [line for line in lines if line["event"] == "object" and line["path"] != "/prime"]
    load_s = (max(line["t_end_ns"] for line in objects) - min(line["t_start_ns"] for line in objects)) / 1e9
    size_bits = 8 * PAGE["objects"] * PAGE["object_bytes"]
    assert load_s > size_bits / RATE_BPS + 2 * DELAY_NS / 1e9
    assert result.link["down"]["delivered_bytes"] > size_bits / 8


def test_what_is_captured_is_kept(engine: LiveEngine, tmp_path: Path) -> None:
    result = run(engine, tmp_path, "h3", ConnectionState.COLD, Capture(qlog=True, keylog=True))
    assert (result.outcome, result.reason) == (Outcome.OK, None)
    kept = set(result.artefacts)
    assert "keys.log" in kept
    assert any(name.startswith("qlog/client/") for name in kept)
    assert any(name.startswith("qlog/server/") for name in kept)


def test_what_a_stack_cannot_do_is_unsupported(engine: LiveEngine, tmp_path: Path) -> None:
    result = run(engine, tmp_path, "h2", ConnectionState.ZERO_RTT, Capture())
    assert result.outcome is Outcome.UNSUPPORTED
    assert "0-RTT" in (result.reason or "")
