"""Videos in virtual time: live in chunks, two players at one bottleneck, and a link slower than the lowest rung."""

import csv
from pathlib import Path

import pandas as pd
import pytest

from longlook.core.run_folder import RunFolder
from tests.support.command_line import longlook

pytestmark = [pytest.mark.lab, pytest.mark.slow, pytest.mark.timeout(1800)]

STUDY = """
schema = 1
title = "Watching"
question = "What does the viewer see?"
rounds = 1
around = "none"
timeout = "20s"
metrics = [
  "stalls", "stall_share", "live_latency", "video_bitrate", "bitrate_share", "competitor_bitrate", "time_to_start",
]

[arms.quic]
protocol = "h3"

[arms.tcp]
protocol = "h2"

[arms.both]
flows.subject = { protocol = "h3" }
flows.other = { protocol = "h2" }

[defaults]
connection = "cold"
server = "quic-go"
client = "quic-go"
congestion_control = "cubic"

[workload]
kind = "video"
quality = "low"
ladder = "low=0.4Mbit, high=1Mbit"
segment = "2s"
watch = "10s"

[network]
rtt = "40ms"
queue = "20KB"

[[factors]]
name = "video"
levels = [
  { label = "live", network.rate = "3Mbit", workload.live = "1s", workload.chunk = "0.5s" },
  { label = "slow", network.rate = "0.3Mbit", workload.live = "0s", workload.chunk = "0s" },
]

[[contrasts]]
name = "quic vs tcp"
baseline = "tcp"
contender = "quic"
metric = "time_to_start"
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    folder = tmp_path_factory.mktemp("video")
    (folder / "watching.toml").write_text(STUDY)
    answer = longlook("run", str(folder / "watching.toml"), "--out", str(folder / "run"))
    assert answer.returncode == 0, answer.stderr
    return RunFolder.open(folder / "run")


def values(run: RunFolder, arm: str, video: str) -> dict[str, float]:
    samples = pd.read_parquet(run.path / "samples.parquet")
    own = samples[(samples["arm"] == arm) & (samples["factor.video"] == video)]
    assert set(own["outcome"]) == {"ok"}, own["reason"].tolist()
    return {str(row.metric): float(row.value) for row in own.dropna(subset="value").itertuples()}


@pytest.mark.parametrize("arm", ["quic", "tcp"])
def test_a_live_viewer_is_as_far_behind_as_begun_and_waited(run: RunFolder, arm: str) -> None:
    seen = values(run, arm, "live")
    assert seen["stalls"] == 0
    assert seen["live_latency"] == pytest.approx(1 + seen["time_to_start"], abs=1e-6)
    assert 0.1 < seen["time_to_start"] < 0.6


@pytest.mark.parametrize("arm", ["quic", "tcp"])
def test_a_link_slower_than_the_lowest_rung_is_stalls_in_numbers(run: RunFolder, arm: str) -> None:
    seen = values(run, arm, "slow")  # a segment of 2 s takes 2.7 s at least
    assert seen["video_bitrate"] == 0.4
    assert seen["stalls"] >= 2 and seen["stall_share"] > 10


def test_two_players_share_a_link(run: RunFolder) -> None:
    seen = values(run, "both", "live")
    assert (seen["video_bitrate"], seen["competitor_bitrate"], seen["bitrate_share"]) == (0.4, 0.4, 50)


def test_a_play_becomes_a_table_and_what_stopped_it_stands_on_the_page(run: RunFolder, tmp_path: Path) -> None:
    trial = next(one for one in run.plan.trials if one.arm == "tcp" and one.cell["video"] == "slow")
    out = tmp_path / "play.csv"
    assert longlook("trace", "convert", str(run.trials / trial.id), "--to", "play", "--out", str(out)).returncode == 0
    with out.open(newline="") as file:
        events = [row["event"] for row in csv.DictReader(file)]
    assert events.count("stalled") >= 2 and events[-1] == "ended"
    assert longlook("report", str(run.path), "--inside", "slow").returncode == 0
    page = (run.path / "report" / "inside" / "slow.html").read_text()
    assert "Segment that came late" in page and "link useful" in page
