"""A run that is left to itself, watched and stopped goes on to the same results: real programs in virtual time."""

import json
import re
from pathlib import Path

import pytest

from longlook.instruments.runs.holder import holder_of
from tests.support.command_line import longlook

pytestmark = [pytest.mark.lab, pytest.mark.slow, pytest.mark.timeout(3000)]

STUDY = ("demo", "--only", "client=quic-go", "--only", "size=5KB", "--only", "rate=10Mbit", "--no-cache")


def digest(text: str) -> str:
    found = re.search(r"exact: 20 trials, results (\w+)", text)
    assert found is not None, text
    return found[1]


def test_a_left_run_is_watched_stopped_and_continued(tmp_path: Path) -> None:
    run = "runs/left"
    left = longlook("run", *STUDY, "--out", run, "--detach", "--json", cwd=tmp_path)
    assert left.returncode == 0, left.stderr
    told = json.loads(left.stdout)
    assert told["event"] == "detached"
    assert Path(told["log"]).is_file()
    (found,) = json.loads(longlook("runs", "--json", cwd=tmp_path).stdout)
    assert found["state"] in ("running", "complete")
    stopped = longlook("stop", run, "--json", cwd=tmp_path)
    assert stopped.returncode == 0, stopped.stderr
    answer = json.loads(stopped.stdout)
    assert answer["pid"] == told["pid"]
    assert holder_of(tmp_path / run) is None
    (found,) = json.loads(longlook("runs", "--json", cwd=tmp_path).stdout)
    assert (found["state"], found["finished"]) == ("stopped", answer["finished"])
    again = longlook(*answer["go_on"].split()[1:], cwd=tmp_path)
    assert again.returncode == 0, again.stderr
    watched = longlook("watch", run, cwd=tmp_path)
    assert watched.returncode == 0, watched.stderr
    plain = longlook("run", *STUDY, "--out", "runs/plain", cwd=tmp_path)
    assert digest(again.stdout) == digest(plain.stdout)


def test_a_mistake_is_reported_where_the_run_was_left(tmp_path: Path) -> None:
    (tmp_path / "runs" / "taken").mkdir(parents=True)
    (tmp_path / "runs" / "taken" / "file").touch()
    left = longlook("run", *STUDY, "--out", "runs/taken", "--detach", cwd=tmp_path)
    assert left.returncode == 2
    assert "exists and is not empty" in left.stderr
