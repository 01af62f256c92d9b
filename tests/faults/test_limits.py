"""Programs under test that take too much, in real time: they fail with the limit's name, soon, and harm nothing."""

import json
import os
import time
from pathlib import Path

import pytest

from longlook.core.job import Job
from longlook.core.model import Capture, Outcome
from longlook.engines.live import LiveEngine
from longlook.lab.linux.users import FIRST_USER, USERS
from tests.faults.harness import Home, results
from tests.support.undisturbed import UndisturbedEngine

pytestmark = [pytest.mark.lab, pytest.mark.realtime, pytest.mark.timeout(600)]

PROGRAM_USERS = range(FIRST_USER, FIRST_USER + USERS)
BROKEN = [
    ("server", "prints_without_pause", "printed more than 16 MiB or 100000 lines to standard output"),
    ("client", "prints_without_pause", "printed more than 16 MiB or 100000 lines to standard output"),
    ("server", "complains_without_pause", "wrote more than 64 MiB to standard error"),
    ("client", "bombs", "started processes and threads up to the limit of 512"),
    ("client", "eats_memory", "used more than 2048 MiB of memory"),
    ("server", "logs_without_end", "wrote 768 MiB of traces or more"),
    ("client", "shares_memory", "used more than 2048 MiB of memory"),
    ("client", "fills_files_in_memory", "used more than 2048 MiB of memory"),
    ("client", "fills_segments", "used more than 2048 MiB of memory"),
    ("client", "fills_traces", "wrote 768 MiB of traces or more"),
    ("server", "makes_folders", "wrote more than 10000 files and folders of traces"),
    ("client", "digs_deep", "wrote traces in folders more than 8 deep"),
    ("server", "fills_home", "filled its home folder, which holds 768 MiB and 10000 files and folders"),
    ("client", "makes_folders_at_home", "filled its home folder, which holds 768 MiB and 10000 files and folders"),
    ("client", "fills_tmp", "filled /tmp, which holds 256 MiB and 10000 files and folders"),
    ("server", "fills_shm", "filled /dev/shm, which holds 256 MiB and 10000 files and folders"),
]


@pytest.mark.parametrize(("role", "fault", "limit"), BROKEN)
def test_a_limit_that_is_broken_is_named(home: Home, engine: LiveEngine, role: str, fault: str, limit: str) -> None:
    job = home.job(**{role: {"fault": fault}}, capture=Capture(qlog=True), timeout_s=60.0)
    began = time.monotonic()
    run = engine.run(job)
    assert (run.outcome, run.reason) == (Outcome.FAILED, f"the {role} {limit}")
    assert "CONTRACT" in (run.hint or "")
    assert time.monotonic() - began < 60
    left = [path for path in Path(job.folder).rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in left) < 900 << 20
    assert engine.run(home.job("next")).outcome is Outcome.OK


def test_children_that_fork_without_end_are_ended_whatever_their_session(home: Home, engine: LiveEngine) -> None:
    """A thousand processes of Python may also be too much memory, which is then broken first."""
    began = time.monotonic()
    run = engine.run(home.job(client={"fault": "bombs_busily"}, timeout_s=60.0))
    assert run.outcome is Outcome.FAILED
    limits = ("started processes and threads up to the limit of 512", "used more than 2048 MiB of memory")
    assert run.reason in [f"the client {limit}" for limit in limits]
    assert time.monotonic() - began < 60  # 2 to 8 s on two CPUs that others use, too


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can hide control groups")
@pytest.mark.parametrize(
    ("fault", "limit"),
    [
        ("bombs_busily", "started processes and threads up to the limit of 512"),  # 2 to 5 s, on a busy machine, too
        ("bombs", "started processes and threads up to the limit of 512"),
        ("shares_memory", "used more than 2048 MiB of memory"),
    ],
)
def test_without_control_groups_longlook_counts(home: Home, fault: str, limit: str) -> None:
    hide = 'mount -t tmpfs none /sys/fs/cgroup && exec "$@"'
    prefix = ("unshare", "--mount", "--propagation=private", "sh", "-c", hide, "sh")
    (answer,) = results(home.drive(home.job(client={"fault": fault}, timeout_s=40.0), prefix=prefix))
    assert (answer["run"]["outcome"], answer["run"]["reason"]) == (Outcome.FAILED, f"the client {limit}")


def test_traces_have_neither_owner_nor_modes_of_their_program(home: Home, engine: LiveEngine) -> None:
    job = home.job(server={"fault": "leaves_modes"}, capture=Capture(qlog=True))
    assert engine.run(job).outcome is Outcome.OK
    left = sorted(path for path in (Path(job.folder) / "qlog" / "server").rglob("*") if path.is_file())
    assert [path.name for path in left] == ["closed.qlog", "deeper.qlog", "run.qlog"]
    assert {(path.stat().st_mode & 0o7777, path.stat().st_uid) for path in left} == {(0o644, os.geteuid())}


def test_nothing_passes_from_trial_to_trial_or_from_program_to_program(home: Home, engine: LiveEngine) -> None:
    marking = {role: {"fault": "looks_for_marks"} for role in ("server", "client")}
    for name in ("first", "second"):
        job = home.job(name, **marking)
        assert engine.run(job).outcome is Outcome.OK
        for role in marking:
            assert (Path(job.folder) / f"{role}.stderr").read_text() == "marks: []\n"


@pytest.mark.parametrize("role", ["server", "client"])
def test_programs_cannot_touch_one_another(home: Home, engine: LiveEngine, role: str) -> None:
    """The other program runs, too: a server before its client, a client beside its server."""
    job = home.job(**{role: {"fault": "attacks_others"}})
    assert engine.run(job).outcome is Outcome.OK
    report = json.loads((Path(job.folder) / f"{role}.stderr").read_text())
    # Without root the shell that holds its compartment is of its own user, too.
    assert report["done"] == [] if os.geteuid() == 0 else all("process 1" in deed for deed in report["done"])
    assert report["user"] in PROGRAM_USERS if os.geteuid() == 0 else report["user"] == 0


def test_a_client_that_is_never_started_leaves_nothing(home: Home, engine: LiveEngine) -> None:
    """It is confined while its server starts, and then its server ends."""
    open_files = []
    for name in ("first", "second", "third"):
        assert engine.run(home.job(name, server={"fault": "dies_at_start"})).outcome is Outcome.FAILED
        open_files.append({pid: len(list(Path(f"/proc/{pid}/fd").iterdir())) for pid in home.processes()})
    assert len(open_files[0]) == 2  # the agent and its supervisor
    assert open_files[1] == open_files[2]


@pytest.mark.parametrize("role", ["server", "client"])
def test_a_line_too_deep_to_be_read_is_no_line(home: Home, engine: LiveEngine, role: str) -> None:
    run = engine.run(home.job(**{role: {"fault": "nests_deeply"}}))
    assert run.outcome is (Outcome.FAILED if role == "client" else Outcome.OK)
    assert (role == "client") == ("not a JSON line" in (run.reason or ""))


def test_a_session_client_that_prints_without_pause_fails_its_trial_alone(home: Home, engine: LiveEngine) -> None:
    run = engine.run(home.job(client={"fault": "prints_without_pause"}, client_stack="rogue-session"))
    assert run.outcome is Outcome.FAILED
    assert (run.reason or "").startswith("the client printed more than 16 MiB")
    assert engine.run(home.job("next", client_stack="rogue-session")).outcome is Outcome.OK


def test_only_regular_files_stay_in_a_trial(home: Home, engine: LiveEngine) -> None:
    job = home.job(server={"fault": "leaves_traps"}, capture=Capture(qlog=True))
    run = engine.run(job)
    assert run.outcome is Outcome.OK
    folder = Path(job.folder) / "qlog" / "server"
    assert [path.name for path in folder.iterdir()] == ["real.qlog"]
    assert "qlog/server/real.qlog" in run.artefacts


@pytest.mark.parametrize("role", ["server", "client"])
def test_programs_have_no_privilege(home: Home, engine: LiveEngine, role: str) -> None:
    job = home.job(**{role: {"fault": "breaks_out"}})
    user = user_of_programs(engine, job, role)
    assert user in PROGRAM_USERS if os.geteuid() == 0 else user == 0
    assert json.loads((Path(job.folder) / "run.json").read_text())["outcome"] == "ok"


@pytest.mark.skipif(os.geteuid() != 0, reason="programs run as Longlook's own user where that is no root")
def test_every_laboratory_has_programs_of_another_user(home: Home, engine: LiveEngine) -> None:
    """The kernel counts processes by user, so that programs which start too many could hinder other laboratories."""
    users = [user_of_programs(engine, home.job("first", client={"fault": "breaks_out"}), "client")]
    with UndisturbedEngine() as other:
        users.append(user_of_programs(other, home.job("second", client={"fault": "breaks_out"}), "client"))
        users.append(user_of_programs(engine, home.job("third", client={"fault": "breaks_out"}), "client"))
    assert users[0] == users[2] != users[1]


def user_of_programs(engine: LiveEngine, job: Job, role: str) -> int:
    """Run a job whose program tries to break out; return its user, and see that it did not succeed."""
    assert engine.run(job).outcome is Outcome.OK
    report = (Path(job.folder) / f"{role}.stderr").read_text()
    before, _, user = report.strip().partition(", uid ")
    assert before == "broke out: []"
    return int(user)
