"""An urgent object behind large ones, in virtual time: who sends it first, and that its priority arrived."""

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from longlook.core.run_folder import RunFolder
from tests.support.command_line import longlook

pytestmark = [pytest.mark.lab, pytest.mark.slow]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("priorities") / "run"
    chosen = ("--only", "rate=10Mbit", "--only", "contrast=ngtcp2 vs aioquic", "--rounds", "1")
    answer = longlook("run", "priorities", *chosen, "--set", "client=aioquic", "--out", str(out))
    assert answer.returncode == 0, answer.stderr
    return out


def test_the_server_that_schedules_by_urgency_sends_the_urgent_object_first(run: Path) -> None:
    samples = pd.read_parquet(run / "samples.parquet").set_index(["arm", "metric"])["value"]
    assert samples["ngtcp2", "urgent_load_time"] < 0.6 * samples["ngtcp2", "page_load_time"]
    assert samples["aioquic", "urgent_load_time"] > 0.9 * samples["aioquic", "page_load_time"]


def test_every_request_had_the_priority_of_its_group(run: Path) -> None:
    folder = RunFolder.open(run)
    for trial in folder.plan.trials:
        ((path, _),) = folder.attempts(trial.id)
        lines: list[dict[str, Any]] = [json.loads(text) for text in (path / "client.jsonl").read_text().splitlines()]
        sent = {line["path"]: line.get("priority") for line in lines if line["event"] == "object"}
        assert sent == {
            "/index.html": None,
            **{f"/i/{number:03d}.png": "u=5" for number in range(6)},
            "/i/006.png": "u=1",
        }
