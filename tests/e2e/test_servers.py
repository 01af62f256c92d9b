"""`longlook calibrate --servers` with real servers in virtual time."""

import json
from pathlib import Path

import pytest

from longlook.core.run_folder import RunFolder
from tests.support.command_line import longlook

pytestmark = [pytest.mark.lab, pytest.mark.slow, pytest.mark.timeout(600)]


def test_a_server_is_compared_with_the_reference_in_waiting_and_receiving(tmp_path: Path) -> None:
    answer = longlook("calibrate", "--server", "quic-go:h2", "--rounds", "1", "--out", "run", "--json", cwd=tmp_path)
    assert answer.returncode == 0, answer.stderr
    found = json.loads(answer.stdout.splitlines()[-1])
    assert found["event"] == "servers"
    apache, go = found["servers"]
    assert (apache["reference"], go["reference"]) == (True, False)
    # Apache waits for a round trip more than Go: its first record does not fit into the first flight.
    assert 0.025 < apache["waiting_s"] - go["waiting_s"] < 0.045
    assert 0.8 < go["receiving_s"] < 1.2  # 10 MB at 100 Mbit/s are 0.8 s
    assert RunFolder.open(tmp_path / "run").study.id == "servers"
    assert (tmp_path / "run" / "report" / "index.html").exists()
