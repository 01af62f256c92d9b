"""The records of a torture: counted by experiment and deed, added up over folders, whole after a kill."""

from pathlib import Path

import pytest

from tests.torture import tally
from tests.torture.__main__ import main
from tests.torture.records import RECORDS, Record, append, identity, load

ROOT = Path(__file__).parents[2]


def record(number: int, experiment: str, variant: str, broken: str | None = None, day: str = "2026-11-23") -> Record:
    return Record(number, experiment, variant, broken, 30.0, day, "0.1.0", "2 CPUs")


def folder(path: Path, *records: Record) -> Path:
    """Return a folder of a torture with these records."""
    path.mkdir(exist_ok=True)
    for each in records:
        append(path, each)
    return path


def test_records_are_read_back_in_their_order(tmp_path: Path) -> None:
    made = [record(1, "kill", "SIGTERM, after 2 s"), record(2, "disk", "TMPDIR, 64 KiB", "AssertionError: x")]
    for item in made:
        append(tmp_path, item)
    assert load(tmp_path) == made
    assert load(tmp_path / "none") == []


def test_half_a_line_of_a_killed_session_is_dropped_and_the_next_one_is_whole(tmp_path: Path) -> None:
    append(tmp_path, record(1, "kill", "SIGTERM"))
    with (tmp_path / RECORDS).open("a", encoding="utf-8") as file:
        file.write('{"number": 2, "expe')
    assert [item.number for item in load(tmp_path)] == [1]
    append(tmp_path, record(2, "kill", "SIGKILL"))
    assert [item.number for item in load(tmp_path)] == [1, 2]


def test_deeds_are_counted_apart_with_what_was_survived() -> None:
    counts = tally.counted(
        [
            record(1, "kill", "SIGTERM, after 2 s", day="2026-11-22"),
            record(2, "disk", "TMPDIR, 64 KiB"),
            record(3, "kill", "SIGTERM, after 1 s", "AssertionError: left behind"),
            record(4, "kill", "Ctrl-C, after 3 s"),
        ]
    )
    assert [(row.experiment, row.deed, row.made, row.survived, row.broken, row.seconds) for row in counts] == [
        ("disk", "TMPDIR", 1, 1, 0, 30.0),
        ("kill", "Ctrl-C", 1, 1, 0, 30.0),
        ("kill", "SIGTERM", 2, 1, 1, 60.0),
    ]
    assert (counts[2].first, counts[2].last) == ("2026-11-22", "2026-11-23")


def test_a_folder_counts_once_however_often_it_is_recorded(tmp_path: Path) -> None:
    file, out = tmp_path / "torture.json", folder(tmp_path / "out", record(1, "kill", "SIGTERM"))
    tally.record(file, out)
    once = file.read_bytes()
    tally.record(file, out)
    assert file.read_bytes() == once
    append(out, record(2, "kill", "SIGTERM", "AssertionError: x"))
    moved = out.rename(tmp_path / "moved")
    tally.record(file, moved)
    ((row, total),) = [tally.by_experiment(tally.read(file))]
    assert row == "| kill | 1 | 2 | 1 | 1 | 0.02 |"
    assert total == "| all | 1 | 2 | 1 | 1 | 0.02 |"


def test_an_older_copy_of_a_folder_takes_nothing_away(tmp_path: Path) -> None:
    file, older = tmp_path / "torture.json", folder(tmp_path / "older", record(1, "kill", "SIGTERM"))
    newer = folder(tmp_path / "newer", record(1, "kill", "SIGTERM"), record(2, "kill", "SIGKILL"))
    (newer / "identity").write_text(identity(older))
    tally.record(file, newer)
    before = file.read_bytes()
    tally.record(file, older)
    assert file.read_bytes() == before


def test_folders_of_several_machines_add_up(tmp_path: Path) -> None:
    file = tmp_path / "torture.json"
    for number in range(3):
        tally.record(file, folder(tmp_path / str(number), record(1, "kill", "SIGTERM", day=f"2026-11-2{number}")))
    found = tally.read(file)
    assert len(found) == 3
    assert tally.by_experiment(found)[-1] == "| all | 1 | 3 | 3 | 0 | 0.03 |"
    assert tally.by_machine(found) == ["| 0.1.0 | 2 CPUs | 2026-11-20 to 2026-11-22 | 3 | 0.03 |"]
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def test_nothing_is_recorded_of_a_folder_without_experiments(tmp_path: Path) -> None:
    tally.record(tmp_path / "torture.json", folder(tmp_path / "out"))
    assert not (tmp_path / "torture.json").exists()
    assert tally.by_experiment({}) == []


@pytest.mark.parametrize("text", ["", "[]", '{"schema": 2}', '{"schema": 1, "folders": {"a": [{"made": 1}]}}'])
def test_a_file_that_is_no_record_ends_the_session_before_it_begins(
    tmp_path: Path, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "torture.json"
    file.write_text(text)
    with pytest.raises(SystemExit, match=r"torture\.json"):
        main(["--minutes", "0", "--out", str(tmp_path / "out"), "--record", str(file)])
    assert file.read_text() == text
    assert capsys.readouterr().out == ""


def test_a_session_of_no_minutes_records_what_its_folder_has(tmp_path: Path) -> None:
    file = tmp_path / "torture.json"
    out = folder(tmp_path / "out", record(1, "kill", "SIGTERM, after 1 s"))
    assert main(["--minutes", "0", "--out", str(out), "--record", str(file)]) == 0
    assert tally.read(file) == {identity(out): tally.counted(load(out))}


def test_the_counts_of_this_checkout_add_up() -> None:
    for counts in tally.read(ROOT / "docs" / "data" / "torture.json").values():
        assert all(count.made == count.survived + count.broken > 0 for count in counts)
        assert all(count.deed and count.experiment for count in counts)
