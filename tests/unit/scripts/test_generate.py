"""Files made from the code: a difference is found, written, and then found no more."""

from pathlib import Path

import pytest
from scripts.generate import GeneratedFile, out_of_date, with_table

PAGE = "# Kinds\n\n| kind | meaning |\n|---|---|\n| `old` | gone |\n| `older` | gone |\n\nBelow.\n"


def test_a_file_is_written_only_where_it_differs_and_only_when_asked(tmp_path: Path) -> None:
    files = [GeneratedFile("a.txt", lambda _current: "new\n"), GeneratedFile("b.txt", lambda current: current)]
    (tmp_path / "b.txt").write_text("kept\n")
    assert out_of_date(files, tmp_path) == ["a.txt"]
    assert not (tmp_path / "a.txt").exists()
    assert out_of_date(files, tmp_path, write=True) == ["a.txt"]
    assert (tmp_path / "a.txt").read_text() == "new\n"
    assert out_of_date(files, tmp_path) == []


def test_a_table_gets_other_rows_and_the_rest_of_the_document_stays() -> None:
    made = with_table(PAGE, "| kind", ["| `new` | here |"])
    assert made == "# Kinds\n\n| kind | meaning |\n|---|---|\n| `new` | here |\n\nBelow.\n"
    assert with_table(made, "| kind", ["| `new` | here |"]) == made


@pytest.mark.parametrize("header", ["| missing", "|"])
def test_a_table_that_is_missing_or_not_the_only_one_is_an_error(header: str) -> None:
    with pytest.raises(SystemExit, match="there should be one"):
        with_table(PAGE, header, [])
