"""Runs the few tests that failed beside others once more, alone: `make test` does so where pytest has failed.

Tests in real time can lose to a machine whose CPUs belong to somebody else for a second. A test that fails alone, too,
is a defect of the code; one that passes alone is a defect of the test, and is named at the end, to be corrected. More
failures than MOST are no disturbance, and are not repeated.
"""

import json
import re
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).parents[1]
FAILED = ROOT / ".pytest_cache" / "v" / "cache" / "lastfailed"
MOST = 5
GROUP = re.compile(r"@(?:[\w/]+\.py|[a-z ]+)$")
"""What pytest-xdist adds to a test's name: its group, of tests/conftest.py. A stack's version begins with a digit."""


def names(failed: Iterable[str]) -> list[str]:
    """Return the tests by the names that pytest takes, each once."""
    return sorted({GROUP.sub("", name) for name in failed})


def main() -> None:
    """Repeat the failed tests of the last run; exit code 1 where there are too many, or one fails again."""
    tests = names(json.loads(FAILED.read_text())) if FAILED.is_file() else []
    if not 0 < len(tests) <= MOST:
        sys.exit(f"{len(tests)} failed tests are known; between 1 and {MOST} are repeated")
    sys.stdout.write(f"once more, alone: {', '.join(tests)}\n")
    sys.stdout.flush()
    code = subprocess.run([sys.executable, "-m", "pytest", *tests], cwd=ROOT, check=False).returncode
    if code:
        sys.exit(code)
    sys.stdout.write(f"failed beside other tests, passed alone; correct the test: {', '.join(tests)}\n")


if __name__ == "__main__":
    main()
