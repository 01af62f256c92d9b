"""benches/results.json: each benchmark has the day and the machine of its own measurement."""

import json
from pathlib import Path

import pytest
from benches.results import run


def test_a_run_of_one_benchmark_leaves_the_others_as_they_were(tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    run({"link": lambda: {"rate": 1}, "video": lambda: {"rate": 2}}, [], path)
    before = json.loads(path.read_text())
    before["link"]["measured"]["day"] = before["video"]["measured"]["day"] = "2026-01-01"
    path.write_text(json.dumps(before))
    run({"link": lambda: {"rate": 3}, "video": lambda: {"rate": 4}}, ["video"], path)
    after = json.loads(path.read_text())
    assert after["link"] == before["link"]
    assert after["video"]["rate"] == 4
    assert after["video"]["measured"]["day"] != "2026-01-01"
    assert after["video"]["measured"]["command"] == "python -m benches video"


def test_what_was_measured_before_a_failure_is_kept(tmp_path: Path) -> None:
    def fail() -> dict[str, int]:
        raise OSError

    path = tmp_path / "results.json"
    with pytest.raises(OSError):
        run({"link": lambda: {"rate": 1}, "video": fail}, [], path)
    assert json.loads(path.read_text())["link"]["rate"] == 1


def test_a_name_that_there_is_not_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="no benchmark is called vido; there are: video"):
        run({"video": dict}, ["vido"], tmp_path / "results.json")
