"""One packet of a real load fares otherwise, and until then two trials are the same in every byte of the link's log."""

import json
from pathlib import Path
from typing import Any

import numpy.typing as npt
import pyarrow.parquet as pq
import pytest

from longlook.core.model import Trial
from longlook.core.run_folder import RunFolder
from longlook.timeline.normalise.link_log import PacketLog, read_link_log
from tests.support.command_line import longlook

pytestmark = [pytest.mark.lab, pytest.mark.slow, pytest.mark.timeout(900)]

STUDY = Path(__file__).parents[1] / "data" / "surgery.toml"
UP, DOWN = 0, 1
FORGIVEN = 16  # a bit of the log's `edits`


def run(out: Path, *options: str) -> RunFolder:
    answer = longlook("run", str(STUDY), *options, "--out", str(out), "--json")
    assert answer.returncode == 0, answer.stderr
    return RunFolder.open(out)


def of(folder: RunFolder, arm: str) -> tuple[Trial, PacketLog]:
    trial = next(trial for trial in folder.plan.trials if trial.arm == arm)
    return trial, read_link_log(folder.trials / trial.id / "link.bin")


def counted(folder: RunFolder, trial: Trial) -> dict[str, int]:
    down: dict[str, int] = json.loads((folder.trials / trial.id / "run.json").read_text())["link"]["down"]
    return down


def lost(log: PacketLog) -> list[int]:
    records = log.direction(DOWN)
    by_chance = log.header["verdicts"]["dropped_loss"]
    return [int(number) for number in records["sequence"][records["verdict"] == by_chance]]


def comparable(records: npt.NDArray[Any], before_ns: int) -> list[dict[str, Any]]:
    """Everything about the packets that arrived before then, but for the stage's index, which one more stage moves."""
    names = [name for name in records.dtype.names or () if name != "stage"]
    early = records[records["arrival_ns"] < before_ns]
    return [{name: row[name] for name in names} for row in early]


def test_a_forgiven_packet_arrives_and_everything_before_is_the_same(tmp_path: Path) -> None:
    plain_run = run(tmp_path / "plain")
    plain_trial, plain = of(plain_run, "plain")
    number = next(number for number in lost(plain) if number > 30)  # not one of the handshake

    operated_run = run(tmp_path / "operated", "--set", f"arms.operated.network.surgery.down=forgive {number}")
    assert of(operated_run, "plain")[0].id == plain_trial.id
    trial, operated = of(operated_run, "operated")
    assert trial.seed == plain_trial.seed
    assert trial.randomness_of == plain_trial.id

    forgiven = operated.direction(DOWN)[number]
    assert (int(forgiven["sequence"]), int(forgiven["verdict"]), int(forgiven["edits"])) == (number, 0, FORGIVEN)
    before, after = plain.direction(DOWN), operated.direction(DOWN)
    assert int(forgiven["arrival_ns"]) == int(before[number]["arrival_ns"])
    assert comparable(before, int(forgiven["arrival_ns"])) == comparable(after, int(forgiven["arrival_ns"]))
    # Nobody up there can know before the packet has left.
    departure_ns = int(forgiven["departure_ns"])
    early = comparable(plain.direction(UP), departure_ns)
    assert len(early) > 10
    assert early == comparable(operated.direction(UP), departure_ns)
    # The draws of the other packets stay: loss takes the same numbers as before, as far as both trials have them.
    both = min(len(before), len(after))
    expected = [other for other in lost(plain) if other != number and other < both]
    assert [other for other in lost(operated) if other < both] == expected

    counters = counted(operated_run, trial)
    assert (counters["surgery_named"], counters["surgery_forgiven"], counters["surgery_held"]) == (1, 1, 0)
    assert counted(plain_run, plain_trial)["surgery_named"] == 0
    rows = pq.read_table(operated_run.trials / trial.id / "timeline.parquet").to_pylist()
    (row,) = [row for row in rows if row["direction"] == "down" and row["sequence"] == number]
    assert (row["kind"], row["detail"]) == ("packet_delivered", "forgiven by surgery")
