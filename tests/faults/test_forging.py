"""A server that tries every way into its client while it serves, and clients that tell lies about themselves."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from longlook.core.job import Job
from longlook.core.model import Link, Outcome, Stage
from longlook.engines.live import LiveEngine
from longlook.engines.virtual import VirtualEngine
from tests.faults.guest_harness import GuestHome
from tests.faults.harness import MS, PLUGINS, Home

pytestmark = [pytest.mark.lab, pytest.mark.timeout(300)]

SLOW = Link(
    *[(Stage("rate", {"rate_bps": 2_000_000, "queue_bytes": 100_000}), Stage("delay", {"delay_ns": 30 * MS}))] * 2
)
"""Two bodies of 20 kB take 0.2 s, much more than clocks in real time may differ by."""

FORGING = {"server": {"fault": "forges_for_others"}, "client": {"fault": "keeps_doors_open"}}
DOORS = 10
PROGRAM = PLUGINS / "programs" / "rogue_forge.py"
SUCCEEDING = {
    *("writes to standard output", "opens memory", "takes standard output", "writes to memory", "traces"),
    *("slows", "lets run late", "stops", "writes to a segment", "sends to a queue", "sends to a named queue"),
    *("connects to an abstract socket", "writes to /dev/shm/longlook-door", "connects to /tmp/longlook-door"),
}


@pytest.mark.realtime
def test_no_way_leads_into_a_client_that_keeps_all_doors_open(home: Home, engine: LiveEngine) -> None:
    job = home.job(**FORGING)
    run = engine.run(job)
    assert (run.outcome, run.reason) == (Outcome.OK, None)
    nothing_was_forged(job)


def test_no_way_leads_into_a_client_in_a_guest(guest_home: GuestHome) -> None:
    job = guest_home.job(**FORGING)
    with VirtualEngine() as engine:
        run = engine.run(job)
    assert (run.outcome, run.reason) == (Outcome.OK, None)
    nothing_was_forged(job)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make namespaces without a user namespace")
def test_the_same_attempts_succeed_where_nothing_keeps_programs_apart() -> None:
    """So that a refusal says something of the laboratory, and nothing of the attempts."""
    alone = ("unshare", "--pid", "--fork", "--mount-proc", "--ipc", "--net", "--mount")
    tmpfs = 'for place in /tmp /var/tmp /dev/shm; do mount -t tmpfs none $place; done; exec "$@"'
    command = (*alone, "sh", "-c", tmpfs, "sh", sys.executable, str(PROGRAM))
    done = set(json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()[-1]))
    assert {what for what in done if "process 1" not in what} >= SUCCEEDING


def nothing_was_forged(job: Job) -> None:
    """See that the client's lines are its own, that nothing of it was touched, and that the server did try."""
    lines = [json.loads(line) for line in (Path(job.folder) / "client.jsonl").read_text().splitlines()]
    assert [line["event"] for line in lines] == ["connection", "object", "object"]
    doors = json.loads((Path(job.folder) / "client.stderr").read_text())
    assert len(doors["offered"]) == DOORS
    assert doors["touched"] == []
    passes = [json.loads(line) for line in (Path(job.folder) / "server.stderr").read_text().splitlines()]
    assert len(passes) >= 2
    # Without root the shell that holds a program's compartment is of the program's own user.
    assert [deed for deed in passes[-1] if os.geteuid() == 0 or not deed.endswith("of process 1")] == []


@pytest.mark.realtime
@pytest.mark.parametrize(
    ("role", "fault", "reason"),
    [
        ("client", "none", ""),
        ("client", "prints_a_page", "the client printed a line `page` (line 2), which no client can print"),
        ("server", "prints_an_object", "the server printed a line `object` (line 3), which no server can print"),
        ("client", "has_no_time", "the client printed a line `object` (line 2) whose t_start_ns is nan, no time"),
        ("client", "answers_from_before", "before the program was started for this trial"),
        ("client", "ends_early", "/a ends"),
        ("client", "begins_late", "after its connection was opened, not before"),
    ],
)
def test_what_a_program_reports_must_be_its_own_and_true(
    home: Home, engine: LiveEngine, role: str, fault: str, reason: str
) -> None:
    run = engine.run(home.job(**{role: {"fault": fault}}, link=SLOW))
    assert run.outcome is (Outcome.FAILED if reason else Outcome.OK)
    assert reason in (run.reason or "")
