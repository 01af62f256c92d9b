"""Proxies in the middle that fail: each gives the outcome it should, names the proxy, and leaves nothing behind."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from longlook.core.job import Job
from longlook.core.links import BEHIND
from longlook.core.model import Endpoint, Outcome
from longlook.engines.live import LiveEngine
from longlook.lab.addresses import IPV4
from tests.faults.harness import FAST, Home

pytestmark = [pytest.mark.lab, pytest.mark.realtime]

FAULTS = [
    ("dies_at_start", Outcome.FAILED, "the proxy ended at its start (exit code 1): made to die at its start"),
    ("unsupported", Outcome.UNSUPPORTED, "rogue does not do this"),
    ("never_ready", Outcome.TIMED_OUT, "the proxy hung: it never printed its ready line"),
    ("dies_in_the_middle", Outcome.FAILED, "the proxy ended before the client was done (signal 9, SIGKILL)"),
    ("hangs", Outcome.TIMED_OUT, "the server saw no connection of the proxy"),
    ("loops", Outcome.TIMED_OUT, "the server saw no connection of the proxy"),
    ("answers_by_itself", Outcome.TIMED_OUT, "the server saw no connection of the proxy"),
    ("wrong_body", Outcome.FAILED, "wrong body"),
]


def proxied(home: Home, name: str, fault: str | None, timeout_s: float = 20.0) -> Job:
    """Return a job whose path has a rogue proxy in its middle, or a router without one."""
    proxy = None if fault is None else Endpoint("rogue", "0", {"fault": fault})
    job = home.job(name, timeout_s=timeout_s, further={BEHIND: FAST}, proxy=proxy)
    return replace(job, programs={**job.programs, "proxy": job.programs["server"]})


def remotes(job: Job) -> set[str]:
    lines = [json.loads(line) for line in (Path(job.folder) / "server.jsonl").read_text().splitlines()]
    return {line["remote"].rpartition(":")[0] for line in lines if line["event"] == "connection"}


def test_a_proxy_carries_the_load_over_both_links(home: Home, engine: LiveEngine) -> None:
    job = proxied(home, "through", "none")
    run = engine.run(job)
    assert (run.outcome, run.reason) == (Outcome.OK, None)
    assert remotes(job) == {IPV4.middle}
    files = {path.name for path in Path(job.folder).iterdir()}
    assert {"link.bin", "link-behind.bin", "proxy.jsonl", "proxy.stderr"} <= files
    for way in ("up", "down", "behind.up", "behind.down"):
        assert run.link[way]["delivered"] > 0
    assert run.cpu_s["proxy"] > 0


def test_without_a_proxy_the_middle_is_a_router(home: Home, engine: LiveEngine) -> None:
    job = proxied(home, "routed", None)
    run = engine.run(job)
    assert (run.outcome, run.reason) == (Outcome.OK, None)
    assert remotes(job) == {"198.18.0.1"}
    assert run.link["behind.down"]["delivered"] == run.link["down"]["arrived"]


@pytest.mark.parametrize(("fault", "outcome", "reason"), FAULTS, ids=[fault[0] for fault in FAULTS])
def test_proxy_fault(home: Home, engine: LiveEngine, fault: str, outcome: Outcome, reason: str) -> None:
    engine.run(proxied(home, "first", "none"))  # leaves what an engine keeps for its next trial
    idle = set(home.processes())
    run = engine.run(proxied(home, "broken", fault, timeout_s=2.0 if outcome is Outcome.TIMED_OUT else 20.0))
    assert (run.outcome, reason in (run.reason or "")) == (outcome, True), run.reason
    assert run.hint
    assert set(home.processes()) == idle
