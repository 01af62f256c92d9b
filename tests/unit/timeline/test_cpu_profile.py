"""Folded stacks of a trial become CPU seconds by kind of work."""

import json
import math
from pathlib import Path

import pytest

from longlook.timeline.cpu_work import Work, pooled_stacks, read_folded, work_columns

SERVER = "program;main;ring::aead::aes_gcm::seal 30\nprogram;main;quinn_proto::go 10\nprogram;main;quinn_proto::do 5\n"


def sampled(trial: Path, *, frequency_hz: int = 1000) -> Path:
    folder = trial / "cpu"
    folder.mkdir(parents=True)
    (folder / "server.folded").write_text(SERVER)
    (folder / "client.folded").write_text("")
    (folder / "profile.json").write_text(json.dumps({"frequency_hz": frequency_hz}))
    return trial


def test_every_end_has_every_kind_of_work_in_seconds(tmp_path: Path) -> None:
    columns = work_columns(sampled(tmp_path), {"server": 0.05})
    assert columns is not None
    found = dict(zip(zip(columns["role"], columns["work"], strict=True), columns["cpu_s"], strict=True))
    assert len(found) == 2 * len(Work)
    assert {key: value for key, value in found.items() if value} == {
        ("server", "cryptography"): pytest.approx(0.03),
        ("server", "protocol and program"): pytest.approx(0.015),
    }
    counted = dict(zip(columns["role"], columns["counted_s"], strict=True))
    assert counted["server"] == 0.05
    assert math.isnan(counted["client"])  # a browser on another machine has none


def test_without_samples_there_is_nothing(tmp_path: Path) -> None:
    assert work_columns(tmp_path, {}) is None
    (tmp_path / "cpu").mkdir()  # where the profiler could not sample it leaves what it complained about
    (tmp_path / "cpu" / "perf.stderr").write_text("Error:\n")
    assert work_columns(tmp_path, {}) is None
    assert pooled_stacks([tmp_path], "server") == ({}, 0.0)


def test_stacks_of_several_trials_are_added_up(tmp_path: Path) -> None:
    trials = [sampled(tmp_path / name, frequency_hz=500) for name in ("a", "b")]
    stacks, seconds = pooled_stacks(trials, "server")
    assert stacks["program;main;quinn_proto::go"] == 20
    assert seconds == 0.002


def test_a_line_that_was_cut_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("a;b c 3\na;b c 4\ngarbage\n;\na;b ")
    assert read_folded(tmp_path / "x") == {"a;b c": 7}
