"""Competing flows in virtual time: several stacks and kinds over one link, and flows that cannot."""

import json
from pathlib import Path

import pandas as pd
import pytest

from longlook.core.run_folder import RunFolder
from tests.support.command_line import longlook

pytestmark = [pytest.mark.lab, pytest.mark.slow, pytest.mark.timeout(600)]

STUDY = """
schema = 1
title = "Flows"
question = "Who gets what?"
rounds = 1
around = "none"
timeout = "30s"
metrics = ["share_of_used", "jain_index", "utilisation", "competitor_goodput", "queue_delay"]

[arms.quic]
flows.subject = { protocol = "h3" }
flows.tcp = { protocol = "h2", count = 2 }

[arms.bbr]
flows.subject = { protocol = "h2", congestion_control = "bbr" }
flows.tcp = { protocol = "h2", count = 2, start = "1s" }
flows.web = { protocol = "h2", arrivals = 2, object = "pareto(20KB, 1.5)" }

[defaults]
connection = "cold"
congestion_control = "cubic"
server = "quic-go"
client = "quic-go"

[workload]
kind = "compete"
duration = "6s"

[network]
rate = "5Mbit"
rtt = "36ms"
queue = "30KB"

[capture]
qlog = true

[[factors]]
name = "rate"
sets = "network.rate"
levels = ["5Mbit"]

[[contrasts]]
name = "share"
baseline = "bbr"
contender = "quic"
metric = "share_of_used"
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    folder = tmp_path_factory.mktemp("compete")
    (folder / "flows.toml").write_text(STUDY)
    answer = longlook("run", str(folder / "flows.toml"), "--out", str(folder / "run"), "--json")
    assert answer.returncode == 0, answer.stderr
    return RunFolder.open(folder / "run")


def test_all_flows_run_to_the_end_and_share_the_link(run: RunFolder) -> None:
    samples = pd.read_parquet(run.path / "samples.parquet")
    assert set(samples["outcome"]) == {"ok"}
    values = samples.set_index(["arm", "metric"])["value"]
    for arm in ("quic", "bbr"):
        assert 0 < values[arm, "share_of_used"] < 100
        assert 1 / 3 <= values[arm, "jain_index"] <= 1
        assert 90 < values[arm, "utilisation"] < 101


def test_every_flow_has_its_row_and_its_rate_over_time(run: RunFolder) -> None:
    flows = pd.read_parquet(run.path / "flows.parquet")
    quic = flows[flows["arm"] == "quic"]
    assert quic["flow"].tolist() == ["subject", "tcp-1", "tcp-2"]
    assert quic["share_pct"].sum() == pytest.approx(100)
    bbr = flows[flows["arm"] == "bbr"]
    assert bbr["flow"].tolist() == ["subject", "tcp-1", "tcp-2", "web"]
    assert bbr["cross"].tolist() == [False, False, False, True]
    assert (bbr["began_s"].to_numpy()[1:3] >= 1).all()
    rates = pd.read_parquet(run.path / "rates.parquet")
    total = rates[rates["arm"] == "quic"].groupby("time_s")["mbps"].sum()
    assert total.max() < 5.3 and total.iloc[20:50].mean() == pytest.approx(5, rel=0.05)


def test_every_flow_keeps_its_own_files(run: RunFolder) -> None:
    (trial,) = [trial for trial in run.plan.trials if trial.arm == "quic"]
    ((folder, _),) = run.attempts(trial.id)
    assert {path.name for path in (folder / "flows").iterdir()} == {"subject", "tcp-1", "tcp-2"}
    assert list((folder / "qlog" / "server" / "subject").iterdir())
    facts = json.loads((folder / "flows.json").read_text())
    assert [fact["ended_by_itself"] for fact in facts] == [False] * 3


def test_the_traces_of_a_flow_find_their_place(run: RunFolder) -> None:
    (trial,) = [trial for trial in run.plan.trials if trial.arm == "quic"]
    ((folder, _),) = run.attempts(trial.id)
    events = pd.read_parquet(folder / "events.parquet", columns=["flow", "vantage", "kind"])
    assert all(flow.endswith("198.18.0.2:443") for flow in events["flow"].dropna().unique())
    assert "state" in set(events["kind"])


def test_a_flow_that_cannot_connect_is_reported_and_its_round_is_not_counted(tmp_path: Path) -> None:
    path = tmp_path / "blocked.toml"
    path.write_text(STUDY.replace('queue = "30KB"', 'queue = "30KB"\nblock = "udp"'))
    longlook("run", str(path), "--out", str(tmp_path / "run"))
    samples = pd.read_parquet(tmp_path / "run" / "samples.parquet")
    quic = samples[samples["arm"] == "quic"]
    assert set(quic["outcome"]) == {"failed"}
    assert quic["value"].isna().all()
    assert quic["reason"].str.startswith("flow subject: ").all()
    assert quic["reason"].str.contains("block").all()
