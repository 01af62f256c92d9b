"""The laboratory with a real stack: every connection state proven, times that the link's arithmetic allows."""

import json
from collections.abc import Iterator
from pathlib import Path

import pyarrow.compute as pc
import pytest

from longlook.core import codec, registry
from longlook.core.job import Job
from longlook.core.model import Capture, ConnectionState, Endpoint, Link, Outcome, Run, Stage, Trial, Workload
from longlook.core.programs import link_program
from longlook.core.stack import Stack
from longlook.engines.live import LiveEngine
from longlook.provision.tls import identity
from longlook.timeline.normalise import normalise_trial
from longlook.timeline.timeline import Kind
from tests.data.trials import trial
from tests.support.undisturbed import UndisturbedEngine

pytestmark = [pytest.mark.lab, pytest.mark.realtime]

RATE_BPS, DELAY_NS = 10_000_000, 10_000_000
PAGE = {"objects": 5, "object_bytes": 50_000}
PAGE_LOAD = Workload("page", PAGE)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A trial's folder that every user may read, as those of runs are."""
    path = tmp_path / "trial"
    path.mkdir()
    return path


@pytest.fixture(scope="module")
def engine() -> Iterator[LiveEngine]:
    with UndisturbedEngine() as engine:
        yield engine


def run(
    engine: LiveEngine,
    folder: Path,
    protocol: str,
    connection: ConnectionState,
    capture: Capture,
    workload: Workload = PAGE_LOAD,
) -> Run:
    stack: Stack = registry.get("stacks", "quic-go")
    program = stack.install(stack.default_version)
    path = (
        Stage("rate", {"rate_bps": RATE_BPS, "queue_bytes": 100_000}),
        Stage("delay", {"delay_ns": DELAY_NS}),
    )
    made = trial(
        arm=protocol,
        link=Link(path, path),
        workload=workload,
        protocol=protocol,
        connection=connection,
        congestion_control="cubic" if protocol == "h2" else None,
        server=Endpoint("quic-go", stack.default_version),
        client=Endpoint("quic-go", stack.default_version),
        timeout_s=20.0,
        capture=capture,
    )
    programs = {"server": program, "client": program, "link": link_program()}
    content = registry.get("workloads", workload.kind).prepare(workload.parameters)
    return engine.run(Job(made, 1, str(folder), programs, content, identity()))


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
def test_page_over(engine: LiveEngine, folder: Path, protocol: str, connection: ConnectionState) -> None:
    result = run(engine, folder, protocol, connection, Capture())
    assert (result.outcome, result.reason) == (Outcome.OK, None)
    lines = [json.loads(line) for line in (folder / "client.jsonl").read_text().splitlines()]
    objects = [line for line in lines if line["event"] == "object" and line["path"] != "/prime"]
    load_s = (max(line["t_end_ns"] for line in objects) - min(line["t_start_ns"] for line in objects)) / 1e9
    size_bits = 8 * PAGE["objects"] * PAGE["object_bytes"]
    assert load_s > size_bits / RATE_BPS + 2 * DELAY_NS / 1e9
    assert result.link["down"]["delivered_bytes"] > size_bits / 8


@pytest.mark.parametrize(
    ("protocol", "connection"),
    [("h3", ConnectionState.COLD), ("h3", ConnectionState.ZERO_RTT), ("h2", ConnectionState.RESUMED)],
)
def test_two_connections_at_once(engine: LiveEngine, folder: Path, protocol: str, connection: ConnectionState) -> None:
    size_bytes = 200_000
    workload = Workload("download", {"object_bytes": size_bytes, "objects": 1, "connections": 2})
    result = run(engine, folder, protocol, connection, Capture(), workload)
    assert (result.outcome, result.reason) == (Outcome.OK, None)
    assert json.loads((folder / "client.json").read_text())["connections"] == 2
    trial = codec.decode(Trial, json.loads((folder / "trial.json").read_text()))
    timeline = normalise_trial(folder, trial, result)
    done = timeline.select(Kind.OBJECT_DONE)
    started = timeline.select(Kind.CONNECTION_STARTED)["time_ns"].to_pylist()
    carried = [
        packets["flow"][0].as_py()
        for flow in done["flow"].to_pylist()
        if (packets := timeline.select(Kind.PACKET_DELIVERED).filter(pc.field("flow") == flow)).num_rows > 100
    ]
    assert len(set(carried)) == done.num_rows == len(started) == 2
    assert max(started) - min(started) < DELAY_NS
    load_s = registry.get("metrics", "page_load_time").measure(timeline)
    assert load_s > 2 * 8 * size_bytes / RATE_BPS + 2 * DELAY_NS / 1e9
    # The load is over with the last of them, and they shared the link.
    assert (done["time_ns"][0].as_py() - min(started)) / 1e9 > 1.2 * 8 * size_bytes / RATE_BPS


def test_what_is_captured_is_kept(engine: LiveEngine, folder: Path) -> None:
    result = run(engine, folder, "h3", ConnectionState.COLD, Capture(qlog=True, keylog=True))
    assert (result.outcome, result.reason) == (Outcome.OK, None)
    kept = set(result.artefacts)
    assert "keys.log" in kept
    assert any(name.startswith("qlog/client/") for name in kept)
    assert any(name.startswith("qlog/server/") for name in kept)


def test_what_a_stack_cannot_do_is_unsupported(engine: LiveEngine, folder: Path) -> None:
    result = run(engine, folder, "h2", ConnectionState.ZERO_RTT, Capture())
    assert result.outcome is Outcome.UNSUPPORTED
    assert "0-RTT" in (result.reason or "")
