"""`--set KEY=VALUE`: where a change goes, and which are refused."""

from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from tests.data.studies import problems, read, study_file


def test_changes_replace_settings_wherever_they_live(tmp_path: Path) -> None:
    changes = {
        "network.rtt": "50ms",
        "client": "go@1.0",
        "arms.quic.connection": "resumed",
        "workload.objects": "4",
        "network.jitter_reorders": "true",
        "server_knobs.window": "64KB",
        "timeout": "2s",
        "analysis.alpha": "0.05",
    }
    study = read(study_file(tmp_path), changes=changes, rounds=12)
    assert study.rounds == 12
    assert study.settings["network.rtt"] == "50ms"
    assert study.settings["client"] == "go@1.0"
    assert study.arms[1].settings["connection"] == "resumed"
    assert study.settings["workload.objects"] == 4
    assert study.settings["network.jitter_reorders"] is True
    assert study.settings["server_knobs.window"] == "64KB"
    assert (study.timeout_s, study.analysis.alpha) == (2.0, 0.05)


@pytest.mark.parametrize(
    ("key", "value", "parts"),
    [
        ("network.rtt", "50", ["network.rtt = 50", "needs a unit"]),
        ("network.rrt", "50ms", ["network.rrt", "did you mean 'network.rtt'?"]),
        ("network.rate", "5Mbit", ["factor rate varies it", "--only rate=LEVEL"]),
        ("workload.object", "5MB", ["factor size varies it"]),
        ("protocol", "h3", ["arm tcp sets it: write --set arms.tcp.protocol=", "arm quic"]),
        ("client", "goo", ['defaults.client = "goo"', "did you mean 'go'?"]),
        ("title.x", "y", ["title is not a table"]),
        ("arms", "y", ["table or list"]),
        ("arms.quik.server", "go", ["no arm 'quik', and --set adds none", "allowed: tcp, quic", "mean 'quic'?"]),
        ("arms.quik", "go", ["no arm 'quik'"]),
        ("extends", "demo", ["has no effect", "which file is read"]),
        ("factors.rate", "y", ["factors is not a table"]),
    ],
)
def test_a_change_that_cannot_be_is_reported(tmp_path: Path, key: str, value: str, parts: list[str]) -> None:
    lines = problems(study_file(tmp_path), changes={key: value})
    assert any(all(part in line for part in parts) for line in lines), lines


def test_a_change_of_what_a_preset_of_an_arm_decides_is_reported(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    file = study_file(tmp_path, ('protocol = "h2"', 'protocol = "h2"\ntcp = "stock"'))
    lines = problems(file, changes={"tcp_initial_window": "30"})
    assert lines == snapshot
    changed = read(file, changes={"arms.tcp.tcp_initial_window": "30"})
    assert changed.arms[0].settings["tcp_initial_window"] == 30
    untouched = read(file, changes={"tcp_reordering": "10"})
    assert untouched.settings["tcp_reordering"] == 10


FLOWS = """
[arms.tcp.flows.ours]
protocol = "h2"
congestion_control = "cubic"

[defaults.flows.crowd]
protocol = "h2"

[workload]"""


@pytest.mark.parametrize(
    ("key", "parts"),
    [
        ("arms.tcp.flows.our.count", ["arm tcp has no flows 'our'", "allowed: crowd, ours", "did you mean 'ours'?"]),
        ("flows.crwd.count", ["no arm has flows 'crwd'", "did you mean 'crowd'?"]),
        ("arms.quic.flows.ours.count", ["arm quic has no flows 'ours'", "allowed: crowd"]),
    ],
)
def test_a_change_adds_no_flows(tmp_path: Path, key: str, parts: list[str]) -> None:
    found = problems(study_file(tmp_path, ("[workload]", FLOWS)), changes={key: "2"})
    assert any(line.startswith(f"tiny.toml: --set {key}") and all(part in line for part in parts) for line in found)


@pytest.mark.parametrize("key", ["arms.tcp.flows.ours.count", "arms.quic.flows.crowd.count", "flows.crowd.count"])
def test_a_change_of_flows_that_there_are_is_made(tmp_path: Path, key: str) -> None:
    found = problems(study_file(tmp_path, ("[workload]", FLOWS)), changes={key: "2"})
    assert not any("--set" in line for line in found)  # only that workload page has one flow
