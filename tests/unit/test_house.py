"""Rules of the house: no file grows beyond what one reads in one go, and lists of files name files that exist."""

import subprocess
from pathlib import Path

from tests.conftest import SERIAL, VIRTUAL

ROOT = Path(__file__).parents[2]
LONGEST_FILE = 400
KINDS = ("*.py", "*.rs", "*.go", "*.js", "*.css")
FOLDERS = ("src", "tests", "adapters", "crates", "benches", "scripts")


def test_no_file_is_too_long_to_read() -> None:
    patterns = [f":(glob){folder}/**/{kind}" for folder in FOLDERS for kind in KINDS]
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "--", *patterns]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    lengths = {name: len((ROOT / name).read_text().splitlines()) for name in listed if (ROOT / name).is_file()}
    assert {"src/longlook/core/model.py", "tests/unit/test_house.py"} <= lengths.keys()
    long = {name: lines for name, lines in lengths.items() if lines > LONGEST_FILE}
    assert not long, f"split these by what they do: {long}"


def test_groups_of_tests_name_files_that_exist() -> None:
    tests = ROOT / "tests"
    named = {*VIRTUAL, *(place for places in SERIAL.values() for place in places)}
    assert {place for place in named if not (tests / place).exists()} == set()
