"""Runs that are left to themselves, watched and stopped by another process."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from longlook.core.errors import InputError, LonglookError, MachineError
from longlook.core.run_folder import RunFolder
from longlook.instruments.runs.detached import log_of
from longlook.instruments.runs.holder import holder_of, holder_of_file
from longlook.instruments.runs.listing import State
from longlook.instruments.runs.progress import Follower, Stage
from longlook.instruments.runs.stop import stop
from longlook.instruments.runs.watch import watch
from longlook.terminal.printer import lines_printer

WRITER = """
import signal, sys, time
from pathlib import Path
from longlook.core import RunFolder
for name in sys.argv[2:]:
    signal.signal(getattr(signal, name), signal.SIG_IGN)
if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
    signal.signal(signal.SIGTERM, signal.default_int_handler)
with RunFolder.open(Path(sys.argv[1])):
    print("begun", flush=True)
    time.sleep(600)
"""
LEAVER = """
import sys, time
from pathlib import Path
from longlook.instruments.runs import detach
run = Path(sys.argv[1])
left = detach(run)
if left is not None:
    print(left.pid)
    sys.exit()
exec(sys.argv[2])
"""
Begin = Callable[..., "subprocess.Popen[str]"]


def wait_until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.fixture
def begin() -> Iterator[Begin]:
    """Start a process that writes to a run; it is ended in any case."""
    begun: list[subprocess.Popen[str]] = []

    def start(run: Path, *ignored: str) -> "subprocess.Popen[str]":
        process = subprocess.Popen(
            [sys.executable, "-c", WRITER, str(run), *ignored],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        begun.append(process)
        assert process.stdout is not None
        assert process.stdout.readline() == "begun\n"
        return process

    yield start
    for process in begun:
        process.kill()
        process.communicate()


@pytest.fixture
def unfinished(run: Path) -> Path:
    """A run whose last trials are missing."""
    manifest = json.loads((run / "manifest.json").read_text())
    del manifest["finished_unix_s"]
    (run / "manifest.json").write_text(json.dumps(manifest))
    aside = run.parents[1] / "aside"
    aside.mkdir()
    for trial in sorted((run / "trials").iterdir())[:10]:
        trial.rename(aside / trial.name)
    return run


@pytest.mark.parametrize("ignored", [(), ("SIGINT",)])
def test_a_run_is_stopped_as_by_ctrl_c(unfinished: Path, begin: Begin, ignored: tuple[str, ...]) -> None:
    process = begin(unfinished, *ignored)
    found = stop(unfinished, wait_s=60)
    assert found.pid == process.pid
    assert process.wait(60) in (1, -signal.SIGINT)  # Python's own way to end after KeyboardInterrupt
    assert found.listed is not None
    assert (found.listed.state, found.listed.finished) == (State.STOPPED, 30)
    assert found.go_on == f"longlook run {unfinished} --resume {unfinished}"


def test_a_process_that_does_not_end_is_left_alone_after_the_wait(unfinished: Path, begin: Begin) -> None:
    process = begin(unfinished, "SIGINT", "SIGTERM")
    with pytest.raises(MachineError, match="has not ended") as caught:
        stop(unfinished, wait_s=0.3)
    assert f"kill -9 {process.pid}" in (caught.value.hint or "")
    assert process.poll() is None


def test_a_run_that_nobody_writes_to_is_not_stopped(unfinished: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="at 30 of 40 trials") as caught:
        stop(unfinished, wait_s=1)
    assert "--resume" in (caught.value.hint or "")
    with pytest.raises(InputError, match="not a run folder"):
        stop(tmp_path / "nowhere", wait_s=1)


def test_the_follower_sees_trials_end(unfinished: Path) -> None:
    with RunFolder.open(unfinished):
        follower = Follower(unfinished)
        seen = follower.look()
        assert (seen.stage, seen.finished, seen.planned) == (Stage.TRIALS, 30, 40)
        assert seen.left_s is not None
        for trial in (unfinished.parents[1] / "aside").iterdir():
            trial.rename(unfinished / "trials" / trial.name)
        assert follower.look().stage is Stage.ANALYSIS
    assert follower.look().stage is Stage.ENDED


def test_watching_ends_with_the_run(
    unfinished: Path, begin: Begin, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("longlook.instruments.runs.watch._LOOKS_EVERY_S", 0.05)
    process = begin(unfinished)
    looks = 0

    def seen(_: object) -> None:
        nonlocal looks
        looks += 1
        if looks == 3:
            process.kill()
            process.wait()

    with pytest.raises(LonglookError, match="at 30 of 40 trials"):
        watch(Follower(unfinished), lines_printer(as_json=True), seen)
    first, *_, last = map(json.loads, capsys.readouterr().out.splitlines())
    assert (first["event"], first["finished"], first["planned"]) == ("progress", 30, 40)
    assert (last["event"], last["state"]) == ("run", "stopped")


def leave(run: Path, then: str) -> "subprocess.CompletedProcess[str]":
    """Leave a process to itself that runs the code `then`."""
    return subprocess.run([sys.executable, "-c", LEAVER, str(run), then], capture_output=True, text=True, check=False)


def test_a_detached_process_goes_on_in_a_session_of_its_own(finished: Path, tmp_path: Path) -> None:
    run = tmp_path / "new" / "run"
    then = f"""
import os, shutil
shutil.copytree({str(finished)!r}, run)
from longlook.core import RunFolder
with RunFolder.open(run):
    print(os.getsid(0) == os.getpid(), sys.stdin.read() == "")
    while not (run / "end").exists():
        time.sleep(0.05)
"""
    left = leave(run, then)
    assert left.returncode == 0, left.stderr
    pid = int(left.stdout)
    wait_until(lambda: log_of(run).read_text() == "True True\n")
    holder = holder_of(run)
    assert holder is not None
    assert holder.pid == pid
    assert (run.parent / ".gitignore").read_text() == "*\n"
    (run / "end").touch()
    wait_until(lambda: holder_of_file(log_of(run)) is None)


def test_a_detached_process_that_fails_at_once_is_reported(tmp_path: Path) -> None:
    run = tmp_path / "run"
    failed = leave(run, "print('longlook: no such thing'); sys.exit(2)")
    assert failed.returncode == 1  # LonglookError, which the command turns into the exit code
    assert "LonglookError: no such thing" in failed.stderr


def test_two_processes_do_not_share_a_log(tmp_path: Path) -> None:
    run = tmp_path / "run"
    run.with_name("run.log").write_text("before\n")
    first = leave(run, "print('first')\nwhile not Path(sys.argv[1] + '.end').exists(): time.sleep(0.05)")
    assert first.returncode == 0, first.stderr
    follower = Follower(run)
    assert follower.look().stage is Stage.INSTALLING
    second = leave(run, "print('second')")
    assert "in use by another longlook" in second.stderr
    run.with_name("run.end").touch()
    wait_until(lambda: follower.look().stage is Stage.ENDED)
    assert log_of(run).read_text() == "before\nfirst\n"
    assert not os.path.lexists(run)
