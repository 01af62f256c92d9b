"""What an end does to whole datagrams, in real trials: one that sends them twice, and one that refuses late ones."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from longlook.core import registry
from longlook.core.paths import adapters_dir
from longlook.core.run_folder import EVENTS, TIMELINE, RunFolder
from longlook.explain.cause import causes
from longlook.explain.detect import suspect
from longlook.explain.ledger import LedgerClass, make_ledger
from longlook.explain.pair import Pair, Side
from longlook.timeline.events import Events
from longlook.timeline.timeline import Timeline
from tests.support.command_line import longlook

pytestmark = [pytest.mark.lab, pytest.mark.slow, pytest.mark.timeout(900)]

HEAD = """
schema = 1
title = "Ends"
question = "What does an end do to whole datagrams?"
rounds = 1
seed = 3
around = "none"
timeout = "60s"
metrics = ["page_load_time"]

[defaults]
protocol = "h3"
connection = "cold"

[capture]
qlog = true

[workload]
kind = "page"
objects = 1

[[contrasts]]
name = "ill vs well"
baseline = "well"
contender = "ill"
metric = "page_load_time"
"""
TWICE = """
[arms.well]
server = "quic-go@0.65.0"
client = "quic-go@0.65.0"

[arms.ill]
server = "twice"
client = "quic-go@0.65.0"

[network]
rtt = "36ms"
rate = "20Mbit"
queue = "1bdp"

[[factors]]
name = "size"
sets = "workload.object"
levels = ["1MB"]
"""
REFUSED = """
[arms.well]
client = "quic-go@0.65.0+knobs"

[arms.ill]
client = "quinn@0.11.12"

[network]
rtt = "100ms"
rate = "60Mbit"
queue = "1bdp"
down.reorder = "5%"
down.reorder_depth = 200
down.reorder_wait = "90ms"

[[factors]]
name = "size"
sets = "workload.object"
levels = ["2MB"]
"""
PATIENT = """
[defaults.server_knobs]
packet_threshold = 1000
time_threshold = 3.0
"""


PLANTED = adapters_dir() / "planted"


@pytest.fixture(autouse=True)
def plugins(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The stacks with patched libraries, for these tests alone."""
    monkeypatch.setenv("LONGLOOK_PLUGINS", str(PLANTED))
    registry.forget()
    yield
    monkeypatch.undo()
    registry.forget()


def arms_of(tmp_path: Path, text: str) -> dict[str, Side]:
    """Run a study and return the sides of its arms."""
    (tmp_path / "study.toml").write_text(text)
    answer = longlook("run", str(tmp_path / "study.toml"), "--out", str(tmp_path / "run"))
    assert answer.returncode == 0, answer.stderr
    folder = RunFolder.open(tmp_path / "run")
    sides = {}
    for trial in folder.plan.trials:
        path = folder.trials / trial.id
        timeline = Timeline.read(path / TIMELINE).with_events(Events.read(path / EVENTS))
        ledger = make_ledger(timeline, trial)
        assert ledger is not None
        sides[trial.arm] = Side(trial, timeline, ledger)
    return sides


def strengths(pair: Pair) -> dict[str, int]:
    return {found.cause: found.strength_ns for found in suspect({0: pair}, causes()).findings}


def test_datagrams_sent_twice_are_seen_on_the_link_and_are_waste(tmp_path: Path) -> None:
    sides = arms_of(tmp_path, HEAD + TWICE)
    pair = Pair(sides["ill"], sides["well"])
    again = pair.loser.down.same_as[pair.loser.down.ours] >= 0
    assert 0.45 < again.mean() <= 0.5
    assert not (pair.winner.down.same_as >= 0).any() and not (pair.winner.up.same_as >= 0).any()
    assert pair.loser.totals[LedgerClass.LINK_WASTE] > 0.3 * pair.loser.load_ns
    found = strengths(pair)
    assert found["datagrams_sent_twice"] == max(found.values()), found
    assert "duplicate_sending" not in found


def test_late_packets_that_a_receiver_refuses_are_no_spurious_losses(tmp_path: Path) -> None:
    """quinn takes a packet more than 129 numbers behind the newest for a duplicate (quinn#2710)."""
    knobs = HEAD.replace('connection = "cold"\n', 'connection = "cold"\nserver = "quic-go@0.65.0+knobs"\n' + PATIENT)
    sides = arms_of(tmp_path, knobs + REFUSED)
    pair = Pair(sides["ill"], sides["well"])
    assert pair.loser.server is not None and pair.winner.server is not None
    refused, spurious = len(pair.loser.server.refused.time_ns), len(pair.loser.server.spurious.time_ns)
    assert refused > 0 and spurious == 0
    assert len(pair.winner.server.refused.time_ns) == 0
    found = strengths(pair)
    assert "receiver_discards" in found and not {"spurious_loss", "kept_reduction"} & set(found)
