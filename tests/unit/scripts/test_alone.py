"""Which tests `make test` repeats alone."""

import json
from pathlib import Path

import pytest
from scripts import alone


@pytest.mark.parametrize(
    ("reported", "name"),
    [
        (
            "tests/unit/core/test_units.py::test_one@tests/unit/core/test_units.py",
            "tests/unit/core/test_units.py::test_one",
        ),
        ("tests/lab/test_tcp.py::test_two[0.05]@real time", "tests/lab/test_tcp.py::test_two[0.05]"),
        ("tests/browser/test_a.py::test_three[a@b]@browser", "tests/browser/test_a.py::test_three[a@b]"),
        ("tests/e2e/test_b.py::test_four[quic-go@0.59.1]", "tests/e2e/test_b.py::test_four[quic-go@0.59.1]"),
        ("tests/e2e/test_b.py", "tests/e2e/test_b.py"),
    ],
)
def test_the_group_of_a_test_is_no_part_of_its_name(reported: str, name: str) -> None:
    assert alone.names([reported, reported]) == [name]


def repeat(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failed: list[str]) -> int:
    """Return the exit code for a checkout whose last run had these failures."""
    known = tmp_path / "lastfailed"
    known.write_text(json.dumps(dict.fromkeys(failed, True)))
    monkeypatch.setattr(alone, "FAILED", known)
    monkeypatch.setattr(alone, "ROOT", tmp_path)
    try:
        alone.main()
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 1
    return 0


def test_a_test_that_passes_alone_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "test_it.py").write_text("def test_good() -> None:\n    assert True\n")
    assert repeat(tmp_path, monkeypatch, ["test_it.py::test_good@test_it.py"]) == 0
    assert "passed alone; correct the test: test_it.py::test_good\n" in capsys.readouterr().out


def test_a_test_that_fails_alone_fails_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "test_it.py").write_text("def test_bad() -> None:\n    assert False\n")
    assert repeat(tmp_path, monkeypatch, ["test_it.py::test_bad"]) == 1


@pytest.mark.parametrize("count", [0, alone.MOST + 1])
def test_no_failure_and_many_are_not_repeated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    assert repeat(tmp_path, monkeypatch, [f"test_it.py::test_{number}" for number in range(count)]) == 1
