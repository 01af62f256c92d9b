"""Programs that misbehave in a guest: an outcome with its reason, soon in real time, and the engine goes on."""

import json
import os
import time
from pathlib import Path

import pytest

from longlook.core.model import Outcome
from longlook.engines.virtual import VirtualEngine
from tests.faults.guest_harness import GuestHome

pytestmark = [pytest.mark.lab, pytest.mark.timeout(600)]

JITTER = "entropy: the CPU's jitter failed its health test"


def test_a_trial_whose_home_the_guest_hides_is_ok(guest_home: GuestHome) -> None:
    assert str(guest_home.path).startswith("/tmp/"), "this test needs a home in /tmp"
    run = guest_home.run()
    assert (run.outcome, run.reason, run.exact) == (Outcome.OK, None, True)


def test_a_cache_that_is_named_from_here_is_found_there(guest_home: GuestHome, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(guest_home.path)
    monkeypatch.setenv("LONGLOOK_CACHE", "nearby")
    assert guest_home.run("first").outcome is Outcome.OK


@pytest.mark.parametrize(
    ("fault", "outcome", "reason"),
    [
        ("hangs", Outcome.TIMED_OUT, "did not end within its limit of 600 s"),
        ("eats_memory", Outcome.FAILED, "ran out of memory"),
        ("computes", Outcome.OK, ""),
        ("interrupts_the_laboratory", Outcome.OK, ""),
        ("crashes_the_kernel", Outcome.FAILED, "Permission denied"),
    ],
)
def test_client_fault(
    guest_home: GuestHome, monkeypatch: pytest.MonkeyPatch, fault: str, outcome: Outcome, reason: str
) -> None:
    monkeypatch.setenv("LONGLOOK_SPIN_TIMEOUT_S", "20")
    began = time.monotonic()
    run = guest_home.run(client={"fault": fault}, timeout_s=600.0)
    assert run.outcome is outcome
    assert reason in (run.reason or "")
    assert time.monotonic() - began < 60, "ten minutes of virtual time are nothing"


@pytest.mark.parametrize(
    ("role", "fault", "reason"),
    [
        ("client", "prints_a_page", "the client printed a line `page` (line 2), which no client can print"),
        ("server", "prints_an_object", "the server printed a line `object` (line 3), which no server can print"),
        ("client", "has_no_time", "the client printed a line `object` (line 2) whose t_start_ns is nan, no time"),
        ("client", "answers_from_before", "before the program was started for this trial"),
        ("client", "ends_early", "/a ends"),
        ("client", "begins_late", "after its connection was opened, not before"),
    ],
)
def test_what_a_program_reports_must_be_its_own_and_true(
    guest_home: GuestHome, role: str, fault: str, reason: str
) -> None:
    run = guest_home.run(**{role: {"fault": fault}})
    assert run.outcome is Outcome.FAILED
    assert reason in (run.reason or "")


def test_an_initial_window_that_the_client_does_not_take_has_failed(guest_home: GuestHome) -> None:
    tcp = {"initial_window_packets": 12}
    usual = guest_home.job("usual", tcp=tcp)
    small = guest_home.job("small", tcp=tcp, client={"fault": "has_a_small_buffer"})
    with VirtualEngine() as engine:
        assert engine.run(usual).outcome is Outcome.OK
        run = engine.run(small)
    assert run.outcome is Outcome.FAILED
    assert str(run.reason).startswith("tcp_initial_window = 12 was not brought about: the server sent ")


def test_a_program_that_spins_has_failed_and_its_guest_s_console_is_kept(guest_home: GuestHome) -> None:
    lost, after = guest_home.job("lost", client={"fault": "spins"}), guest_home.job("after")
    began = time.monotonic()
    with VirtualEngine() as engine:
        run = engine.run(lost)
        assert time.monotonic() - began < 300  # a guest that nobody ends goes on for 900 s
        assert engine.run(after).outcome is Outcome.OK
    assert run.outcome is Outcome.FAILED
    assert "the program python" in (run.reason or "")
    assert (Path(lost.folder) / "console.log").stat().st_size > 0
    assert json.loads((Path(lost.folder) / "run.json").read_text())["outcome"] == "failed"


def test_a_program_that_aborts_only_in_virtual_time_is_quoted_and_live_is_advised(guest_home: GuestHome) -> None:
    job = guest_home.job(client={"fault": "needs_jitter"})
    with VirtualEngine() as engine:
        run = engine.run(job)
    assert run.outcome is Outcome.FAILED
    assert run.reason == "the client failed (signal 6, SIGABRT); its stderr: " + JITTER
    assert "--engine live" in (run.hint or "")
    assert (Path(job.folder) / "client.stderr").read_text() == f"{JITTER}\n"


def test_a_declared_busy_waiter_runs_where_cpu_takes_time(guest_home: GuestHome) -> None:
    with VirtualEngine() as engine:
        for attempt in range(10):  # where CPU takes time, a host that is busy makes an attempt invalid, as for a study
            names = [f"busy{attempt}", f"usual{attempt}"]
            jobs = [guest_home.job(names[0], client_stack="rogue-busy"), guest_home.job(names[1])]
            runs = engine.run_together(jobs)
            if runs[0].outcome is not Outcome.INVALID:
                break
    assert [run.trial_id for run in runs] == names
    assert [run.outcome for run in runs] == [Outcome.OK, Outcome.OK]
    assert [run.exact for run in runs] == [False, True]


def test_the_hint_for_an_undeclared_busy_waiter_names_what_to_declare(guest_home: GuestHome) -> None:
    run = guest_home.run(client={"fault": "waits_busily"})
    assert run.outcome is Outcome.FAILED
    assert "spins" in (run.reason or "")
    assert "busy_waits" in (run.hint or "")


def test_nothing_depends_on_the_date_of_the_host(guest_home: GuestHome) -> None:
    first = guest_home.job("trial")
    with VirtualEngine() as engine:
        engine.run(first)
        before = _artefacts(Path(first.folder))
        Path(first.folder).rename(guest_home.path / "before")
        for path in (*guest_home.path.glob("www/*"), *guest_home.path.glob("tls/*")):
            os.utime(path, (1_000_000_000, 1_000_000_000))  # files of another year
        engine.run(guest_home.job("trial"))
    assert _artefacts(Path(first.folder)) == before


def _artefacts(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}
