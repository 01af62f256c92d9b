"""IPv4 and IPv6 in one study, in virtual time: over both transports, with a small MTU, and with flows that compete."""

import json
from pathlib import Path
from typing import Any

import pytest

from longlook.lab.link_log import read_link_log
from tests.support.command_line import longlook

pytestmark = [pytest.mark.lab, pytest.mark.slow, pytest.mark.timeout(1800)]

STUDY = """
schema = 1
title = "IPv6"
question = "What do 20 bytes more a packet cost?"
rounds = 1
around = "none"
timeout = "30s"
metrics = ["page_load_time"]
contrasts = [["tcp", "tcp-6"], ["quic", "quic-6"]]

[arms.tcp]
protocol = "h2"

[arms.tcp-6]
protocol = "h2"
network.ip = "6"

[arms.quic]
protocol = "h3"

[arms.quic-6]
protocol = "h3"
network.ip = "6"

[defaults]
connection = "cold"
server = "quic-go"
client = "quic-go"
congestion_control = "cubic"

[workload]
kind = "page"
objects = 1
object = "300KB"

[network]
rate = "10Mbit"
rtt = "36ms"

[[factors]]
name = "path"
levels = [
  { label = "1500", network.mtu = "off" },
  { label = "1400, told", network.down.mtu = "1400B" },
]
"""
TCP, UDP = 6, 17


def trials_of(run: Path) -> dict[tuple[str, str], Path]:
    found = {}
    for folder in (run / "trials").iterdir():
        trial = json.loads((folder / "trial.json").read_text())
        found[trial["cell"]["path"], trial["arm"]] = folder
    return found


def sizes(folder: Path, protocol: int) -> list[int]:
    log = read_link_log(folder / "link.bin")
    return [size for size, found in log.rows("size_bytes", "ip_protocol") if found == protocol]


def test_trials_over_ipv6_differ_by_their_headers_alone(tmp_path: Path) -> None:
    study, run = tmp_path / "ip.toml", tmp_path / "run"
    study.write_text(STUDY)
    longlook("run", str(study), "--out", str(run), "--jobs", "1")
    trials = trials_of(run)
    outcomes = {key: json.loads((folder / "run.json").read_text())["outcome"] for key, folder in trials.items()}
    assert set(outcomes.values()) == {"ok"}, outcomes
    for (path, arm), folder in trials.items():
        six = arm.endswith("-6")
        assert read_link_log(folder / "link.bin").ip_versions() == ({6} if six else {4}), (path, arm)
        server: dict[str, Any] = json.loads((folder / "server.jsonl").read_text().splitlines()[0])
        assert server["address"] == ("2001:2::2" if six else "198.18.0.2")
    plain = {arm: trials["1500", arm] for arm in ("tcp", "tcp-6", "quic", "quic-6")}
    for arm, protocol in (("tcp", TCP), ("quic", UDP)):
        four, six = (sizes(plain[name], protocol) for name in (arm, f"{arm}-6"))
        assert six[0] == four[0] + 20  # the first packet: as it was, with the larger header
    assert max(sizes(plain["tcp-6"], TCP)) == 1500
    told = trials["1400, told", "tcp-6"]
    assert json.loads((told / "run.json").read_text())["link"]["down"]["icmp_sent"] > 0
    assert sorted(set(sizes(told, TCP)))[-2:] == [1400, 1500]  # one flight, then what the message named
