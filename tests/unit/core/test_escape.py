"""Text of others is shown as it is; what would steer a terminal or a page is written out."""

import io

import pytest

from longlook.core.escape import CsvWriter, csv_cell, steers, visible


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b]0;title\x07", r"\x1b]0;title\x07"),
        ("over\rwritten\x08", r"over\rwritten\x08"),
        ("\x9b31m \x7f \x00", r"\x9b31m \x7f \x00"),
        ("\u202egnp.exe", r"\u202egnp.exe"),
        ("\ud800", r"\ud800"),
        ("\U000e0041", r"\U000e0041"),
    ],
)
def test_characters_that_steer_are_written_out(text: str, shown: str) -> None:
    assert steers(text)
    assert visible(text) == shown
    assert visible(shown) == shown


def test_other_characters_stay() -> None:
    text = "Größe ≥ 5\u00a0KB\t[bold]\n日本語 👩\u200d🔬"
    assert not steers(text)
    assert visible(text) == text


@pytest.mark.parametrize(
    ("text", "cell"),
    [
        ("=cmd|'/c calc'!A1", "'=cmd|'/c calc'!A1"),
        ("+1+1", "'+1+1"),
        ("-2+3", "'-2+3"),
        ("@SUM(1+1)\x1b[2J", r"'@SUM(1+1)\x1b[2J"),
        ("\t=1", "'\t=1"),
        ("\uff1d1+1", "'\uff1d1+1"),
        *((text, text) for text in ("-3.5", "+1e9", "-.5", "10Mbit", "a=b", "", "–", "'=1")),
    ],
)
def test_no_cell_of_a_csv_file_is_a_formula(text: str, cell: str) -> None:
    assert csv_cell(text) == cell


def test_rows_hold_texts_that_nothing_runs_and_numbers_as_they_are() -> None:
    file = io.StringIO()
    rows = CsvWriter(file)
    rows.writerow(["=1+1", -2, 0.5, None])
    rows.writerows([("-5", "plain"), ("\x1b", "a,b")])
    assert file.getvalue() == '\'=1+1,-2,0.5,\n-5,plain\n\\x1b,"a,b"\n'
