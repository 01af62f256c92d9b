"""Machines on which guests run in other ways, or cannot run: the user gets the reason and a hint."""

import json
import os
import shlex
import shutil
import site
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

import longlook
from longlook.core import codec
from longlook.core.errors import MachineError
from longlook.core.model import Outcome
from longlook.core.programs import box_program
from longlook.engines.virtual import VirtualEngine
from longlook.engines.virtual.probe import find_guest
from longlook.lab.linux.view import hidden_folders
from tests.faults.guest_harness import GuestHome, kernel
from tests.faults.harness import DRIVER, results

pytestmark = [pytest.mark.lab, pytest.mark.timeout(600)]

REFUSING = (sys.executable, str(Path(__file__).with_name("seccomp_run.py")))
NOBODY = 65534
SMALL_SHM = ("unshare", "--mount", "--propagation=private", "sh", "-c")


def test_where_seccomp_is_refused_guests_run_by_ptrace_and_say_so(guest_home: GuestHome) -> None:
    outs = [guest_home.path / name for name in ("run-1", "run-2")]
    for out, prefix in zip(outs, ((), (*REFUSING, "seccomp")), strict=True):
        run = guest_home.longlook("run", str(guest_home.study()), "--out", str(out), prefix=prefix)
        output = "".join(run.communicate(timeout=120))
        assert run.returncode == 0, output
        assert ("by ptrace" in output) == bool(prefix)
        manifest = json.loads((out / "manifest.json").read_text())
        assert manifest["settings"]["virtual"]["userspace"] == ("ptrace" if prefix else "seccomp")
    # The record of one policy is not believed under another, and the results are the same.
    logs = [{path.name: path.read_bytes() for path in out.glob("trials/*/link.bin")} for out in outs]
    assert logs[0] == logs[1]


@pytest.mark.parametrize("junk", ["/bin/true", "script"])
def test_a_kernel_that_is_none_is_named(guest_home: GuestHome, junk: str) -> None:
    path = Path(junk)
    if junk == "script":
        path = guest_home.path / "linux"
        path.write_text("#!/bin/sh\necho I am no kernel\n")
        path.chmod(0o755)
    out = guest_home.path / "out"
    extra = {"LONGLOOK_KERNEL": str(path)}
    run = guest_home.longlook("run", str(guest_home.study()), "--out", str(out), extra=extra)
    _, errors = run.communicate(timeout=60)
    assert run.returncode == 3
    assert f"{path} does not boot here" in errors
    assert "LONGLOOK_KERNEL" in errors
    assert ("I am no kernel" in errors) == (junk == "script")


def test_a_kernel_that_moved_or_changed_is_seen(guest_home: GuestHome, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = guest_home.path / "linux-1", guest_home.path / "linux-2"
    shutil.copy(kernel(), first)
    monkeypatch.setenv("LONGLOOK_KERNEL", str(first))
    assert find_guest().kernel == str(first)
    first.rename(second)
    monkeypatch.setenv("LONGLOOK_KERNEL", str(second))
    assert find_guest().kernel == str(second)
    second.unlink()
    shutil.copy("/bin/true", second)
    with pytest.raises(MachineError, match="does not boot here"):
        find_guest()


@pytest.mark.parametrize("refused", [(), (*REFUSING, "namespaces")], ids=["a box", "no box"])
def test_a_small_dev_shm_is_passed_over(guest_home: GuestHome, refused: tuple[str, ...]) -> None:
    script = f'mount -t tmpfs -o size=64m tmpfs /dev/shm && exec {shlex.join(refused)} "$@"'
    driver = guest_home.drive(guest_home.job(), prefix=(*SMALL_SHM, script, "sh"), engine="virtual")
    (answer,) = results(driver)
    assert answer["run"]["outcome"] == Outcome.OK


def test_a_guest_whose_memory_finds_no_room_gives_the_reason(guest_home: GuestHome) -> None:
    refused = (*REFUSING, "namespaces")  # a box has a file system for the guest's memory
    script = f'mount -t tmpfs -o size=1030m tmpfs /dev/shm && exec {shlex.join(refused)} "$@"'
    job = guest_home.job(client={"fault": "eats_memory"})
    patient = replace(guest_home, spin_timeout_s="20")
    (answer,) = results(patient.drive(job, prefix=(*SMALL_SHM, script, "sh"), engine="virtual"))
    assert answer["run"]["outcome"] == Outcome.INVALID
    assert "/dev/shm is full" in answer["run"]["reason"]


def test_what_a_guest_can_never_see_is_refused(guest_home: GuestHome) -> None:
    with pytest.raises(MachineError, match="/dev/null lies where"):
        hidden_folders(["/usr/bin/env", "/dev/null"])
    assert hidden_folders(["/nowhere", "/usr/bin/env"]) == ()
    place = f"/tmp/{guest_home.path.relative_to('/tmp').parts[0]}"  # where pytest has its folders
    assert hidden_folders([str(guest_home.path), str(guest_home.path / "tmp")]) == (place,)


def test_an_engine_with_default_settings_has_nothing_to_note(guest_home: GuestHome) -> None:
    with VirtualEngine() as engine:
        assert engine.notes() == ()
        assert engine.setting()["userspace"] == "seccomp"


def test_an_ordinary_user_needs_no_privilege(guest_home: GuestHome) -> None:
    python = "/usr/bin/python3"  # the one of the environment may lie in a home that only its owner can read
    program = guest_home.path / "linux"
    shutil.copy(kernel(), program)
    job = guest_home.job()
    order = guest_home.path / "order.json"
    order.write_text(json.dumps([codec.encode(job)]))
    for path in (guest_home.path, *guest_home.path.rglob("*")):
        os.chown(path, NOBODY, NOBODY)
    packages = [str(Path(longlook.__file__).parents[1]), *site.getsitepackages(), str(DRIVER.parents[2])]
    environment = {**guest_home.environment(), "LONGLOOK_KERNEL": str(program), "PYTHONPATH": ":".join(packages)}
    environment |= {"LONGLOOK_LINK": job.programs["link"].path, "HOME": str(guest_home.path)}
    environment |= {"LONGLOOK_BOX": box_program().path}
    command = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "--bounding-set=-all"]
    command += ["--inh-caps=-all", "--no-new-privs"]
    with _traversable(guest_home.path):
        done = subprocess.run(
            [*command, python, str(DRIVER), str(order), "virtual"],
            env=environment,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
            cwd="/",
        )
    if not done.stdout and f"python{sys.version_info[0]}.{sys.version_info[1]}" not in os.path.realpath(python):
        pytest.skip(f"{python} is another version")
    (answer,) = [json.loads(line) for line in done.stdout.splitlines()] or [done.stderr]
    assert answer["run"]["outcome"] == Outcome.OK, answer
    assert answer["run"]["exact"]


@contextmanager
def _traversable(path: Path) -> Iterator[None]:
    """pytest keeps its folders to their owner."""
    modes = {
        folder: folder.stat().st_mode for folder in path.parents if folder.owner() == "root" and folder != Path("/")
    }
    closed = {folder: mode for folder, mode in modes.items() if not mode & 0o001}
    for folder, mode in closed.items():
        folder.chmod(mode | 0o011)
    try:
        yield
    finally:
        for folder, mode in closed.items():
            folder.chmod(mode)
