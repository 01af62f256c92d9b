"""`longlook study show` and `longlook run --dry-run`: what they print."""

import json
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion
from typer.testing import CliRunner

from longlook.cli import app
from longlook.core.errors import InputError

TINY = str(Path(__file__).parents[2] / "data" / "tiny.toml")


@pytest.fixture(autouse=True)
def own_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No trial has run on this machine."""
    monkeypatch.setenv("LONGLOOK_TRIALS", str(tmp_path))


def answer(*arguments: str) -> str:
    found = CliRunner().invoke(app, arguments, catch_exceptions=False)
    assert found.exit_code == 0, found.output
    return found.output


def test_it_shows_what_the_arms_differ_in(snapshot: SnapshotAssertion) -> None:
    text = answer("study", "show", TINY)
    assert text == snapshot
    assert " ".join(text.split()) == snapshot


def test_it_takes_the_changes_that_a_run_takes(snapshot: SnapshotAssertion) -> None:
    text = answer("study", "show", TINY, "--rounds", "5", "--only", "size=5KB", "--set", "arms.quic.connection=0rtt")
    assert "1 cell × 2 arms × 5 rounds = 10 trials" in text
    assert text == snapshot
    data = json.loads(answer("study", "show", TINY, "--rounds", "5", "--set", "arms.quic.connection=0rtt", "--json"))
    assert data["trials"] == 20
    assert data["arms_differ_in"]["quic"] == {"protocol": "h3", "connection": "0rtt"}


def test_a_misspelt_arm_is_an_error() -> None:
    with pytest.raises(InputError, match="no arm 'quik', and --set adds none; allowed: tcp, quic; did you mean 'quic'"):
        answer("study", "show", TINY, "--set", "arms.quik.server=quic-go")


def test_a_dry_run_counts_and_makes_no_folder(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    arguments = ("run", TINY, "--engine", "live", "--dry-run", "--out", str(tmp_path / "run"), "--verify", "0")
    text = answer(*arguments)
    assert "2 cells × 2 arms × 3 rounds = 12 trials (12 live)" in text
    assert text == snapshot
    data = json.loads(answer(*arguments, "--json"))
    assert [cell["cell_id"] for cell in data["cells"]] == ["5KB", "100KB"]
    assert (data["trials"], data["finished"], data["to_run"]) == (12, 0, 12)  # no trial in real time is ever cached
    assert not (tmp_path / "run").exists()


def test_a_dry_run_refuses_what_a_run_refuses(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="CPU costs no time there"):
        answer("run", TINY, "--dry-run")
    (tmp_path / "thesis.tex").write_text("do not touch")
    with pytest.raises(InputError, match="not empty"):
        answer("run", TINY, "--engine", "live", "--dry-run", "--out", str(tmp_path))
