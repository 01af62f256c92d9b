"""Programs get the knobs that their stack sets in every trial, unless the trial sets them."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from longlook.core.job import Identity
from longlook.core.stack import Command, ServerJob, Stack
from longlook.lab import client_jobs, flow_run, programs
from longlook.provision.variants import variant
from longlook.stacks.aioquic import STACK

MADE = variant(STACK, "mine", knobs={"initial_window": 4, "packet_threshold": 5})
GIVEN = {"initial_window": 10}
GOT = {"initial_window": 10, "packet_threshold": 5}
IDENTITY = Identity("www.example.test", "ca", "certificate", "key", "spki")


def recording(jobs: list[Any]) -> Stack:
    def server_command(_program: Any, job: ServerJob) -> Command:
        jobs.append(job)
        return Command(())

    return replace(MADE, server_command=server_command)


def end() -> Any:
    return SimpleNamespace(stack="mine", version="1.7.2", knobs=GIVEN, config=None)


def test_a_server(monkeypatch: pytest.MonkeyPatch) -> None:
    jobs: list[ServerJob] = []
    prepared: Any = SimpleNamespace(start=lambda: None)
    monkeypatch.setattr(programs, "stack_of", lambda _end: recording(jobs))
    monkeypatch.setattr(programs, "_prepared", lambda *_: prepared)
    monkeypatch.setattr(programs, "_variables", lambda *_: ({}, ()))
    trial = SimpleNamespace(server=end(), protocol="h3", connection="cold")
    job: Any = SimpleNamespace(trial=trial, content=SimpleNamespace(root="/www"), identity=IDENTITY)
    nothing: Any = None
    programs.start_server(job, nothing, "198.18.0.2", nothing)
    assert jobs[0].knobs == GOT


def test_a_client(monkeypatch: pytest.MonkeyPatch) -> None:
    jobs: list[Any] = []
    monkeypatch.setattr(client_jobs, "stack_of", lambda _end: MADE)
    monkeypatch.setattr(client_jobs, "has_second_address", lambda _trial: False)
    trial: Any = SimpleNamespace(client=end(), protocol="h3", connection="cold", timeout_s=1.0)
    client: Any = SimpleNamespace(begin=jobs.append)
    addresses: Any = SimpleNamespace(server="198.18.0.2")
    content: Any = SimpleNamespace(
        phases=(), connections=1, waits_s=(), video={}, echo=None, live=None, priorities={}, uploads={}
    )
    job: Any = SimpleNamespace(content=content, identity=IDENTITY, site=None)
    nothing: Any = None
    flow: Any = SimpleNamespace(competes=False)
    monkeypatch.setattr(flow_run.FlowRun, "content", lambda _self, _job: content)
    flow_run.FlowRun(trial, client, nothing, addresses, Path(), (), flow).begin(job)
    assert jobs[0].knobs == GOT
