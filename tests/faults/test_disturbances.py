"""What a disturbance of the certificate starts ends with it, even if it is broken off."""

import sys
from pathlib import Path

import pytest

from longlook.instruments.certify import disturbances
from tests.faults.harness import wait_until


def alive(marker: str) -> list[int]:
    """Processes that have a marker among their arguments."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if marker.encode() in path.read_bytes():
                found.append(int(path.parent.name))
        except OSError:
            continue
    return found


def test_everything_that_a_disturbance_started_ends_with_its_block(tmp_path: Path) -> None:
    marker = str(tmp_path / "marker")
    sleep = "import time; time.sleep(999)"
    script = f"import subprocess, sys; subprocess.Popen([sys.executable, '-c', {sleep!r}, sys.argv[1]]); {sleep}"
    with pytest.raises(KeyboardInterrupt), disturbances._running([(sys.executable, "-c", script, marker)]):
        wait_until(lambda: len(alive(marker)) == 2, "the program and its child run", within_s=60)
        raise KeyboardInterrupt
    assert alive(marker) == []
