"""A transfer over a known path, rebuilt from the trace of one end and explained by intervention."""

import json
from pathlib import Path

import pytest

from longlook.core import RunFolder, units
from tests.support.command_line import longlook

pytestmark = [pytest.mark.lab, pytest.mark.slow]

STUDY = """
schema = 1
title = "A known path"
question = "Is it found?"
around = "none"
losses = "sampled"
metrics = ["page_load_time"]
defaults = { protocol = "h3", connection = "cold", client = "quic-go@0.65.0", server = "quic-go@0.65.0" }
workload = { kind = "download", object = "600KB" }
network = { rate = "20Mbit", rtt = "40ms", queue = "1bdp", down.loss = "index(60, 61, 150, 280)" }
arms.known = {}
expect.load = "< 60s"
"""


def test_path_and_losses_are_found_and_the_suspected_cause_is_confirmed(tmp_path: Path) -> None:
    (tmp_path / "known.toml").write_text(STUDY)
    known = longlook("run", str(tmp_path / "known.toml"), "--out", str(tmp_path / "known"))
    assert known.returncode == 0, known.stderr
    [trial] = RunFolder.open(tmp_path / "known").plan.trials
    [trace] = (tmp_path / "known" / "trials" / trial.id / "qlog" / "server").iterdir()

    done = longlook("reproduce", str(trace), "--out", str(tmp_path / "again"), "--json")
    assert done.returncode == 0, done.stderr
    [answer] = [event for line in done.stdout.splitlines() if (event := json.loads(line))["event"] == "reproduction"]
    found = {part["what"]: part["value"] for part in answer["fitted"]}
    assert units.parse_time(found["round trip"]) == pytest.approx(40e6, rel=0.02)
    assert found["losses"] == 4
    assert answer["likeness"]["alike"], answer["likeness"]
    tests = {test["cause"]: test["conclusion"] for test in answer["tests"]}
    assert tests["random_loss_response"] == "confirmed in the trial"

    repeated = longlook("run", str(tmp_path / "again" / "study.toml"), "--out", str(tmp_path / "repeated"))
    assert repeated.returncode == 0, repeated.stdout  # the load lasts as long as the study expects it to


def test_a_file_that_is_no_transfer_is_refused_and_nothing_is_left(tmp_path: Path) -> None:
    (tmp_path / "x.sqlog").write_text("{}")
    done = longlook("reproduce", str(tmp_path / "x.sqlog"), "--out", str(tmp_path / "out"))
    assert done.returncode == 2
    assert not (tmp_path / "out").exists()
