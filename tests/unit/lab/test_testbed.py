"""What the parts of a trial's testbed are given."""

from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import Mock

from longlook.core.job import Content, Identity, Job
from longlook.core.model import ConnectionState, Endpoint, Flow
from longlook.lab import testbed
from longlook.lab.timing import Timing
from tests.data.trials import TRIAL

QUIC_GO = Endpoint("quic-go", "0", {})


def flow(number: int) -> Flow:
    name = f"tcp-{number}"
    return Flow(name, "tcp", False, number, 0.0, None, "h2", ConnectionState.COLD, None, None, QUIC_GO, QUIC_GO)


def test_programs_of_a_flow_share_the_limit_of_all_flows(tmp_path: Path, monkeypatch: Any) -> None:
    """A flow's own view of its trial has no other flows; the kernel counts the processes of all."""
    flows = tuple(map(flow, range(40)))
    job = Job(
        trial=replace(TRIAL, flows=flows),
        attempt=1,
        folder=str(tmp_path),
        programs={"quic-go@0": Mock()},
        content=Content("", ((),), {}),
        identity=Identity("", "", "", "", ""),
    )
    launched: list[int] = []
    monkeypatch.setattr(
        testbed, "start_server", lambda _job, _program, _where, launch: launched.append(launch.flows) or Mock()
    )
    monkeypatch.setattr(testbed, "plain_client", lambda _job, _program, launch: launched.append(launch.flows) or Mock())
    made = testbed.Testbed(job, testbed.Facilities(Mock(), Mock(), Mock(), "packet", Timing()), 1)
    made.client_side, made.server_side, made.watcher = Mock(), Mock(), Mock()
    servers: dict[int, Any] = {}
    for each in flows[:2]:
        made._add_flow_run(each, servers)
    assert launched == [40] * 4
