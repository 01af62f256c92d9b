"""docs/reference/metrics.md is made of what the metrics' files hold."""

import subprocess
import sys
from pathlib import Path

import pytest

from longlook.core import registry
from longlook.core.errors import InputError
from longlook.metrics.__main__ import BEGIN, END, describe, updated

DOCUMENT = Path(__file__).parents[3] / "docs" / "reference" / "metrics.md"


def test_the_document_has_a_section_for_every_metric_as_its_file_describes_it() -> None:
    document = DOCUMENT.read_text()
    assert document == updated(document), "run: python -m longlook.metrics docs/reference/metrics.md"
    for name in registry.load("metrics"):
        assert f"### `{name}`\n" in document


def test_a_section_has_one_sentence_a_line() -> None:
    lines = describe(registry.get("metrics", "share_of_used")).splitlines()
    assert lines[0] == "### `share_of_used`"
    assert lines[1] == "Share of what was used (%); higher is better; reads `packet_delivered`."
    assert [line for line in lines[2:] if not line.endswith(".")] == []
    assert "Table 4 of IMC 2017 and Corbel et al. 2019 report such shares." in lines


def test_text_around_the_marks_stays() -> None:
    document = updated(f"before\n{BEGIN}stale\n{END}after\n")
    assert document.startswith(f"before\n{BEGIN}\n### `{min(registry.load('metrics'))}`\n")
    assert document.endswith(f"{END}after\n")
    assert "stale" not in document


def test_a_document_without_marks_is_refused() -> None:
    with pytest.raises(InputError, match="no marks for the metrics"):
        updated(f"no end {BEGIN}")


def test_the_command_rewrites_the_file_that_it_is_given(tmp_path: Path) -> None:
    path = tmp_path / "metrics.md"
    path.write_text(DOCUMENT.read_text().replace("### `goodput`", "### `badput`"))
    subprocess.run([sys.executable, "-m", "longlook.metrics", str(path)], check=True)
    assert path.read_text() == DOCUMENT.read_text()
