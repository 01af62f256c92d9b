"""Uploads in virtual time, with real programs: what arrives, and what fails with a clear reason."""

import json
from pathlib import Path

import pandas as pd
import pytest

from longlook.core.run_folder import RunFolder
from tests.support.command_line import longlook

pytestmark = [pytest.mark.lab, pytest.mark.slow]

STUDY = """
schema = 1
title = "Uploads"
question = "What becomes of an upload?"
rounds = 1
around = "none"
metrics = ["upload_time", "page_load_time", "throughput", "packet_loss", "congestion_window"]
contrasts = [["h2", "h3"]]
capture = { qlog = true, tcp = true }
defaults = { client = "quic-go", server = "quic-go", connection = "cold" }
workload = { kind = "upload", object = "300KB", method = "PUT", expect = "100-continue", download = "100KB" }
network = { down.rate = "50Mbit", up.rate = "5Mbit" }
factors = [{ name = "rtt", sets = "network.rtt", levels = ["40ms"] }]

[arms.h2]
protocol = "h2"
congestion_control = "cubic"

[arms.h3]
protocol = "h3"
"""
FAILING = {
    "refused": "HTTP status 413; the server, of /upload.bin: refused with 413, after 0 of 300000 bytes",
    "early": "the server answered before it had read the whole body: 150000 bytes, expected 300000",
    "reset": "the server, of /upload.bin: reset in the middle, after 150000 of 300000 bytes",
}


def ran(folder: Path, study: str, exit_code: int) -> Path:
    file, out = folder / "study.toml", folder / "run"
    file.write_text(study)
    answer = longlook("run", str(file), "--out", str(out))
    assert answer.returncode == exit_code, answer.stderr
    return out


def test_an_upload_arrives_whole_and_is_measured_at_its_sender(tmp_path: Path) -> None:
    run = ran(tmp_path, STUDY, 0)
    samples = pd.read_parquet(run / "samples.parquet").set_index(["arm", "metric"])["value"]
    for arm in ("h2", "h3"):
        assert samples[arm, "upload_time"] < samples[arm, "page_load_time"]
        assert 0.6 * 5 < samples[arm, "throughput"] < 5
        assert samples[arm, "congestion_window"] > 14
    folder = RunFolder.open(run)
    for trial in folder.plan.trials:
        ((path, _),) = folder.attempts(trial.id)
        lines = [json.loads(text) for text in (path / "server.jsonl").read_text().splitlines()]
        (upload,) = (line for line in lines if line["event"] == "upload")
        assert (upload["method"], upload["bytes"], upload["error"]) == ("PUT", 300_000, None)


@pytest.mark.parametrize("how", list(FAILING))
def test_an_upload_that_is_not_taken_whole_has_failed_with_the_reason(tmp_path: Path, how: str) -> None:
    knob = f'server_knobs.upload_answer = "{how}"'
    study = STUDY.replace('protocol = "h2"', f'protocol = "h2"\n{knob}').replace('expect = "100-continue", ', "")
    samples = pd.read_parquet(ran(tmp_path, f"{study}{knob}\n", 1) / "samples.parquet")
    assert set(samples["outcome"]) == {"failed"}
    assert all(FAILING[how] in reason for reason in samples["reason"])
