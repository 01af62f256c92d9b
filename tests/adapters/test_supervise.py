"""Somebody else's server, here a small program: how it is started, read and ended."""

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from longlook.core.paths import adapters_dir
from tests.faults.harness import wait_until
from tests.support.processes import has_ended

FAKE = """
import os, signal, sys, time
log = lambda text: print(text, file=sys.stderr, flush=True)
what, marks = sys.argv[1], sys.argv[2]
def stop(*_):
    print("bye", flush=True)
    if what != "stubborn": sys.exit(3)
signal.signal(signal.SIGTERM, stop)
child = os.fork()
open(f"{marks}/{os.getpid()}", "w").close()
if child == 0:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    while True: time.sleep(60)
if what == "dies": log("no certificate"); log("giving up"); os._exit(4)
if what == "late": time.sleep(0.3)
log("it listens"); print("one", flush=True)
if what == "dies late": time.sleep(0.1); log("out of luck"); os.kill(os.getpid(), signal.SIGABRT)
while True: time.sleep(60)
"""
WRAPPER = """
import sys
from longlook_adapter.lines import emit
from longlook_adapter.options import Options
from longlook_adapter.program import main
from longlook_adapter.supervise import Foreign, supervise
def serve(options):
    def configure(folder, port):
        (folder / "fake.py").write_text(sys.argv[-1])
        argv = (sys.executable, "-S", str(folder / "fake.py"), options.knobs["what"], options.knobs["marks"])
        return Foreign(argv, lambda line: "listens" in line, lambda line: emit("logged", text=line))
    supervise(options, "1.0", configure)
sys.exit(main(sys.argv[1:-1], "fake", ("h2",), serve, None))
"""


@pytest.fixture
def marks(tmp_path: Path) -> Path:
    """A file for every process of the fake, named after its number."""
    folder = tmp_path / "marks"
    folder.mkdir()
    return folder


def start(tmp_path: Path, what: str, port: int = 0) -> subprocess.Popen[str]:
    (tmp_path / "file.pem").touch()
    files = ("--www", str(tmp_path), "--certificate", str(tmp_path / "file.pem"), "--key", str(tmp_path / "file.pem"))
    where = ("--protocol", "h2", "--address", "127.0.0.1", "--port", str(port))
    knobs = ("--knob", f"what={what}", "--knob", f"marks={tmp_path / 'marks'}")
    return subprocess.Popen(
        (sys.executable, "-S", "-c", WRAPPER, "server", *where, *files, *knobs, FAKE),
        env={**os.environ, "PYTHONPATH": str(adapters_dir() / "lib" / "python"), "TMPDIR": str(tmp_path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def next_line(process: subprocess.Popen[str]) -> dict[str, Any]:
    assert process.stdout is not None
    line: dict[str, Any] = json.loads(process.stdout.readline())
    return line


def finish(process: subprocess.Popen[str]) -> Iterator[dict[str, Any]]:
    out, _ = process.communicate(timeout=10)
    return (json.loads(line) for line in out.splitlines())


def await_no_process(marks: Path) -> None:
    """Every process of the fake is gone, or only waits to be reaped."""
    started = [int(mark.name) for mark in marks.iterdir()]
    assert started
    wait_until(lambda: all(map(has_ended, started)), "every process of the fake has ended", within_s=5)


@pytest.mark.parametrize("what", ["plain", "late", "stubborn"])
def test_ready_lines_and_end(tmp_path: Path, marks: Path, what: str) -> None:
    process = start(tmp_path, what)
    lines = [next_line(process), next_line(process)]
    (ready,) = [line for line in lines if line["event"] == "ready"]
    assert (ready["role"], ready["protocol"], ready["address"], ready["version"]) == (
        "server",
        "h2",
        "127.0.0.1",
        "1.0",
    )
    assert ready["port"] > 0
    assert {"event": "logged", "text": "one"} in lines
    process.send_signal(signal.SIGTERM)
    assert list(finish(process)) == [{"event": "logged", "text": "bye"}]
    assert process.returncode == 0
    await_no_process(marks)
    assert not list(tmp_path.glob("longlook-*"))


@pytest.mark.parametrize(
    ("what", "reason"),
    [("dies", "exit code 4): no certificate | giving up"), ("dies late", "signal 6): it listens | out of luck")],
)
def test_unexpected_death(tmp_path: Path, marks: Path, what: str, reason: str) -> None:
    process = start(tmp_path, what)
    *_, error = finish(process)
    assert (error["event"], "supported" in error) == ("error", False)
    assert error["reason"].endswith(reason)
    assert process.returncode == 1
    await_no_process(marks)


def test_a_killed_wrapper_takes_the_program_with_it(tmp_path: Path, marks: Path) -> None:
    process = start(tmp_path, "plain")
    assert {next_line(process)["event"], next_line(process)["event"]} == {"ready", "logged"}
    leader = min(int(mark.name) for mark in marks.iterdir())
    process.kill()
    process.communicate()
    wait_until(lambda: has_ended(leader), "the program has ended", within_s=5)
    for mark in marks.iterdir():  # the fake does not end its own children
        if not has_ended(int(mark.name)):
            os.kill(int(mark.name), signal.SIGKILL)


def test_taken_port(tmp_path: Path, marks: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        process = start(tmp_path, "plain", taken.getsockname()[1])
        (error,) = finish(process)
    assert "in use" in error["reason"]
    assert process.returncode == 1
    assert list(marks.iterdir()) == []
