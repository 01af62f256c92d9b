"""Counts of claims in documents are those of the entries."""

import re
from pathlib import Path

import pytest
from scripts.claim_counts import CountError, counted, judged, pages, with_counts

FIG = "kakhki2017-fig6a"


def test_a_stale_count_is_renewed_and_the_rest_stays() -> None:
    text = f"Fig. 6a: <!-- claims {FIG} -->99 same size, 1 mixed; and 3 more.\n"
    renewed = with_counts(text)
    counts = re.fullmatch(rf"Fig. 6a: <!-- claims {FIG} -->(.*); and 3 more.\n", renewed)
    assert counts is not None and "mixed" not in counts[1]
    assert sum(int(number) for number in re.findall(r"\d+", counts[1])) == 21
    assert with_counts(renewed) == renewed


def test_a_choice_leaves_the_others_out() -> None:
    def number(what: str, asked: str) -> int:
        return sum(counted(what, asked).values())

    assert number("claims", f" {FIG} | rate=10Mbit") == 7
    assert number("claims", f" {FIG} | rate=10Mbit; 50Mbit | size=5KB") == 2
    assert number("claims", f" {FIG} | kind=no difference") == 1
    assert number("claims", " kakhki2017-fig15 | contrast=430 vs tcp") == 21
    assert number("claims", f" {FIG} kakhki2017-large-objects") == 31
    assert number("statements", f" {FIG} kakhki2017-large-objects") == 21
    assert number("claims", "") == sum(len(found) for found in judged().values())
    assert number("claims", " | paper=kakhki2017") < number("claims", "")
    assert number("claims", " kakhki2017-fig15 | id=fig15a") == 21


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("<!-- claims nothing -->1 open", "no entry of nothing"),
        (f"<!-- claims {FIG} | rate -->1 open", "no choice"),
        (f"<!-- claims {FIG} | rate=1bit -->1 open", "no claim fits"),
        (f"a\nb <!-- claims {FIG} --> some", "line 2: no counts stand behind"),
    ],
)
def test_a_comment_that_asks_for_nothing_is_named(text: str, message: str) -> None:
    with pytest.raises(CountError, match=message):
        with_counts(text)


@pytest.mark.parametrize("page", pages(), ids=str)
def test_documents_have_the_counts_of_the_entries(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert with_counts(text) == text
