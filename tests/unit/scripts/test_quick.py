"""What `make quick` runs: always Python's checks, Rust's and Go's where their files have changed."""

import pytest
from scripts.quick import steps

PYTHON = ["format", "lint", "unit tests"]


@pytest.mark.parametrize(
    ("changed", "more"),
    [
        ("src/longlook/core/units.py", []),
        ("crates/link-core/src/stages/loss.rs", ["format of Rust", "lint of Rust", "tests of Rust"]),
        ("adapters/quic-go/main.go", ["lint of adapters/quic-go", "tests of adapters/quic-go"]),
    ],
)
def test_steps(changed: str, more: list[str]) -> None:
    found = steps([changed], ["tests/unit/core"])
    assert [step.name for step in found] == [*PYTHON[:2], *more, *PYTHON[2:]]
    assert found[-1].command[-1] == "tests/unit/core"
