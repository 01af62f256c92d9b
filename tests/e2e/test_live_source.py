"""A live source in virtual time that is faster than its path, over every carrier, twice with equal digests."""

from pathlib import Path

import pandas as pd
import pytest

from tests.support.command_line import longlook

pytestmark = [pytest.mark.lab, pytest.mark.slow]

STUDY = """
schema = 1
title = "Live"
question = "What becomes of a source that is faster than its path?"
rounds = 1
around = "none"
timeout = "30s"
metrics = ["frame_latency", "late_frames", "dropped_frames", "dropped_at_sender", "frames", "goodput"]
contrasts = [["streams", "one"], ["streams", "datagrams"], ["streams", "tcp"], ["streams", "udp"]]
defaults = { client = "quic-go", server = "quic-go", connection = "cold", protocol = "quic-live" }
workload = { kind = "live", rate = "6Mbit", length = "2s", deadline = "200ms", drop_after = "300ms", drain = "500ms" }
network = { rate = "3Mbit", rtt = "40ms", queue = "50KB" }
factors = [{ name = "loss", sets = "network.loss", levels = ["0%"] }]

[arms.streams]
[arms.one]
client_knobs.carrier = "one_stream"
[arms.datagrams]
client_knobs.carrier = "datagrams"
[arms.tcp]
protocol = "tls-live"
congestion_control = "bbr"
[arms.udp]
protocol = "udp-live"
"""


def test_a_source_that_is_too_fast_ends_and_two_runs_agree_to_the_byte(tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text(STUDY)
    told = []
    for name in ("first", "second"):
        answer = longlook("run", str(tmp_path / "study.toml"), "--out", str(tmp_path / name), "--no-cache")
        assert answer.returncode == 0, answer.stderr
        said = (answer.stdout + answer.stderr).splitlines()
        told.append(next(line for line in said if "exact: 5 trials, results " in line))
    assert told[0] == told[1]
    found = pd.read_parquet(tmp_path / "first" / "samples.parquet").set_index(["arm", "metric"])["value"]
    for arm in ("streams", "one", "datagrams", "tcp", "udp"):
        assert found[arm, "frames"] == 50
        assert found[arm, "goodput"] < 3
        assert found[arm, "late_frames"] + found[arm, "dropped_frames"] > 20
    assert found["one", "late_frames"] > found["datagrams", "late_frames"]
    assert found["datagrams", "dropped_at_sender"] > 20
    assert found["streams", "dropped_at_sender"] > 20
    assert found["udp", "dropped_at_sender"] == 0 < found["udp", "dropped_frames"]
