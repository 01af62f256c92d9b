"""The agent by itself: one job from a file, as a guest runs it, and nothing heavy imported."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from longlook.core import codec
from tests.faults.harness import Home

HEAVY = {"pandas", "numpy", "pyarrow", "scipy", "pydantic", "typer", "rich", "altair", "cryptography"}


def test_the_agent_imports_nothing_heavy() -> None:
    code = "import sys, longlook.lab.agent, longlook.lab.laboratory; print(*sys.modules)"
    names = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert {name.partition(".")[0] for name in names} & HEAVY == set()


@pytest.mark.lab
@pytest.mark.realtime
def test_one_job_from_a_file(home: Home) -> None:
    job = home.job()
    order = home.path / "job.json"
    order.write_text(json.dumps(codec.encode(job)))
    command = [sys.executable, "-m", "longlook.lab.agent", "--job", str(order)]
    done = subprocess.run(command, env=home.environment(), capture_output=True, check=True, timeout=60)
    answer = json.loads(done.stdout)
    assert answer["event"] == "run"
    saved = json.loads((Path(job.folder) / "run.json").read_text())
    assert saved == answer["run"]
    assert (saved["outcome"], saved["engine"]) == ("ok", "live")


@pytest.mark.lab
def test_one_job_that_the_machine_cannot_run(home: Home) -> None:
    order = home.path / "job.json"
    order.write_text(json.dumps(codec.encode(home.job(congestion_control="quibic"))))
    command = [sys.executable, "-m", "longlook.lab.agent", "--job", str(order)]
    done = subprocess.run(command, env=home.environment(), capture_output=True, check=False, timeout=60)
    assert done.returncode == 3
    assert json.loads(done.stdout)["event"] == "machine_error"
