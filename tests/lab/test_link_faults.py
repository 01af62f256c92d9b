"""What the router says when it cannot work, and that it ends."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from longlook.core.errors import LonglookError
from longlook.core.programs import link_program
from longlook.instruments.calibrate.link.link_probe import LinkBed, Source
from longlook.lab.linux.namespace import Namespace
from longlook.timeline.normalise.link_log import read_link_log

pytestmark = pytest.mark.lab

EMPTY = {"version": 2, "seed": 1, "linger_ns": 0, "up": [], "down": []}
SMALL_DISK = ["unshare", "--mount", "sh", "-c", 'mount -t tmpfs -o size=64k tmpfs "$0" && exec "$@"']


def run_router(folder: Path, config: str, *arguments: str) -> tuple[int, dict[str, Any]]:
    """Run the router in an empty namespace until it gives up; exit code and error line."""
    path = folder / "link.json"
    path.write_text(config, encoding="utf-8")
    command = [link_program().path, "run", "--config", str(path), "--log", str(folder / "link.bin"), *arguments]
    with Namespace() as namespace, namespace.inside():
        done = subprocess.run(command, capture_output=True, text=True, timeout=10, check=False)
    (line,) = done.stdout.splitlines()
    return done.returncode, json.loads(line)


def test_a_missing_interface(tmp_path: Path) -> None:
    code, line = run_router(tmp_path, json.dumps(EMPTY), "--client-if", "rc", "--server-if", "rs")
    assert code == 1
    assert line["event"] == "error"
    assert "interface `rc` cannot be found" in line["reason"]
    assert "ip link" in line["hint"]


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ("{", "not JSON"),
        (json.dumps(EMPTY | {"sed": 1}), "unknown key `sed`; did you mean `seed`?"),
        (json.dumps(EMPTY | {"up": [{"kind": "los", "parameters": {}}]}), "up, stage 0: unknown kind `los`"),
        (
            json.dumps(EMPTY | {"down": [{"kind": "loss", "parameters": {"probability": 2}}]}),
            "down, stage 0 (loss): key `probability` is 2: it must be a number from 0 to 1",
        ),
    ],
)
def test_a_bad_configuration(tmp_path: Path, config: str, expected: str) -> None:
    code, line = run_router(tmp_path, config, "--client-if", "rc", "--server-if", "rs")
    assert code == 2
    assert expected in line["reason"]
    assert "longlook-link describe" in line["hint"]


def test_a_descriptor_that_is_no_tun_device(tmp_path: Path) -> None:
    code, line = run_router(tmp_path, json.dumps(EMPTY), "--client-tun-fd", "77", "--server-tun-fd", "78")
    assert code == 2
    assert "descriptor 77 of the client's TUN device" in line["reason"]


def test_an_interface_that_disappears_ends_the_run(tmp_path: Path) -> None:
    with LinkBed(tmp_path, EMPTY) as bed:
        device = bed.server.end.router_device
        bed.router.netlink.link("del", index=bed.router.index(device))
        summary, error = bed.wait()
        assert bed.process.returncode == 1
    assert summary["event"] == "summary"
    assert f"{device} failed while the router ran" in error["reason"]
    assert read_link_log(bed.log).truncated_bytes == 0


def test_a_disk_that_fills_up_ends_the_run(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    with LinkBed(tmp_path, EMPTY, wrapper=[*SMALL_DISK, str(disk)], log=disk / "link.bin") as bed:
        with Source(bed.client) as source:
            source.send(3_000, 5_000, 100)
        summary, error = bed.wait()
        assert bed.process.returncode == 1
    assert summary["event"] == "summary"
    assert "No space left on device" in error["reason"]
    assert "free space" in error["hint"]


def test_a_full_disk_at_the_start(tmp_path: Path) -> None:
    bed = LinkBed(tmp_path, EMPTY, log=Path("/dev/full"))
    with pytest.raises(LonglookError, match=r"/dev/full cannot be written: No space left"), bed:
        pass
