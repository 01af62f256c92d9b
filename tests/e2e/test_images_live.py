"""A container image in real time: its program sees its own root in namespaces of its own, confined as every program."""

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from longlook.core import Outcome
from tests.support.image_programs import image_of_quic_go

pytestmark = [pytest.mark.lab, pytest.mark.slow, pytest.mark.realtime, pytest.mark.timeout(300)]
UNPRIVILEGED = ("setpriv", "--bounding-set=-all,+setfcap", "--inh-caps=-all")
"""Root in name only: may map its user into a namespace, as any ordinary user may, and nothing else."""
PROGRAM = "quic-go@0.65.0"
SERVES = b"#!/bin/sh\n/endpoint\n"
LOOKS_AROUND = b"""#!/bin/sh
test "$HOME" = /tmp && test -z "$PYTHONHASHSEED" || exit 3
echo "root:" /* >&2
for each in /proc/[0-9]*; do echo "process: $each $(echo $each/root/*)" >&2; done
echo written > /var/state/file && echo written > /dev/shm/file || exit 4
echo refused > /bin/file && exit 5
echo refused > /www/file && exit 6
echo refused > /proc/sys/kernel/core_pattern && exit 7
echo "a line for people"
/endpoint
"""
FILLS = b"#!/bin/sh\ni=0; while : > /logs/$i; do i=$((i+1)); done\n"
ASKS = b"#!/bin/sh\necho a line for people; exec /endpoint\n"


def outcome(server: str, client: str, out: Path, prefix: Sequence[str] = ()) -> dict[str, Any]:
    command = [*prefix, sys.executable, "-m", "tests.support.one_live_trial", server, client, str(out)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def served(found: dict[str, Any]) -> bool:
    """Whether all files arrived; a machine that was late meanwhile makes no difference to that."""
    return found["outcome"] == Outcome.OK or bool(found["late"])


def stderr_of(out: Path, role: str) -> str:
    """The last attempt's: one that the machine disturbed stays beside it."""
    files = out.rglob(f"{role}.stderr")
    return max(files, key=lambda file: file.stat().st_mtime_ns).read_text()


def test_a_server_sees_its_root_and_no_other_process(tmp_path: Path) -> None:
    server, out = image_of_quic_go(tmp_path / "a.tar", LOOKS_AROUND), tmp_path / "run"
    found = outcome(server, PROGRAM, out)
    assert served(found), found
    lines = stderr_of(out, "server").splitlines()
    (root,) = [line.removeprefix("root: ") for line in lines if line.startswith("root: ")]
    assert {"/run_endpoint.sh", "/www", "/certs"} <= set(root.split())
    assert not {"/home", "/root", "/usr", "/boot"} & set(root.split())
    processes = [line.split()[1:] for line in lines if line.startswith("process: ")]
    assert ["/proc/1", "/proc/1/root/*"] in processes, "the first process of the compartment shows nothing"
    assert len(processes) <= 3


def test_a_client_is_judged_by_its_files_and_timed_by_the_link(tmp_path: Path) -> None:
    name = image_of_quic_go(tmp_path / "a.tar", ASKS)
    found = outcome(name, name, tmp_path / "run")
    assert served(found), found
    assert "load" in found["timed"]


@pytest.mark.parametrize("start", [SERVES, ASKS], ids=["server", "client"])
def test_a_user_without_privilege_runs_images_in_a_user_namespace(tmp_path: Path, start: bytes) -> None:
    image = image_of_quic_go(tmp_path / "a.tar", start)
    ends = (image, PROGRAM) if start is SERVES else (PROGRAM, image)
    found = outcome(*ends, tmp_path / "run", UNPRIVILEGED)
    assert served(found), found


def test_a_program_that_fills_its_root_has_failed(tmp_path: Path) -> None:
    found = outcome(image_of_quic_go(tmp_path / "a.tar", FILLS), PROGRAM, tmp_path / "run")
    assert found["outcome"] == Outcome.FAILED
    assert "filled its root, which holds 256 MiB" in found["reason"]
