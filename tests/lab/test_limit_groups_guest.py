"""Limits of tasks and memory in control groups of version 2, by a kernel that has both controllers there.

It is Debian's User-Mode Linux (apt-get install user-mode-linux): a machine whose controllers belong to version 1 cannot
show them in version 2.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import limit_group_probe

pytestmark = [pytest.mark.lab, pytest.mark.timeout(300)]

KERNEL = shutil.which("linux.uml")
INIT = """#!/bin/sh
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t tmpfs tmp /tmp
mount -t cgroup2 none /sys/fs/cgroup
echo '+pids +memory' > /sys/fs/cgroup/cgroup.subtree_control
PYTHONDONTWRITEBYTECODE=1 PYTHONPATH={path} {python} {probe}
echo o > /proc/sysrq-trigger
sleep 60
"""


@pytest.mark.skipif(KERNEL is None or os.geteuid() != 0, reason="needs user-mode-linux of Debian, and root")
def test_the_kernel_keeps_the_limits_and_names_the_broken_one(tmp_path: Path) -> None:
    root, init = Path(__file__).parents[2], tmp_path / "init"
    init.write_text(INIT.format(path=f"{root / 'src'}:{root}", python=sys.executable, probe=limit_group_probe.__file__))
    init.chmod(0o755)
    options = ("mem=512M", "quiet", "loglevel=0", "rootfstype=hostfs", "rootflags=/", "ro")
    done = subprocess.run(
        [str(KERNEL), *options, f"init={init}", "con=null", "con0=fd:0,fd:1"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        env={**os.environ, "TMPDIR": str(tmp_path)},
        timeout=240,
        check=False,
    )
    (line,) = [line for line in done.stdout.splitlines() if line.startswith("probe: ")]
    answers = json.loads(line.removeprefix("probe: "))
    assert (answers["version"], answers["bounds"], answers["left"]) == (2, ["memory", "tasks"], [])
    assert answers["honest"] == {"code": 0, "out": "0::/honest\n", "broken": None, "alarm": False}
    assert (answers["forks"]["broken"], answers["forks"]["alarm"]) == ("tasks", True)
    assert (answers["fills"]["broken"], answers["fills"]["code"]) == ("memory", -9)
