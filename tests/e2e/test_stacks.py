"""`longlook stacks` as a user runs it: real trials in virtual time."""

import json
from pathlib import Path

from tests.support.command_line import call_longlook, longlook


def test_list_says_what_is_there() -> None:
    answer = call_longlook("stacks", "list", "quic-go", "--json")
    assert answer.returncode == 0, answer.stderr
    newest = json.loads(answer.stdout)[-1]
    assert (newest["stack"], newest["protocols"], newest["default"]) == (
        "quic-go",
        ["h3", "h2", "hq-interop", "quic-live", "tls-live", "udp-live", "h3-or-h2"],
        True,
    )
    assert "ecn" in newest["knobs"]


def test_matrix_of_one_pair(tmp_path: Path) -> None:
    out = tmp_path / "matrix"
    answer = longlook("stacks", "matrix", "quic-go@0.65.0", "--protocol", "h3", "--out", str(out))
    assert answer.returncode == 0, answer.stderr + answer.stdout
    assert "✓" in answer.stdout
    (matrix,) = json.loads((out / "matrix.json").read_text())
    assert [pair["reason"] for pair in matrix["pairs"]] == [None]
    assert "| quic-go@0.65.0 | ✓ |" in (out / "matrix.md").read_text()
    assert "1 of 1 pairs" in (out / "index.html").read_text()
