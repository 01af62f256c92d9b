"""Stacks in virtual time: in each role against another stack, the same to the byte each time."""

from pathlib import Path

import pandas as pd
import pytest

from tests.support.command_line import longlook

pytestmark = [pytest.mark.lab, pytest.mark.slow, pytest.mark.stacks, pytest.mark.timeout(1800)]

STUDY = """
schema = 1
title = "STACK"
question = "Does STACK talk to quic-go in each role, and does a trial repeat itself?"
rounds = 1
around = "none"
timeout = "20s"
metrics = ["page_load_time", "handshake_time"]

[arms.serves]
server = "STACK"
client = "quic-go"

[arms.asks]
server = "quic-go"
client = "STACK"

[arms.alone]
server = "STACK"
client = "STACK"

[defaults]
protocol = "h3"
connection = "cold"

[[factors]]
name = "rate"
sets = "network.rate"
levels = ["20Mbit"]

[workload]
kind = "page"
objects = 20
object = "10KB"

[network]
rtt = "40ms"

[[contrasts]]
name = "serves vs asks"
baseline = "asks"
contender = "serves"
metric = "page_load_time"
"""


@pytest.mark.parametrize("stack", ["noq", "picoquic", "s2n-quic"])
def test_each_role_loads_a_page_and_every_trial_repeats_itself(stack: str, tmp_path: Path) -> None:
    study = tmp_path / "roles.toml"
    study.write_text(STUDY.replace("STACK", stack))
    answer = longlook("run", str(study), "--verify", "1", "--out", str(tmp_path / "run"))
    assert answer.returncode == 0, answer.stdout + answer.stderr
    samples = pd.read_parquet(tmp_path / "run" / "samples.parquet")
    assert set(samples.outcome) == {"ok"}
    loads = samples[samples.metric == "page_load_time"]
    assert set(loads.arm) == {"serves", "asks", "alone"}
    assert len(loads) == 3
    assert loads.value.max() < 1.0
