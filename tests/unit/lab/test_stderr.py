"""The excerpt of standard error that explains a failed trial."""

from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from longlook.lab.flow_run import excerpt, read_excerpt

PYTHON = 'Traceback (most recent call last):\n  File "x.py", line 1, in <module>\nValueError: no such knob\n'
GO = "listening\npanic: runtime error: index out of range\n\ngoroutine 1 [running]:\nmain.main()\n\t/x.go:3\n"
RUST = "thread 'main' panicked at src/main.rs:5:9:\nentropy source failed\nnote: run with `RUST_BACKTRACE=1`\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ""),
        ("\n \n", ""),
        ("only this\n", "only this"),
        ("1\n2\n\n3\n4\n", "2 | 3 | 4"),
        (PYTHON, 'Traceback (most recent call last): | File "x.py", line 1, in <module> | ValueError: no such knob'),
        (GO, "panic: runtime error: index out of range | goroutine 1 [running]: | main.main()"),
        (
            RUST,
            "thread 'main' panicked at src/main.rs:5:9: | entropy source failed | note: run with `RUST_BACKTRACE=1`",
        ),
    ],
    ids=["empty", "blank", "one line", "last lines", "python", "go", "rust"],
)
def test_the_lines_that_name_the_cause_are_chosen(text: str, expected: str) -> None:
    assert excerpt(text) == expected


def test_a_long_excerpt_keeps_the_end_of_the_text_or_the_beginning_of_a_panic() -> None:
    assert excerpt("x" * 900 + "cause").endswith("xcause")
    assert excerpt("panic: cause" + "x" * 900).startswith("panic: causex")
    assert all(len(excerpt(text)) < 310 for text in ("x" * 900, "panic: " + "x" * 900))


def test_a_file_is_read_from_its_end_and_a_missing_one_is_empty(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    file = tmp_path / "client.stderr"
    assert read_excerpt(file) == ""
    file.write_bytes(b"noise\n" * 100_000 + b"\xff the cause\n")
    assert read_excerpt(file) == snapshot
