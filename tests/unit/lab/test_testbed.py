"""What the parts of a trial's testbed are given."""

from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock, Mock

import pytest

from longlook.core.job import Content, Identity, Job
from longlook.core.model import ConnectionState, Endpoint, Flow
from longlook.lab import testbed, trial_path
from longlook.lab.linux import system
from longlook.lab.programs import program_names
from longlook.lab.timing import Timing
from longlook.lab.topology import CLIENT
from tests.data.trials import TRIAL

QUIC_GO = Endpoint("quic-go", "0", {})


def flow(number: int) -> Flow:
    name = f"tcp-{number}"
    return Flow(name, "tcp", False, number, 0.0, None, "h2", ConnectionState.COLD, None, None, QUIC_GO, QUIC_GO)


def job_of(folder: Path, *flows: Flow) -> Job:
    return Job(
        trial=replace(TRIAL, flows=flows),
        attempt=1,
        folder=str(folder),
        programs={"quic-go@0": Mock()},
        content=Content("", ((),), {}),
        identity=Identity("", "", "", "", ""),
    )


def test_every_end_of_a_flow_is_a_program_of_its_own(tmp_path: Path, monkeypatch: Any) -> None:
    """It has a name that no other has, by which it gets a user and what is made for it ahead of the trial."""
    flows = tuple(map(flow, range(2)))
    job = job_of(tmp_path, *flows)
    launched: list[str] = []
    monkeypatch.setattr(
        testbed, "start_server", lambda _job, _program, _where, launch: launched.append(launch.name) or Mock()
    )
    monkeypatch.setattr(
        testbed, "plain_client", lambda _job, _program, launch, _asked: launched.append(launch.name) or Mock()
    )
    made = testbed.Testbed(job, testbed.Facilities(Mock(), Mock(), Mock(), "packet", Timing()), 1)
    made.client_side, made.path, made.watcher = Mock(), Mock(), Mock()
    servers: dict[int, Any] = {}
    for each in flows:
        made._add_flow_run(each, servers, None)
    assert launched == ["tcp-0", "tcp-0", "tcp-1", "tcp-1"]
    assert program_names(job) == ["server tcp-0", "client tcp-0", "server tcp-1", "client tcp-1"]


def test_the_folders_of_traces_are_given_back_where_the_server_s_side_cannot_be_made(
    tmp_path: Path, monkeypatch: Any
) -> None:
    """The client's is made by then."""
    mounted: list[str] = []
    monkeypatch.setattr(system, "mount", lambda _source, place, *_: mounted.append(place))
    monkeypatch.setattr(system, "unmount", mounted.remove)
    made = testbed.Testbed(job_of(tmp_path), testbed.Facilities(Mock(), Mock(), Mock(), "packet", Timing()), 1)

    def make_client_side() -> None:
        made.client_side = Mock(end=CLIENT)
        made._traces.make("client", "")
        assert mounted == [str(tmp_path / "qlog" / "client")]

    def refuse(*_: Any, **__: Any) -> None:
        raise OSError(1, "refused")

    monkeypatch.setattr(made, "_make_client_side", make_client_side)
    monkeypatch.setattr(trial_path, "Namespace", MagicMock())
    monkeypatch.setattr(trial_path, "EndpointNamespace", refuse)
    with pytest.raises(OSError, match="refused"), made:
        pass
    assert mounted == []
