"""Cross traffic over UDP beside TCP flows in virtual time: it has its rate, and every arm of a round has the same."""

import numpy as np
import pandas as pd
import pytest

from longlook.core.run_folder import RunFolder
from tests.support.command_line import longlook

pytestmark = [pytest.mark.lab, pytest.mark.slow, pytest.mark.timeout(300)]

STUDY = """
schema = 1
title = "Noise"
question = "Who gets what of a link with cross traffic?"
rounds = 1
around = "none"
timeout = "30s"
metrics = ["utilisation", "share_of_used"]

[arms.two]
flows.tcp = { protocol = "h2", count = 2 }

[arms.three]
flows.tcp = { protocol = "h2", count = 3 }

[defaults]
connection = "cold"
congestion_control = "cubic"
server = "quic-go"
client = "quic-go"
NOISE
[workload]
kind = "compete"
duration = "10s"
start = "0s"

[network]
rate = "5Mbit"
rtt = "36ms"
queue = "30KB"

[[factors]]
name = "rate"
sets = "network.rate"
levels = ["5Mbit"]

[[contrasts]]
name = "share"
baseline = "two"
contender = "three"
metric = "share_of_used"
"""
NOISE = """flows.steady = { ENDS, server_knobs.rate = "1Mbit" }
flows.bursts = { ENDS, server_knobs = { rate = "1Mbit", on = 0.8, off = 0.8, law = "exponential" } }
""".replace("ENDS", 'protocol = "udp", server = "traffic", client = "traffic", cross = true')


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    folder = tmp_path_factory.mktemp("noise")
    (folder / "noise.toml").write_text(STUDY.replace("NOISE", NOISE))
    answer = longlook("run", str(folder / "noise.toml"), "--out", str(folder / "run"), "--json")
    assert answer.returncode == 0, answer.stderr
    return RunFolder.open(folder / "run")


def rates_of(run: RunFolder, arm: str, flow: str) -> pd.Series:
    """Mbit/s over time, after the flows have started."""
    rates = pd.read_parquet(run.path / "rates.parquet")
    chosen = rates[(rates["arm"] == arm) & (rates["flow"] == flow) & rates["time_s"].between(1.5, 9.5)]
    assert len(chosen) > 20
    return chosen.set_index("time_s")["mbps"]


def test_the_link_is_full_and_steady_cross_traffic_has_its_rate(run: RunFolder) -> None:
    samples = pd.read_parquet(run.path / "samples.parquet")
    assert set(samples["outcome"]) == {"ok"}
    assert samples[samples["metric"] == "utilisation"]["value"].between(95, 101).all()
    for arm in ("two", "three"):
        assert rates_of(run, arm, "steady").mean() == pytest.approx(1, rel=0.1)  # less what the full queue drops
    flows = pd.read_parquet(run.path / "flows.parquet").set_index(["arm", "flow"])
    assert flows.loc["two"]["cross"].to_dict() == {"tcp-1": False, "tcp-2": False, "steady": True, "bursts": True}


def test_on_off_traffic_is_alike_in_all_arms_of_a_round(run: RunFolder) -> None:
    two, three = (rates_of(run, arm, "bursts") for arm in ("two", "three"))
    assert two.min() == three.min() == 0
    assert two.max() > 0.8
    assert np.corrcoef(two, three)[0, 1] > 0.9
