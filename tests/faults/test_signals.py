"""A run that was started with SIGINT ignored, as by nohup or in the background of a script, can still be ended."""

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.faults.guest_harness import GuestHome
from tests.faults.harness import wait_until

pytestmark = [pytest.mark.lab, pytest.mark.slow, pytest.mark.timeout(900)]

CROWD = 100  # processes, of which an honest trial has ten
IGNORING_SIGINT = ("sh", "-c", 'trap "" INT; exec "$@"', "sh")


def test_a_virtual_run_that_ignores_sigint_ends_on_sigterm_with_every_guest(guest_home: GuestHome) -> None:
    study = str(guest_home.study(fault="spins", timeout="600s"))
    out = guest_home.path / "out"
    run = guest_home.longlook(
        "run", study, "--out", str(out), prefix=IGNORING_SIGINT, extra={"LONGLOOK_SPIN_TIMEOUT_S": "600"}
    )
    wait_until(
        lambda: run.poll() is not None or list(out.glob("trials/.partial-boot*")), "a trial has a guest", within_s=300
    )
    end_by_sigterm(run, out)
    wait_until(lambda: guest_home.guests() == [], "every guest is gone")
    remove_unfinished(out)


@pytest.mark.realtime
def test_a_live_run_that_ignores_sigint_ends_on_sigterm_with_everything_it_started(guest_home: GuestHome) -> None:
    out = guest_home.path / "out"
    study = str(guest_home.study(fault="hangs", timeout="600s"))
    run = guest_home.longlook("run", study, "--engine", "live", "--out", str(out), prefix=IGNORING_SIGINT)
    wait_until(lambda: run.poll() is not None or list(out.rglob("client.json")), "a client runs", within_s=300)
    end_by_sigterm(run, out)
    wait_until(lambda: guest_home.processes() == [], "every process is gone")
    remove_unfinished(out)


def test_a_virtual_run_ends_on_sigterm_while_a_program_forks_without_end(guest_home: GuestHome) -> None:
    """4 s on two CPUs that twenty others use."""
    out = guest_home.path / "out"
    study = str(guest_home.study(fault="bombs_busily", timeout="600s"))
    run = guest_home.longlook("run", study, "--out", str(out), extra={"LONGLOOK_SPIN_TIMEOUT_S": "600"})
    wait_until(lambda: run.poll() is not None or len(guest_home.guests()) > CROWD, "a program forks", within_s=300)
    end_by_sigterm(run, out)
    wait_until(lambda: guest_home.guests() == [], "every guest is gone")
    remove_unfinished(out)


@pytest.mark.realtime
def test_a_live_run_ends_on_sigterm_while_programs_fork_without_end(guest_home: GuestHome) -> None:
    """Each bomb ends with its trial, so that there are forty of them."""
    out = guest_home.path / "out"
    study = str(guest_home.study(fault="bombs_busily", rounds=40, timeout="600s"))
    run = guest_home.longlook("run", study, "--engine", "live", "--out", str(out))
    wait_until(lambda: run.poll() is not None or list(out.rglob("client.json")), "a client runs", within_s=300)
    end_by_sigterm(run, out)
    wait_until(lambda: guest_home.processes() == [], "every process is gone")
    remove_unfinished(out)


def end_by_sigterm(run: subprocess.Popen[str], out: Path) -> None:
    assert run.poll() is None, run.communicate()
    run.terminate()
    _, errors = run.communicate(timeout=60)
    assert run.returncode == 130, errors
    assert f"--resume {out}" in errors


def remove_unfinished(out: Path) -> None:
    """Do what --resume does first: remove what trials have left that were stopped in the middle."""
    for unfinished in out.glob("trials/.partial-*"):
        shutil.rmtree(unfinished)
