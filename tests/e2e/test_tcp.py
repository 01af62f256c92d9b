"""The ladder of TCP baselines in virtual time: each rung changes what it says, on the wire."""

import json
from pathlib import Path

import pandas as pd
import pytest

from tests.support.command_line import longlook

pytestmark = [pytest.mark.lab, pytest.mark.slow, pytest.mark.timeout(300)]

LADDER = """
schema = 1
title = "TCP's ladder"
question = "How much does TCP's tuning matter?"
rounds = 1
around = "none"
timeout = "30s"
metrics = ["page_load_time"]

[defaults]
server = "quic-go"
client = "quic-go"
connection = "cold"
protocol = "h2"

[arms.plain]
congestion_control = "cubic"

[arms.stock]
tcp = "stock"

[arms.wide]
congestion_control = "cubic"
tcp_initial_window = 32

[arms.tuned]
tcp = "tuned"

[arms.bbr]
tcp = "bbr"

[workload]
kind = "page"
objects = 1

[network]
rate = "50Mbit"
rtt = "100ms"
queue = "1bdp"

[[factors]]
name = "size"
sets = "workload.object"
levels = ["50KB"]

[[contrasts]]
name = "tuned vs stock"
baseline = "stock"
contender = "tuned"
metric = "page_load_time"
"""


LARGE = """
schema = 1
title = "Large initial windows"
question = "Is a first flight of 500 packets one?"
rounds = 1
around = "none"
metrics = ["page_load_time"]

[defaults]
server = "quic-go"
client = "quic-go"
connection = "cold"
protocol = "h2"
congestion_control = "cubic"

[arms.usual]
tcp_initial_window = 10

[arms.large]
tcp_initial_window = 500

[workload]
kind = "download"

[network]
rate = "100Mbit"
rtt = "400ms"
queue = "2MB"

[[factors]]
name = "size"
sets = "workload.object"
levels = ["600KB"]

[[contrasts]]
name = "large vs usual"
baseline = "usual"
contender = "large"
metric = "page_load_time"
"""


def test_a_first_flight_of_500_packets_is_sent_and_offered(tmp_path: Path) -> None:
    study, out = tmp_path / "large.toml", tmp_path / "run"
    study.write_text(LARGE)
    answer = longlook("run", str(study), "--out", str(out), "--json")
    assert answer.returncode == 0, answer.stderr
    samples = pd.read_parquet(out / "samples.parquet")
    assert set(samples["outcome"]) == {"ok"}
    load_s = samples.set_index("arm")["value"]
    assert load_s["large"] == pytest.approx(3 * 0.4 + 600e3 * 8 / 100e6, abs=0.02), "TCP, TLS, and all of it at once"
    assert load_s["usual"] > load_s["large"] + 4.9 * 0.4, "10, 20, 40, 80, 160, 320 packets"


def test_every_rung_acts(tmp_path: Path) -> None:
    study, out = tmp_path / "ladder.toml", tmp_path / "run"
    study.write_text(LADDER)
    answer = longlook("run", str(study), "--out", str(out), "--json")
    assert answer.returncode == 0, answer.stderr
    samples = pd.read_parquet(out / "samples.parquet")
    assert set(samples["outcome"]) == {"ok"}
    load_s = samples.set_index("arm")["value"]
    assert load_s["stock"] == pytest.approx(load_s["plain"], abs=0.005)
    round_trip_s = 0.1
    assert load_s["stock"] - load_s["wide"] > 0.9 * round_trip_s  # 35 packets: 10 + 20 + 5, or 32 + 3
    assert _deepest_queue(out, "tuned") < _deepest_queue(out, "wide") / 3  # packets; the unpaced flight comes at once
    trials = [json.loads(file.read_text()) for file in out.glob("trials/*/trial.json")]
    assert {trial["congestion_control"] for trial in trials if trial["arm"] in ("tuned", "stock")} == {"cubic"}
    assert [trial["congestion_control"] for trial in trials if trial["arm"] == "bbr"] == ["bbr"]


def _deepest_queue(run: Path, arm: str) -> int:
    (folder,) = (file.parent for file in run.glob("trials/*/trial.json") if json.loads(file.read_text())["arm"] == arm)
    timeline = pd.read_parquet(folder / "timeline.parquet")
    return int(timeline.loc[timeline["direction"] == "down", "queue_packets"].max())
