"""Programs that attack the guest's kernel from inside, to be root on the host: all they do is fail their trial."""

import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from longlook.core.model import Outcome
from longlook.engines.virtual import VirtualEngine, probe
from tests.faults.guest_harness import GuestHome
from tests.faults.harness import PLUGINS

pytestmark = [pytest.mark.lab, pytest.mark.timeout(600)]

SOURCE = PLUGINS / "programs" / "break_out.c"
FLAGS = (
    "-O1",
    "-static",
    "-mno-red-zone",
    "-fcf-protection=none",
)  # its jumps into the stub have no stack of their own


@pytest.fixture
def attack(guest_home: GuestHome) -> Path:
    """The program of attacks, for which the machine needs what it needs to build the guest's kernel."""
    program = guest_home.path / "cache" / "break_out"
    program.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run([shutil.which("gcc") or "gcc", *FLAGS, "-o", program, SOURCE], check=True)
    return program


@pytest.mark.parametrize("userspace", ["seccomp", "ptrace"])
@pytest.mark.parametrize("way", ["stub", "trap", "forge", "time", "parts"])
def test_no_attack_on_the_kernel_leads_anywhere(
    guest_home: GuestHome, attack: Path, monkeypatch: pytest.MonkeyPatch, way: str, userspace: str
) -> None:
    guest = probe.find_guest()
    monkeypatch.setattr("longlook.engines.virtual.find_guest", lambda: replace(guest, userspace=userspace))
    monkeypatch.setenv("LONGLOOK_SPIN_TIMEOUT_S", "60")  # by ptrace its faults take seconds of CPU
    job = guest_home.job(client={"fault": f"runs {attack} {way}"})
    with VirtualEngine() as engine:
        run = engine.run(job)
    assert "survived: 0 of" in (Path(job.folder) / "client.stderr").read_text()
    if userspace == "ptrace" and way in ("trap", "parts"):  # the trap, and a fault, end the program
        assert run.outcome is Outcome.OK
        return
    assert run.outcome is Outcome.FAILED
    assert (run.reason or "").startswith("the guest's kernel ended the program break_out: ")
    assert not run.exact
    assert "was ended by the kernel" in (Path(job.folder) / "console.log").read_text()


def test_a_kernel_that_does_not_keep_programs_in_runs_them_by_ptrace(
    guest_home: GuestHome, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel = tmp_path / "linux"
    kernel.write_bytes(Path(probe.find_guest().kernel).read_bytes().replace(b"was ended by the kernel", b"-" * 23))
    kernel.chmod(0o755)
    monkeypatch.setenv("LONGLOOK_KERNEL", str(kernel))
    guest = probe.find_guest()
    assert guest.userspace == "ptrace"
    assert "by ptrace" in (probe.note_on(guest) or "")
