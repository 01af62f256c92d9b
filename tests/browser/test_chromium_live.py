"""Chromium as a session client of the laboratory in real time: its folders there are the longest that it gets."""

import json
from pathlib import Path

import pytest

from longlook.core import registry
from tests.support.command_line import longlook

pytestmark = [
    pytest.mark.browser,
    pytest.mark.lab,
    pytest.mark.realtime,
    pytest.mark.slow,
    pytest.mark.skipif(not registry.get("stacks", "chromium").installed("system"), reason="no Chromium here"),
]

ONE_CELL = ("--only", "client=chromium", "--only", "size=5KB", "--only", "rate=50Mbit", "--rounds", "1")


def test_a_page_is_loaded_over_both_protocols(tmp_path: Path) -> None:
    answer = longlook("run", "demo", "--engine", "live", *ONE_CELL, "--out", str(tmp_path / "run"))
    results = [json.loads(file.read_text()) for file in (tmp_path / "run" / "trials").glob("*/run.json")]
    assert results, answer.stderr
    # On a busy machine the guard may reject attempts; nothing else may go wrong.
    assert {each["outcome"] for each in results} <= {"ok", "invalid"}, [each["reason"] for each in results]
    assert all(each["cpu_s"]["client"] > 0 for each in results)
