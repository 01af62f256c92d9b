"""What people get wrong on the command line: a message that says what to do, and the right exit code."""

from pathlib import Path

import pytest

from tests.conftest import TINY
from tests.support.command_line import call_longlook, longlook

STUDY = TINY.read_text()


@pytest.mark.parametrize(
    ("arguments", "code", "messages"),
    [
        (["study", "show", "demoo"], 2, ["demoo", "demo"]),
        (["run", "demo", "--engine", "virtuall"], 2, ["virtuall", "live"]),
        (["run", "demo", "--set", "rtt"], 2, ["KEY=VALUE", "network.rtt=50ms"]),
        (["run", "demo", "--set", "network.rtt=36"], 2, ["network.rtt", "36", "ms"]),
        (["run", "demo", "--set", "network.rat=36ms"], 2, ["network.rat", "network.rate"]),
        (["run", "demo", "--only", "sise=1MB"], 2, ["sise", "size"]),
        (["run", "demo", "--only", "size=2MB"], 2, ["2MB", "1MB"]),
        (["run", "demo", "--rounds", "0"], 2, ["rounds"]),
        (["report", "nowhere"], 2, ["nowhere", "manifest.json"]),
        (["claims", "nowhere"], 2, ["nowhere", "manifest.json"]),
        (["claims"], 2, ["RUN"]),
        (["run", "missing.toml"], 2, ["missing.toml"]),
        (["setup", "quic-og"], 2, ["quic-og", "quic-go"]),
        (["setup", "quic-go@9"], 2, ["9", "0.65.0"]),
        (["stacks", "check", "quic-go@9"], 2, ["9", "0.65.0"]),
        (["stacks", "check"], 2, ["--all", "stacks list"]),
        (["stacks", "matrix", "ngtcp2", "--protocol", "h2"], 2, ["server", "h2", "longlook setup"]),
        (["stacks", "docs", "nowhere.md"], 2, ["nowhere.md"]),
        (["run", "--nonsense"], 2, ["nonsense"]),
        (["run", "demo", "--engine", "live", "--verify", "2"], 2, ["live", "real time", "--engine virtual"]),
        (["run", "demo", "--verify", "-1"], 2, ["verify"]),
        (["cache", "prune", "--unused-for", "a month"], 2, ["a month", "30d"]),
        (["diff-runs", "nowhere", "nowhere"], 2, ["nowhere", "run.json", "manifest.json"]),
    ],
)
def test_arguments(arguments: list[str], code: int, messages: list[str]) -> None:
    answer = call_longlook(*arguments)
    assert answer.returncode == code, answer.stderr
    assert all(message in answer.stderr for message in messages), answer.stderr


def test_a_process_ends_with_the_same_message_and_code() -> None:
    answer = longlook("study", "show", "demoo")
    assert answer.returncode == 2
    assert answer.stderr == call_longlook("study", "show", "demoo").stderr
    assert "Traceback" not in answer.stderr


@pytest.mark.parametrize(
    ("old", "new", "messages"),
    [
        ('rtt = "36ms"', 'rtt = "36 parsecs"', ["network.rtt", "36 parsecs", "ms"]),
        ('rate = "50Mbit"', 'rate = "-5Mbit"', ["network.rate", "-5Mbit"]),
        ('["5KB", "100KB"]', "[]", ["factors", "levels"]),
        ("rounds = 3", "rouds = 3", ["rouds", "rounds"]),
        ('server = "quic-go"', 'server = "quick-go"', ["quick-go", "quic-go"]),
    ],
)
def test_study_files(tmp_path: Path, old: str, new: str, messages: list[str]) -> None:
    assert old in STUDY
    path = tmp_path / "wrong.toml"
    path.write_text(STUDY.replace(old, new))
    answer = call_longlook("run", str(path), "--out", str(tmp_path / "run"))
    assert answer.returncode == 2
    assert all(message in answer.stderr for message in ["wrong.toml", *messages]), answer.stderr
    assert not (tmp_path / "run").exists()


def test_an_occupied_folder_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("do not touch")
    answer = call_longlook("run", str(TINY), "--engine", "live", "--out", str(tmp_path))
    assert answer.returncode == 2
    assert "not empty" in answer.stderr
    assert [file.name for file in tmp_path.iterdir()] == ["thesis.tex"]
