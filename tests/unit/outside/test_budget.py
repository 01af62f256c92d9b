"""What may be asked of a host within an hour holds over all runs of a cache."""

from pathlib import Path

import pytest

from longlook.core import MachineError
from longlook.outside import Budget
from longlook.outside.budget import HOUR_S, BudgetSpentError


class Clock:
    now_s = 1_000_000.0

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LONGLOOK_CACHE", str(tmp_path))


def test_requests_count_until_they_are_an_hour_old() -> None:
    clock = Clock()
    Budget("www.example.org", 3, 1000, clock).take(2, 0)
    later = Budget("www.example.org", 3, 1000, clock)  # of another run
    assert later.spent().requests == 2
    clock.now_s += 60
    with pytest.raises(BudgetSpentError, match="3 requests") as caught:
        later.take(2, 0)
    assert "in 59 min" in str(caught.value.hint)
    assert later.spent().requests == 2
    clock.now_s += HOUR_S
    later.take(3, 0)
    assert later.spent().requests == 3


def test_bytes_that_are_expected_count_before_they_pass() -> None:
    budget = Budget("www.example.org", 100, 1_000_000, Clock())
    budget.note_bytes(900_000)
    budget.take(1, 100_000)
    with pytest.raises(BudgetSpentError, match="1 MB"):
        budget.take(1, 100_001)


def test_each_host_has_its_own() -> None:
    Budget("www.example.org", 1, 1000).take(1, 0)
    Budget("www.example.net", 1, 1000).take(1, 0)


def test_a_record_that_cannot_be_read_is_not_taken_for_none(tmp_path: Path) -> None:
    Budget("www.example.org", 1, 1000).take(1, 0)
    (tmp_path / "state" / "sites" / "www.example.org.json").write_text("[1, 2")
    with pytest.raises(MachineError, match="does not say what was asked"):
        Budget("www.example.org", 1, 1000).take(1, 0)
