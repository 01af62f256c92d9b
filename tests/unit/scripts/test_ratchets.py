"""Numbers that may only fall: what a rise, a fall and a merge do to their record."""

import json
from pathlib import Path

import pytest
from scripts import ratchets
from scripts.counts import COUNTS

RECORD = {count.name: 10_000_000 for count in COUNTS if count.held}
NOW = {count.name: 10_000_000 for count in COUNTS}


def test_a_rise_is_named_with_both_values() -> None:
    assert list(ratchets.risen(RECORD, NOW)) == []
    assert list(ratchets.risen(RECORD, {**NOW, "homonyms": 10_000_001})) == [
        "homonyms has risen from 10,000,000 to 10,000,001"
    ]


def test_a_count_that_nobody_recorded_is_named() -> None:
    record = {name: value for name, value in RECORD.items() if name != "homonyms"}
    assert list(ratchets.risen(record, NOW)) == ["homonyms has no record; it is 10,000,000"]


def test_a_count_may_rise_up_to_its_target() -> None:
    (target,) = (count.target for count in COUNTS if count.name == "homonyms")
    assert target is not None
    record = {**RECORD, "homonyms": target - 2}
    assert list(ratchets.risen(record, {**NOW, "homonyms": target})) == []
    assert len(list(ratchets.risen(record, {**NOW, "homonyms": target + 1}))) == 1


def test_tests_the_change_log_and_generated_pages_may_grow() -> None:
    assert {count.name for count in COUNTS if not count.held} == {
        "test_lines",
        "changelog_lines",
        "bound_numbers_of_pages",
        "generated_pages",
        "words_of_generated_pages",
    }
    assert list(ratchets.risen(RECORD, {**NOW, "test_lines": 10_000_001})) == []


def test_the_record_goes_down_alone() -> None:
    now = {**NOW, "homonyms": 5, "pages": 10_000_001}
    assert ratchets.lowered(RECORD, now) == {**RECORD, "homonyms": 5}
    assert ratchets.fallen({**RECORD, "gone": 1}, now) == ["homonyms", "gone"]


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two counts and a record of them."""
    (tmp_path / "scripts").mkdir()
    monkeypatch.setattr(ratchets, "recorded", lambda: _recorded(tmp_path))
    monkeypatch.setattr(ratchets, "write", lambda record: _write(record, tmp_path))
    monkeypatch.setattr(ratchets, "counted", lambda: {**NOW, "homonyms": 68, "pages": 40})
    return tmp_path


_recorded, _write = ratchets.recorded, ratchets.write


def test_a_check_changes_nothing(checkout: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _write({**RECORD, "homonyms": 69}, checkout)
    ratchets.main(["--check"])
    assert capsys.readouterr().out == "homonyms, pages can be recorded lower: `make architecture`\n"
    assert _recorded(checkout)["homonyms"] == 69


def test_a_check_fails_after_a_rise_and_says_what_to_do(checkout: Path) -> None:
    _write({**RECORD, "homonyms": 67}, checkout)
    with pytest.raises(SystemExit, match=r"homonyms has risen from 67 to 68\n.*--renew"):
        ratchets.main(["--check"])


def test_the_table_lowers_the_record(checkout: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _write({**RECORD, "homonyms": 67}, checkout)
    with pytest.raises(SystemExit, match="homonyms has risen"):
        ratchets.main([])
    assert len(capsys.readouterr().out.splitlines()) == 1 + len(COUNTS)
    assert (_recorded(checkout)["homonyms"], _recorded(checkout)["pages"]) == (67, 40)


def test_one_command_records_what_a_merge_has(checkout: Path) -> None:
    _write({**RECORD, "homonyms": 67}, checkout)
    ratchets.main(["--renew"])
    assert json.loads((checkout / ratchets.RECORD).read_text())["homonyms"] == 68


def test_the_record_has_every_count_that_is_held() -> None:
    assert _recorded().keys() == RECORD.keys()
