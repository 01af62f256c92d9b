"""Tests in real time: which attempts are rejected, and what a test fails with on a machine that is always late."""

import sys
from pathlib import Path

import pytest

from tests.support.attempts import MOST
from tests.support.realtime import RealTime

LATE = "a waiting program did not run for 12.0 ms"
TESTS = """
import pytest
from pathlib import Path
from tests.support.realtime import HostWasLate

pytestmark = pytest.mark.realtime
TRIES = Path(__file__).with_name("tries")

@pytest.fixture(scope="module")
def attempt():
    tries = len(TRIES.read_text()) + 1 if TRIES.exists() else 1
    TRIES.write_text("x" * tries)
    return tries

def test_before(attempt): pass
"""


class Host:
    """A host that is late in these attempts, and counts how often it was asked to forget."""

    def __init__(self, *late: bool) -> None:
        self._late = iter(late)
        self.begun = 0
        self.closed = False

    def begin(self) -> None:
        self.begun += 1

    def reasons(self) -> list[str]:
        return [LATE] if next(self._late) else []

    def close(self) -> None:
        self.closed = True


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = realtime\n")
    return tmp_path


def outcome(folder: Path, host: Host, test: str, capsys: pytest.CaptureFixture[str]) -> tuple[pytest.ExitCode, str]:
    """Return how a run of these tests ends on a host, and all that it prints."""
    sys.modules.pop("test_it", None)
    (folder / "test_it.py").write_text(f"{TESTS}\n{test}\n")
    plain = [
        "--import-mode=importlib",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:xdist",
        "-p",
        "no:timeout",
        "--rootdir",
        str(folder),
    ]
    code = pytest.main([*plain, str(folder / "test_it.py")], plugins=[RealTime(lambda: host)])
    return pytest.ExitCode(code), capsys.readouterr().out


def test_an_attempt_that_fails_on_a_late_host_is_made_again_with_fixtures_of_its_own(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    host = Host(True, True)
    code, output = outcome(folder, host, "def test_it(attempt): assert attempt == 3", capsys)
    assert code is pytest.ExitCode.OK
    assert "2 passed" in output
    assert [line.rpartition(": ")[2] for line in output.splitlines() if "rejected attempt" in line] == [LATE] * 2
    assert (host.begun, host.closed) == (3, True)


def test_a_failure_on_a_host_that_was_not_late_is_a_failure(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, output = outcome(folder, Host(False), "def test_it(attempt): assert attempt == 3", capsys)
    assert code is pytest.ExitCode.TESTS_FAILED
    assert "1 failed, 1 passed" in output
    assert "rejected" not in output


def test_an_attempt_that_passes_is_kept_whatever_the_host_did(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, output = outcome(folder, Host(), "def test_it(attempt): assert attempt == 1", capsys)
    assert code is pytest.ExitCode.OK
    assert "rejected" not in output


def test_a_host_that_is_always_late_fails_the_test_and_is_named(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, output = outcome(folder, Host(*[True] * MOST), "def test_it(attempt): assert attempt == 0", capsys)
    assert code is pytest.ExitCode.TESTS_FAILED
    assert "too busy" in output
    assert f"assert {MOST} == 0" in output
    assert output.count("rejected attempt") == MOST


def test_a_test_may_see_for_itself_that_the_host_was_late(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    test = "def test_it(attempt):\n    if attempt < 2: raise HostWasLate('perf lost samples')"
    code, output = outcome(folder, Host(False), test, capsys)
    assert code is pytest.ExitCode.OK
    assert "perf lost samples" in output


def test_other_tests_are_none_of_its_business(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    host = Host(True)
    code, output = outcome(folder, host, "pytestmark = []\ndef test_it(): assert False", capsys)
    assert code is pytest.ExitCode.TESTS_FAILED
    assert "rejected" not in output
    assert host.begun == 0
