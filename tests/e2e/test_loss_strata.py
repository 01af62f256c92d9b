"""Losses integrated in virtual time: trials are those that the method names, and a round is their sum."""

import json
import math
from pathlib import Path

import pandas as pd
import pytest

from longlook.core.run_folder import RunFolder
from longlook.timeline.normalise.link_log import read_link_log
from tests.support.command_line import longlook

pytestmark = [pytest.mark.lab, pytest.mark.slow, pytest.mark.timeout(600)]

STUDY = """
schema = 1
title = "A small load with losses"
question = "Does a program load as fast as itself?"
rounds = 2
around = "none"
losses = "strata"
timeout = "60s"
metrics = ["page_load_time"]
defaults = { server = "quic-go", client = "quic-go", protocol = "h3", connection = "cold" }
workload = { kind = "page", objects = 1, object = "2KB" }
network = { rate = "10Mbit", rtt = "20ms", loss = "2%" }
factors = [ { name = "loss", sets = "network.loss", levels = ["2%", "0%"] } ]
contrasts = [["one", "other"]]
analysis = { min_rounds = 2 }

[arms.one]
[arms.other]
"""


def test_single_losses_are_enumerated_and_rounds_are_their_sum(tmp_path: Path) -> None:
    study = tmp_path / "small.toml"
    study.write_text(STUDY)
    out = tmp_path / "run"
    first = longlook("run", str(study), "--out", str(out))
    assert first.returncode == 0, first.stderr
    (lossy,) = json.loads((out / "strata.json").read_text())
    assert lossy["exact"] and not lossy.get("why_sampled")

    patterns = pd.read_parquet(out / "strata.parquet")
    one = patterns[patterns["arm"] == "one"]
    stated = one[one["round"] == -1]
    values = dict(zip(stated["lost"], stated["value"], strict=True))
    assert set(values) == {"", *lossy["arrivals"]["one"]}  # without loss, and each packet of the load once
    assert max(values.values()) > values[""] + 0.1  # the loss of a first packet waits for a timer

    inside, lost = sum(map(len, lossy["inside"].values())), 0.02
    kept = 1 - lost
    weights = {"none": kept**inside, "one": inside * lost * kept ** (inside - 1)}
    more = 1 - sum(weights.values())
    single = [
        values.get(f"{way} {number}", values[""]) for way, numbers in lossy["inside"].items() for number in numbers
    ]
    known = weights["none"] * math.log(values[""]) + weights["one"] * sum(map(math.log, single)) / inside
    costs = [math.log(value / values[""]) for packet, value in values.items() if packet]
    samples = pd.read_parquet(out / "samples.parquet")
    for number in (0, 1):
        rest = one[(one["round"] == number) & (one["stratum"] == "more")]
        excess = (rest["value"].map(math.log) - rest["expected"].map(math.log)).mean()
        (found,) = samples[(samples["arm"] == "one") & (samples["round"] == number) & samples["unseen_pct"].notna()][
            "value"
        ]
        rest_of_found = math.log(found) - known - more * (math.log(values[""]) + excess)
        assert rest_of_found == pytest.approx(_expected_more(costs, inside, lost), abs=1e-9)

    again = longlook("run", str(study), "--out", str(tmp_path / "again"), "--verify", "1")
    assert again.returncode == 0, again.stderr
    digests = [json.loads((place / "manifest.json").read_text())["results"] for place in (out, tmp_path / "again")]
    assert digests[0] == digests[1]

    (out / "strata.json").write_text("[]")
    refused = longlook("report", str(out))
    assert refused.returncode == 2 and "strata.json" in refused.stderr and "--resume" in refused.stderr
    resumed = longlook("run", str(study), "--resume", str(out))
    assert resumed.returncode == 0, resumed.stderr
    assert json.loads((out / "manifest.json").read_text())["results"] == digests[0]


CORRUPTED = """
schema = 1
title = "A load with corrupted packets"
question = "Are corrupted packets lost?"
rounds = 1
seed = 3
around = "none"
losses = "sampled"
timeout = "60s"
metrics = ["page_load_time"]
defaults = { server = "quic-go", client = "quic-go", protocol = "h3", connection = "cold" }
workload = { kind = "download", object = "30KB" }
network = { rate = "10Mbit", rtt = "36ms", queue = "400000B" }
factors = [ { name = "corrupt", sets = "network.corrupt", levels = ["5%"] } ]
contrasts = [["plain", "operated"]]

[arms.plain]
[arms.operated]
"""
_A_BIT_FLIPPED = 2  # in the log's `edits`
_WAKES_FOR_NOTHING_S = 20e-6


def test_a_corrupted_packet_does_as_much_as_one_that_is_held_until_the_load_is_over(tmp_path: Path) -> None:
    study = tmp_path / "corrupted.toml"
    study.write_text(CORRUPTED)
    first = longlook("run", str(study), "--out", str(tmp_path / "plain"), "--json")
    assert first.returncode == 0, first.stderr
    folder = RunFolder.open(tmp_path / "plain")
    plain = next(trial for trial in folder.plan.trials if trial.arm == "plain")
    log = read_link_log(folder.trials / plain.id / "link.bin")
    options = []
    for place, name in enumerate(("up", "down")):
        records = log.direction(place)
        flipped = [int(number) for number in records["sequence"][(records["edits"] & _A_BIT_FLIPPED) > 0]]
        assert flipped
        text = f"forgive 0-9999; hold {', '.join(map(str, flipped))} 3600s"
        options += ["--set", f"arms.operated.network.surgery.{name}={text}"]
    again = longlook("run", str(study), *options, "--out", str(tmp_path / "held"), "--json")
    assert again.returncode == 0, again.stderr
    samples = pd.read_parquet(tmp_path / "held" / "samples.parquet").set_index("arm")
    assert samples.loc["operated", "value"] == pytest.approx(samples.loc["plain", "value"], abs=_WAKES_FOR_NOTHING_S)
    calm = 0.138
    assert samples.loc["plain", "value"] > calm + 0.02  # the corrupted packets did cost something


def _expected_more(costs: list[float], inside: int, lost: float) -> float:
    """Return the part of "more" in the mean of what patterns are expected to cost: each as much as its dearest loss."""
    kept = 1 - lost
    every = sum(cost * lost * kept**place for place, cost in enumerate(sorted(costs, reverse=True)))
    return every - lost * kept ** (inside - 1) * sum(costs)
