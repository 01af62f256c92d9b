"""Documents stay readable as text and in a diff."""

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LONGEST_LINE = 200


def documents() -> list[Path]:
    listed = subprocess.run(["git", "ls-files", "*.md"], cwd=ROOT, capture_output=True, text=True, check=True)
    return [ROOT / name for name in listed.stdout.split()]


@pytest.mark.parametrize("path", documents(), ids=lambda path: str(path.relative_to(ROOT)))
def test_no_line_is_too_long_to_read(path: Path) -> None:
    """One sentence a line; what a table cannot say in a row of this length belongs below it."""
    long = [number for number, line in enumerate(path.read_text().splitlines(), 1) if len(line) > LONGEST_LINE]
    assert not long
