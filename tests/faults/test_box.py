"""The box around a guest: what a program that left its guest finds there, and machines that cannot make one whole."""

import json
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from longlook.core.errors import MachineError
from longlook.core.model import Outcome
from longlook.core.programs import box_program
from longlook.engines.virtual import VirtualEngine, groups
from longlook.engines.virtual.box import Box, Layers, layers_of, shown_in_box
from longlook.engines.virtual.probe import find_guest
from longlook.lab.host_paths import python_paths
from longlook.lab.linux import limit_groups
from longlook.lab.linux.limit_groups import LimitGroup
from tests.faults.guest_harness import GuestHome
from tests.faults.harness import results, wait_until
from tests.faults.test_guest_machine import REFUSING

pytestmark = [pytest.mark.lab, pytest.mark.timeout(600)]

PROBE = Path(__file__).with_name("box_probe.py")
USER, TASKS, MEMORY_BYTES = 65519, 24, 16 << 20
IS_ROOT = os.geteuid() == 0


def _in_box(folder: Path, work: str, group: LimitGroup | None = None) -> tuple[dict[str, Any], Layers]:
    """What the probe printed, run in a box, and the layers of that."""
    exchange, place = folder / "exchange", folder / "secrets"
    exchange.mkdir()
    place.mkdir()
    secret = place / "secret"
    secret.write_text("secret")
    (exchange / "init").write_text("")
    shown = shown_in_box([*python_paths(), str(PROBE)])
    reading, writing = os.pipe2(os.O_CLOEXEC)
    box = Box(exchange, USER, True, MEMORY_BYTES, shown, None, group)
    arguments = [sys.executable, "-S", str(PROBE), str(os.getpid()), str(secret), work]
    command = [*box.command(writing), *arguments]
    command[command.index("--tasks") + 1] = str(TASKS)
    done = subprocess.run(command, stdout=subprocess.PIPE, pass_fds=(writing,), check=True, timeout=60, env={})
    os.close(writing)
    with os.fdopen(reading) as report:
        return json.loads(done.stdout), layers_of(report.read())


def test_whoever_leaves_a_guest_is_nobody_in_an_empty_box(tmp_path: Path) -> None:
    found, layers = _in_box(tmp_path, "attempts")
    assert found["done"] == ["write to the exchange folder", "write to the memory"]
    assert found["uid"] == USER
    assert {"mnt", "srv", "boot", "run"} & set(found["root"]) == {"run"}
    assert {"mounts", "processes", "network", "seccomp", "privileges", "limits"} <= set(layers.there)
    assert ("user" in layers.there) == IS_ROOT


def test_processes_of_a_box_are_bounded_without_control_groups(tmp_path: Path) -> None:
    found, _ = _in_box(tmp_path, "processes")
    assert found["count"] <= TASKS


def test_the_memory_of_a_guest_is_a_file_system_of_its_size(tmp_path: Path) -> None:
    found, _ = _in_box(tmp_path, "file")
    assert MEMORY_BYTES < found["count"] <= MEMORY_BYTES + (64 << 20)


@pytest.mark.skipif(
    not {limit_groups.TASKS, limit_groups.MEMORY} <= set(limit_groups.own_controllers().folders) or not IS_ROOT,
    reason="no control group here",
)
def test_memory_that_no_process_owns_is_bounded_by_a_control_group(tmp_path: Path) -> None:
    with groups.bounded(7, 128 << 20, 4096) as group:
        assert group is not None
        found, layers = _in_box(tmp_path, "memory", group)
        assert found["signal"] == signal.SIGKILL
        assert group.broken() == limit_groups.MEMORY
    assert "cgroup" in layers.there
    assert not any(folder.exists() for folder in group.folders.values())


def test_a_kernel_ends_with_its_launcher(guest_home: GuestHome) -> None:
    find_guest()  # so that the only guest is that of the trial
    patient = replace(guest_home, spin_timeout_s="60")
    driver = patient.drive(patient.job(client={"fault": "spins"}), engine="virtual")
    launchers = wait_until(lambda: len(guest_home.guests()) > 3 and guest_home.guests(), "a guest runs")
    os.kill(launchers[0], signal.SIGKILL)
    (answer,) = results(driver)
    assert answer["run"]["outcome"] == Outcome.INVALID
    assert "SIGKILL" in answer["run"]["reason"]
    assert guest_home.guests() == []


def test_without_namespaces_landlock_confines_a_guest(guest_home: GuestHome) -> None:
    driver = guest_home.drive(guest_home.job(), prefix=(*REFUSING, "namespaces"), engine="virtual")
    (answer,) = results(driver)
    assert answer["run"]["outcome"] == Outcome.OK, answer


@pytest.mark.parametrize("trusted", [False, True])
def test_where_nothing_confines_a_guest_only_trusted_programs_run(guest_home: GuestHome, *, trusted: bool) -> None:
    out = guest_home.path / "out"
    options = ("--trust-programs",) if trusted else ()
    study = str(guest_home.study())
    prefix = (*REFUSING, "namespaces,landlock,users")
    run = guest_home.longlook("run", study, "--out", str(out), *options, prefix=prefix)
    output = "".join(run.communicate(timeout=120))
    if trusted:
        assert run.returncode == 0, output
        assert "nothing confines a program that leaves its guest" in " ".join(output.split())
    else:
        assert run.returncode == 3, output
        assert "a guest cannot be confined here" in output
        assert "--trust-programs" in output
        assert not list(out.glob("trials/*/run.json"))


def test_a_kernel_that_another_user_cannot_execute_is_named(
    guest_home: GuestHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = guest_home.path / "linux"
    program.write_bytes(Path(find_guest().kernel).read_bytes())
    program.chmod(0o700)
    monkeypatch.setenv("LONGLOOK_KERNEL", str(program))
    with VirtualEngine() as engine, pytest.raises(MachineError, match=f"{program} cannot be read by the unprivileged"):
        engine.run(guest_home.job())


def test_what_root_alone_may_read_is_named_with_a_hint(guest_home: GuestHome) -> None:
    job = guest_home.job()
    Path(job.identity.key).chmod(0o600)
    with (
        VirtualEngine() as engine,
        pytest.raises(MachineError, match="cannot be read by the unprivileged user") as raised,
    ):
        engine.run(job)
    assert "umask 022" in (raised.value.hint or "")


def test_a_guest_says_what_its_box_is_made_of(guest_home: GuestHome) -> None:
    guest = find_guest()
    assert {"mounts", "processes", "network", "seccomp"} <= set(guest.box.there)
    assert str(replace(guest.box, missing={"landlock": "this kernel has none"})).endswith(
        "missing: landlock (this kernel has none)"
    )
    assert box_program().path.endswith("longlook-box")
