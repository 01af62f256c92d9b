"""Ends with a second address: over one link, over two, with nothing on the other side; Multipath TCP and QUIC."""

import json
from pathlib import Path
from typing import Any

import pytest

from longlook.timeline.normalise.link_log import read_link_log
from tests.support.command_line import longlook

pytestmark = [pytest.mark.lab, pytest.mark.slow, pytest.mark.timeout(1800)]

STUDY = """
schema = 1
title = "Moving"
question = "Do clients move?"
rounds = 1
around = "none"
timeout = "20s"
metrics = ["page_load_time", "longest_stall", "second_link_share"]

[arms.quic]
protocol = "h3"
client_knobs.move_at = 0.5

[arms.tcp]
protocol = "h2"
client_knobs.move_after_silence = 0.5

[arms.stays]
protocol = "h2"

[arms.multipath]
protocol = "h2"
tcp_multipath = true

[arms.multipath-quic]
protocol = "h3"
server = "tquic"
client = "tquic"
server_knobs.multipath = "roundrobin"
client_knobs.multipath = "roundrobin"

[arms.multipath-noq]
protocol = "h3"
server = "noq"
client = "noq"
server_knobs.multipath = "in-order"
client_knobs.multipath = "in-order"

[defaults]
connection = "cold"
server = "quic-go"
client = "quic-go"
congestion_control = "cubic"

[workload]
kind = "download"
object = "100KB"
objects = 5
at_once = 1

[network]
rate = "2Mbit"
rtt = "20ms"

[second]
rate = "1Mbit"
rtt = "40ms"

[[factors]]
name = "paths"
levels = [
  { label = "both", network.loss = "0%", second.loss = "0%" },
  { label = "first ends", network.loss = "steps(0s 0%, 500ms 100%)", second.loss = "0%" },
  { label = "none", network.loss = "steps(0s 0%, 500ms 100%)", second.loss = "100%" },
]

[[contrasts]]
name = "quic vs tcp"
baseline = "tcp"
contender = "quic"
metric = "page_load_time"
"""


def test_who_goes_on_over_which_path(tmp_path: Path) -> None:
    study, out = tmp_path / "moving.toml", tmp_path / "run"
    study.write_text(STUDY)
    answer = longlook("run", str(study), "--out", str(out))
    assert answer.returncode in (0, 1), answer.stderr
    found: dict[tuple[str, str], dict[str, Any]] = {}
    folders: dict[tuple[str, str], Path] = {}
    for folder in (out / "trials").iterdir():
        trial, run = (json.loads((folder / name).read_text()) for name in ("trial.json", "run.json"))
        found[trial["cell"]["paths"], trial["arm"]] = run
        folders[trial["cell"]["paths"], trial["arm"]] = folder

    def outcome(paths: str, arm: str) -> str:
        return str(found[paths, arm]["outcome"])

    def over_second(paths: str, arm: str) -> int:
        return int(found[paths, arm]["link"]["second.down"]["delivered"])

    assert {outcome("both", arm) for arm in ("quic", "tcp", "stays", "multipath")} == {"ok"}
    assert over_second("both", "tcp") == over_second("both", "stays") == 0
    assert over_second("both", "quic") > 50
    assert over_second("both", "multipath") > 50
    for arm in ("multipath-quic", "multipath-noq"):
        assert outcome("both", arm) == "ok"
        assert over_second("both", arm) > 50
    assert found["both", "multipath"]["guard"]["multipath_joins"] == 1
    assert [outcome("first ends", arm) for arm in ("quic", "tcp", "multipath")] == ["ok"] * 3
    assert outcome("first ends", "stays") == "timed_out"
    assert all(outcome("none", arm) in ("timed_out", "failed") for arm in ("quic", "tcp", "stays", "multipath"))
    # A SYN with MP_CAPABLE is four bytes longer: what does not ask for Multipath TCP is plain TCP on the wire.
    syn = {
        arm: read_link_log(folders["both", arm] / "link.bin").records["size_bytes"][0] for arm in ("tcp", "multipath")
    }
    assert (syn["tcp"], syn["multipath"]) == (60, 64)


PREFERRED = """
schema = 1
title = "A preferred address"
question = "Who goes there?"
rounds = 1
around = "none"
timeout = "20s"
metrics = ["page_load_time", "longest_stall"]

[arms.follows]
protocol = "h3"
client = "aioquic"

[arms.stays]
protocol = "h3"
client = "quinn"

[defaults]
connection = "cold"
server = "quinn"
server_knobs.preferred_address = true

[workload]
kind = "download"
object = "500KB"

[network]
rate = "5Mbit"
rtt = "40ms"
SECOND
[[factors]]
name = "path"
sets = "network.rtt"
levels = ["40ms"]

[[contrasts]]
name = "follows vs stays"
baseline = "stays"
contender = "follows"
metric = "page_load_time"
"""


@pytest.mark.parametrize("second", ["", '[second]\nrate = "5Mbit"\nrtt = "10ms"\n'])
def test_a_client_goes_to_the_address_that_its_server_prefers(second: str, tmp_path: Path) -> None:
    study, out = tmp_path / "preferred.toml", tmp_path / "run"
    study.write_text(PREFERRED.replace("SECOND\n", f"\n{second}\n"))
    answer = longlook("run", str(study), "--out", str(out))
    assert answer.returncode in (0, 1), answer.stderr
    log = "link-second.bin" if second else "link.bin"
    packets = {}
    for folder in (out / "trials").iterdir():
        trial, run = (json.loads((folder / name).read_text()) for name in ("trial.json", "run.json"))
        assert run["outcome"] == "ok", run["reason"]
        flows = read_link_log(folder / log).flows()
        there = [flow.packets for flow in flows if (flow.ip_protocol, flow.server_address) == (17, "198.18.254.2")]
        packets[trial["arm"]] = sum(there)
    assert packets["follows"] > 300
    assert packets["stays"] == 0
