"""Programs under test that take too much, in virtual time: the same limits, the same words, and no way to the host."""

import json
import os
import sys
import time
from pathlib import Path

import pytest

from longlook.core.model import Capture, Outcome
from longlook.engines.virtual import VirtualEngine
from longlook.lab.guest import HOME
from longlook.lab.linux.users import BLOCK, FIRST_USER
from tests.faults.guest_harness import GuestHome
from tests.faults.harness import results

pytestmark = [pytest.mark.lab, pytest.mark.timeout(900)]

FILLED = "filled its places for temporary files, which hold 192 MiB and 10000 files and folders"
BROKEN = [
    ("server", "prints_without_pause", "printed more than 16 MiB or 100000 lines to standard output"),
    ("client", "complains_without_pause", "wrote more than 64 MiB to standard error"),
    ("client", "bombs", "started processes and threads up to the limit of 512"),
    ("server", "logs_without_end", "wrote 512 MiB of traces or more"),
    ("server", "makes_folders_at_home", FILLED),
    ("client", "makes_folders", "wrote more than 10000 files and folders of traces"),
    ("client", "digs_deep", "wrote traces in folders more than 8 deep"),
]


@pytest.mark.parametrize(("role", "fault", "limit"), BROKEN, ids=[fault for _, fault, _ in BROKEN])
def test_a_limit_that_is_broken_is_named(
    guest_home: GuestHome, monkeypatch: pytest.MonkeyPatch, role: str, fault: str, limit: str
) -> None:
    monkeypatch.setenv("LONGLOOK_SPIN_TIMEOUT_S", "40")  # to end five hundred processes takes some CPU
    run = guest_home.run(**{role: {"fault": fault}}, capture=Capture(qlog=True), timeout_s=60.0)
    assert (run.outcome, run.reason) == (Outcome.FAILED, f"the {role} {limit}")
    assert run.exact


def test_a_program_that_fills_every_place_has_broken_one_limit_that_is_named(guest_home: GuestHome) -> None:
    run = guest_home.run(client={"fault": "fills_everything"}, capture=Capture(qlog=True), timeout_s=60.0)
    # It breaks both; the one is seen while it runs, at a moment of real time, the other when it has ended.
    broken = {f"the client {limit}" for limit in (FILLED, "wrote 512 MiB of traces or more")}
    assert run.outcome is Outcome.FAILED and run.reason in broken


def test_only_regular_files_come_out_of_a_guest(guest_home: GuestHome) -> None:
    job = guest_home.job(server={"fault": "leaves_traps"}, capture=Capture(qlog=True))
    with VirtualEngine() as engine:
        assert engine.run(job).outcome is Outcome.OK
    assert [path.name for path in (Path(job.folder) / "qlog" / "server").iterdir()] == ["real.qlog"]


@pytest.mark.parametrize("role", ["server", "client"])
def test_programs_have_no_privilege_and_no_way_to_the_host(guest_home: GuestHome, role: str) -> None:
    job = guest_home.job(**{role: {"fault": "breaks_out"}})
    with VirtualEngine() as engine:
        assert engine.run(job).outcome is Outcome.OK
    report = (Path(job.folder) / f"{role}.stderr").read_text()
    before, _, user = report.strip().partition(", uid ")
    assert before == "broke out: []"
    assert int(user) in range(FIRST_USER, FIRST_USER + BLOCK)


@pytest.mark.parametrize("role", ["server", "client"])
def test_programs_cannot_touch_one_another(guest_home: GuestHome, role: str) -> None:
    job = guest_home.job(**{role: {"fault": "attacks_others"}})
    with VirtualEngine() as engine:
        assert engine.run(job).outcome is Outcome.OK
    report = json.loads((Path(job.folder) / f"{role}.stderr").read_text())
    assert report["done"] == []


@pytest.mark.parametrize("role", ["server", "client"])
def test_programs_can_write_to_their_own_places_alone(guest_home: GuestHome, role: str) -> None:
    """Nor to a folder that every user of the host may write to, which would be in the guest's memory."""
    shared = guest_home.path / "cache" / "of-everybody"
    shared.mkdir(parents=True)
    shared.chmod(0o1777)
    job = guest_home.job(**{role: {"fault": "finds_writable"}}, capture=Capture(qlog=True))
    with VirtualEngine() as engine:
        assert engine.run(job).outcome is Outcome.OK
    found = json.loads((Path(job.folder) / f"{role}.stderr").read_text())
    traces = f"{HOME}/trial/qlog/{role}"
    assert found == sorted(["/dev/shm", f"{HOME}/scratch", traces, "/tmp", "/var/tmp"])


def test_no_program_keeps_the_laboratory_from_running(guest_home: GuestHome) -> None:
    job = guest_home.job(server={"fault": "hinders_the_laboratory"}, client={"fault": "looks_at_the_laboratory"})
    with VirtualEngine() as engine:
        assert engine.run(job).outcome is Outcome.OK
    assert json.loads((Path(job.folder) / "client.stderr").read_text()) == [0, os.SCHED_OTHER]


def test_nothing_passes_from_program_to_program_or_to_the_next_trial_of_a_guest(guest_home: GuestHome) -> None:
    marking = {role: {"fault": "looks_for_marks"} for role in ("server", "client")}
    jobs = [guest_home.job(name, **marking) for name in ("first", "second")]
    with VirtualEngine() as engine:
        assert [run.outcome for run in engine.run_together(jobs)] == [Outcome.OK, Outcome.OK]
    for job in jobs:
        assert [(Path(job.folder) / f"{role}.stderr").read_text() for role in marking] == ["marks: []\n"] * 2


def test_traces_have_neither_owner_nor_modes_of_their_program(guest_home: GuestHome) -> None:
    job = guest_home.job(server={"fault": "leaves_modes"}, capture=Capture(qlog=True))
    with VirtualEngine() as engine:
        assert engine.run(job).outcome is Outcome.OK
    left = sorted(path for path in (Path(job.folder) / "qlog" / "server").rglob("*") if path.is_file())
    assert [path.name for path in left] == ["closed.qlog", "deeper.qlog", "run.qlog"]
    assert {(path.stat().st_mode & 0o7777, path.stat().st_uid) for path in left} == {(0o644, os.geteuid())}


@pytest.mark.parametrize(
    ("hungry_role", "fault"), [("client", "opens_everything"), ("server", "keeps_everything_open")]
)
def test_a_guest_whose_kernel_can_open_no_more_files_names_the_limit(
    guest_home: GuestHome, hungry_role: str, fault: str
) -> None:
    """Three thousand, instead of a million or as many as root of this machine may have."""
    limit = (
        "import ctypes, os, resource, sys\n"
        "ctypes.CDLL(None).prctl(24, 24, 0, 0, 0)  # PR_CAPBSET_DROP, CAP_SYS_RESOURCE\n"
        "resource.setrlimit(resource.RLIMIT_NOFILE, (3000, 3000))\n"
        "os.execvp(sys.argv[1], sys.argv[1:])"
    )
    hungry, usual = guest_home.job("hungry", **{hungry_role: {"fault": fault}}), guest_home.job("usual")
    driver = guest_home.drive(hungry, usual, prefix=(sys.executable, "-c", limit), engine="virtual")
    first, second = (answer["run"] for answer in results(driver))
    role = first["reason"].split()[1]
    assert role in ("server", "client")
    assert first["reason"] == (
        f"the {role} or another program of the trial opened more files of the host than its guest may"
    )
    assert (first["outcome"], second["outcome"]) == (Outcome.FAILED, Outcome.OK)


def test_one_child_after_another_without_end_fails_its_trial(guest_home: GuestHome) -> None:
    """9 s of CPU, not 900 s of real time: forking moves virtual time by a few microseconds alone."""
    run = guest_home.run(client={"fault": "forks_and_waits"}, timeout_s=60.0)
    assert run.outcome is Outcome.FAILED
    assert (run.reason or "").startswith("the program python")
    assert "of CPU virtual time moved by" in (run.reason or "")


def test_children_that_fork_without_end_end_their_trial_soon(guest_home: GuestHome) -> None:
    began = time.monotonic()
    run = guest_home.run(client={"fault": "bombs_busily"}, timeout_s=60.0)
    assert run.outcome is Outcome.FAILED
    assert run.reason
    assert time.monotonic() - began < 120
