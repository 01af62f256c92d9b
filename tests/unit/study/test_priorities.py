"""Priorities of requests are for clients that send what a study sets."""

from pathlib import Path

import pytest

from longlook.core.errors import InputError
from longlook.study.files import read_study
from longlook.study.plan import make_plan

STUDY = """
schema = 1
title = "Priorities"
question = "Who sends the urgent object first?"
rounds = 1
around = "none"
metrics = ["urgent_load_time"]
contrasts = [["other", "this"]]
defaults = { client = "CLIENT", protocol = "h3", connection = "cold" }
workload = { kind = "mixed_page", images = "2 x 10KB, 1KB", priorities = "u=5; u=1" }
network = { rtt = "36ms" }
factors = [{ name = "rate", sets = "network.rate", levels = ["10Mbit"] }]

[arms.this]
server = "ngtcp2"

[arms.other]
server = "quic-go"
"""


def planned(folder: Path, client: str) -> int:
    file = folder / "study.toml"
    file.write_text(STUDY.replace("CLIENT", client))
    return len(make_plan(read_study(file)).trials)


@pytest.mark.parametrize("client", ["aioquic", "ngtcp2", "pycurl", "quic-go"])
def test_clients_that_send_them(tmp_path: Path, client: str) -> None:
    assert planned(tmp_path, client) == 2


@pytest.mark.parametrize(
    ("client", "reason"),
    [("quiche", "sends no priorities"), ("chromium", "chooses the priorities of its requests itself")],
)
def test_others_are_refused_with_those_that_could(tmp_path: Path, client: str, reason: str) -> None:
    with pytest.raises(
        InputError, match=f"client {client} {reason}; clients that send what a study sets: aioquic, ngtcp2, picoquic"
    ):
        planned(tmp_path, client)
