"""docs/reference/causes.md is made of what the causes' files hold."""

import subprocess
import sys
from pathlib import Path

import pytest

from longlook.causes.__main__ import BEGIN, END, describe, updated
from longlook.core.errors import InputError
from longlook.explain.cause import causes, find_cause

DOCUMENT = Path(__file__).parents[3] / "docs" / "reference" / "causes.md"


def test_the_document_has_a_section_for_every_cause_as_its_file_describes_it() -> None:
    document = DOCUMENT.read_text()
    assert document == updated(document), "run: python -m longlook.causes docs/reference/causes.md"
    for name in causes():
        assert f"### `{name}`\n" in document


def test_a_section_says_what_is_seen_and_what_is_changed() -> None:
    lines = describe(find_cause("pacing_limited")).splitlines()
    assert lines[0] == "### `pacing_limited`"
    assert lines[1].endswith("because its pacing leaves the bottleneck idle for … ms.")
    assert lines[3] == "To test it: no pacing for the loser, and pacing for the winner."
    assert [line for line in lines[1:] if not line.endswith(".")] == []


def test_text_around_the_marks_stays() -> None:
    document = updated(f"before\n{BEGIN}stale\n{END}after\n")
    assert document.startswith(f"before\n{BEGIN}\n### `ack_starvation`\n")
    assert document.endswith(f"{END}after\n")
    assert "stale" not in document


def test_a_document_without_marks_is_refused() -> None:
    with pytest.raises(InputError, match="no marks for the causes"):
        updated(f"no end {BEGIN}")


def test_the_command_rewrites_the_file_that_it_is_given(tmp_path: Path) -> None:
    path = tmp_path / "causes.md"
    path.write_text(DOCUMENT.read_text().replace("### `stream_ids`", "### `stream_odds`"))
    subprocess.run([sys.executable, "-m", "longlook.causes", str(path)], check=True)
    assert path.read_text() == DOCUMENT.read_text()
