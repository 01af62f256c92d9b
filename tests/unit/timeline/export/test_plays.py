"""What a viewer saw, for other tools: a table over time, and the input of P.1203; on a play written by hand."""

import csv
import json
from dataclasses import replace
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from longlook.core.errors import InputError, MachineError
from longlook.timeline.export import convert, plays
from longlook.timeline.playback import Playback
from tests.unit.metrics.test_video_metrics import PLAYED
from tests.unit.timeline.export.test_har import laid


def play(low: str = "low", high: str = "high") -> Playback:
    """The play of the metrics' tests, with these names of its rungs."""
    found = Playback.of(PLAYED)
    assert found is not None
    names = {"low": low, "high": high}
    return replace(
        found,
        rungs_bps={names[name]: rate for name, rate in found.rungs_bps.items()},
        segments=tuple(replace(segment, rung=names[segment.rung]) for segment in found.segments),
    )


def test_the_table_has_the_buffer_at_each_change(tmp_path: Path) -> None:
    out = tmp_path / "play.csv"
    count = plays.write_table(play(), out)
    with out.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == count
    seen = [(float(row["time_s"]), row["event"], float(row["position_s"]), float(row["buffer_s"])) for row in rows]
    assert seen == [
        (1, "requested", 0, 0),
        (2, "arrived", 0, 4),
        (2, "requested", 0, 4),
        (2, "started", 0, 4),
        (6, "stalled", 4, 0),
        (8, "arrived", 4, 4),
        (8, "requested", 4, 4),
        (8, "resumed", 4, 4),
        (9, "arrived", 5, 7),
        (14, "ended", 10, 2),
    ]
    assert [row["rung"] for row in rows if row["event"] == "requested"] == ["low", "high", "high"]


def test_the_input_of_p1203_has_what_was_shown_and_the_waits_in_media_time(tmp_path: Path) -> None:
    out = tmp_path / "play.json"
    assert plays.write_p1203(play("medium", "hd720"), out) == 3
    report = json.loads(out.read_text())
    assert report["I23"]["stalling"] == [[0, 2], [4, 2]]
    segments = report["I13"]["segments"]
    assert [(part["start"], part["duration"], part["bitrate"], part["resolution"]) for part in segments] == [
        (0, 4, 1000, "640x360"), (4, 4, 3000, "1280x720"), (8, 2, 3000, "1280x720"),
    ]  # fmt: skip
    assert {part["codec"] for part in segments} == {"h264"}
    assert report["I11"]["segments"] == []


def test_a_rung_that_stands_for_no_picture_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="'low' stands for no size of picture"):
        plays.write_p1203(play(), tmp_path / "play.json")


def test_a_trial_without_a_play_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no video was played to its end"):
        convert(laid(tmp_path / "trial", []), "play", tmp_path / "play.csv")


def test_scores_are_those_of_the_users_own_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, snapshot: SnapshotAssertion
) -> None:
    report = tmp_path / "play.json"
    report.write_text("{}")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MachineError) as missing:
        plays.score(report)
    assert missing.value.message == snapshot
    program = tmp_path / plays.PROGRAM
    program.write_text('#!/bin/sh\necho "{\\"$1\\": {\\"O46\\": 4.5}}"\n')
    program.chmod(0o755)
    assert plays.score(report) == {"O46": 4.5}
    program.write_text("#!/bin/sh\necho I will accept the license terms\n")
    with pytest.raises(MachineError) as silent:
        plays.score(report)
    assert silent.value.hint is not None and "accept its terms if you can" in silent.value.hint
