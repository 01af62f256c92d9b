"""Whatever ends a run in virtual time, no guest outlives it and every finished trial does."""

import contextlib
import json
import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from longlook.core.model import Outcome
from longlook.engines.virtual import VirtualEngine
from tests.faults.guest_harness import GuestHome, kernel
from tests.faults.harness import wait_until
from tests.support.processes import command_line

pytestmark = [pytest.mark.lab, pytest.mark.slow, pytest.mark.timeout(900)]

Ended = subprocess.Popen[str]

KILLS: dict[str, Callable[[Ended], None]] = {
    "SIGKILL": lambda run: run.kill(),
    "SIGTERM": lambda run: run.terminate(),
    "Ctrl-C": lambda run: os.killpg(run.pid, signal.SIGINT),
}


def _wait_for(run: Ended, condition: Callable[[], object]) -> None:
    """With patience for a busy machine, and none for a run that ended."""
    deadline = time.monotonic() + 60
    while not condition():
        assert run.poll() is None, run.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.02)


def _kernels(home: GuestHome) -> int:
    return sum(command_line(pid).split(b"\0")[0] == os.fsencode(kernel()) for pid in home.guests())


@pytest.mark.parametrize("kill", list(KILLS))
def test_a_run_that_is_ended_leaves_no_guest_and_goes_on(guest_home: GuestHome, kill: str) -> None:
    out = guest_home.path / "out"
    study = str(guest_home.study(fault="spins", rounds=2))
    patient = {"LONGLOOK_SPIN_TIMEOUT_S": "600"}  # both CPUs are soon taken by spinning guests
    run = guest_home.longlook("run", study, "--jobs", "2", "--out", str(out), extra=patient)
    _wait_for(run, lambda: _both_spin(guest_home))
    finished = {path.name for path in out.glob("trials/[!.]*")}
    began = time.monotonic()
    KILLS[kill](run)
    _, errors = run.communicate(timeout=20)
    assert time.monotonic() - began < 5
    wait_until(lambda: guest_home.guests() == [], "every guest is gone")
    assert time.monotonic() - began < 5
    if kill != "SIGKILL":
        assert run.returncode == 130, errors
        assert f"--resume {out}" in errors
    again = guest_home.longlook("run", study, "--jobs", "2", "--resume", str(out))
    _, errors = again.communicate(timeout=120)
    assert again.returncode == 0, errors
    assert len(list(out.glob("trials/[!.]*"))) == 4
    assert finished < {path.name for path in out.glob("trials/[!.]*")}


def _both_spin(home: GuestHome) -> bool:
    """Two guests that have been at it for a while: a calm one is done by then."""
    if _kernels(home) < 2:
        return False
    first = set(home.guests())
    time.sleep(3)
    return len(first & set(home.guests())) >= 2 and _kernels(home) == 2


def test_a_stopped_guest_goes_on_as_if_nothing_had_been(guest_home: GuestHome) -> None:
    study = str(guest_home.study(fault="computes"))
    patient = {
        "LONGLOOK_SPIN_TIMEOUT_S": "20"
    }  # on a slow machine the program needs more CPU than a guest may use here
    outs = [guest_home.path / name for name in ("run-1", "run-2")]
    for out in outs:
        run = guest_home.longlook("run", study, "--jobs", "1", "--no-cache", "--out", str(out), extra=patient)
        if out.name == "run-2":
            _wait_for(run, lambda: _kernels(guest_home) and list(guest_home.path.glob("run-2/trials/.partial-boot*")))
            time.sleep(1.5)
            for _ in range(8):  # all processes, a program's own among them, whatever they wait for
                stopped = [run.pid, *guest_home.guests()]
                _signal(signal.SIGSTOP, stopped)
                time.sleep(0.3)
                _signal(signal.SIGCONT, stopped)
                time.sleep(0.3)
        _, errors = run.communicate(timeout=120)
        assert run.returncode == 0, errors
    straight, interrupted = (_bytes(out) for out in outs)
    assert interrupted.keys() == straight.keys()
    assert [name for name in straight if interrupted[name] != straight[name]] == []


def _signal(number: int, pids: list[int]) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):  # a program of the guest may have ended meanwhile
            os.kill(pid, number)


def _bytes(out: Path) -> dict[str, bytes]:
    return {str(path.relative_to(out)): path.read_bytes() for path in out.glob("trials/*/*") if path.is_file()}


def test_two_runs_of_one_study_at_once_share_a_cache(guest_home: GuestHome) -> None:
    study = str(guest_home.study(rounds=2))
    outs = [guest_home.path / f"out-{number}" for number in (1, 2)]
    runs = [guest_home.longlook("run", study, "--out", str(out)) for out in outs]
    for run in runs:
        _, errors = run.communicate(timeout=150)
        assert run.returncode == 0, errors
    first, second = (_bytes(out) for out in outs)
    assert first == second


def test_what_a_killed_start_left_is_cleared_by_the_next(guest_home: GuestHome) -> None:
    left = guest_home.path / "tmp" / "longlook-exchange-dead"
    left.mkdir()
    (left / "init").write_text("")
    os.utime(left, (1e9, 1e9))
    with VirtualEngine() as engine:
        assert not left.exists()
        assert engine.run(guest_home.job()).outcome is Outcome.OK


def test_finished_trials_stay_when_the_disk_fills(guest_home: GuestHome) -> None:
    disk = guest_home.path / "disk"
    disk.mkdir()
    script = (
        'mount -t tmpfs -o size=1m tmpfs "$0" && mkdir "$0/trial" && '
        'dd if=/dev/zero of="$0/ballast" bs=1k count=1000 status=none; exec "$@"'
    )
    job = guest_home.job(folder=disk / "trial")
    prefix = ("unshare", "--mount", "--propagation=private", "sh", "-c", script, str(disk))
    driver = guest_home.drive(job, prefix=prefix, engine="virtual")
    output, _ = driver.communicate(timeout=60)
    (answer,) = [json.loads(line) for line in output.splitlines()]
    assert answer["error"] == "MachineError", answer
    assert "is full" in answer["message"]
    assert str(disk) in answer["message"]
