"""The fuzzers of readers: a short part of them, always the same, and that they see what goes wrong."""

import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from scripts import fuzz_readers
from scripts.fuzz_readers import changed, findings
from scripts.fuzzed_readers import READERS

FILES = 40


def times(number: int) -> Callable[[], bool]:
    left = iter(range(number))
    return lambda: next(left, None) is not None


@pytest.mark.parametrize("name", list(READERS))
def test_changed_files_are_read_or_refused(name: str) -> None:
    assert list(findings(READERS[name], random.Random(0), times(FILES))) == []


def test_an_error_of_another_kind_is_a_finding() -> None:
    def fail(path: Path) -> None:
        raise KeyError(path.suffix)

    found = list(findings(replace(READERS["study"], read=fail), random.Random(0), times(3)))
    assert [each.what for each in found] == ["KeyError: '.toml'"] * 3


def test_a_reader_that_does_not_end_is_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(_path: Path) -> None:
        while True:
            pass

    monkeypatch.setattr(fuzz_readers, "LIMIT_S", 0.1)
    (found,) = findings(replace(READERS["recording"], read=never), random.Random(0), times(1))
    assert found.what == "TimeoutError: longer than 0.1 s"


def test_the_same_seed_changes_a_file_in_the_same_way() -> None:
    content = b"title = 'x'\n" * 20
    assert changed(content, random.Random(7)) == changed(content, random.Random(7)) != content
