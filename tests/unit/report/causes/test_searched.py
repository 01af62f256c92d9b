"""What was searched beyond what traces show, in words."""

from dataclasses import replace

from syrupy.assertion import SnapshotAssertion

from longlook.explain.answer import LossSearch, Screening
from longlook.report.causes.searched import (
    effect_rows,
    loss_lines,
    losses_sentence,
    screening_sentence,
    searched_markdown,
    seen,
)
from longlook.report.causes.text import answers_markdown, not_seen, sentence
from tests.data import answers
from tests.data.answers import NOT_SEARCHED, SEARCHED, answer, explained


def plain(text: str) -> str:
    return text.replace("\u00a0", " ")


def test_a_screening_says_what_was_varied_and_what_moved_the_gap(snapshot: SnapshotAssertion) -> None:
    assert screening_sentence(SEARCHED) == snapshot
    assert SEARCHED.screening is not None
    nothing = replace(SEARCHED.screening, effects=SEARCHED.screening.effects[1:])
    assert screening_sentence(replace(SEARCHED, screening=nothing)).endswith(": none of them moves the gap.")


def test_every_setting_has_a_row() -> None:
    assert [(row[1], plain(row[2]), row[4]) for row in effect_rows(SEARCHED)] == [
        ("both arms", "+69 %", "suspected"),
        ("both arms", "−1.2 %", ""),
    ]


def test_losses_are_listed_by_round_and_a_search_that_ended_early_says_so(snapshot: SnapshotAssertion) -> None:
    assert losses_sentence(SEARCHED) == snapshot
    first, second = (plain(line) for line in loss_lines(SEARCHED))
    assert first == snapshot
    assert second.startswith("round 5: 12 packets of 61")
    assert second.endswith("and 11 more; there may be fewer, the trials were spent")


def test_what_could_not_be_searched_has_its_reason(snapshot: SnapshotAssertion) -> None:
    assert screening_sentence(NOT_SEARCHED).startswith(
        "Settings were not screened: a screening of 16 settings takes 114"
    )
    assert losses_sentence(NOT_SEARCHED) == snapshot
    assert not_seen(SEARCHED) == snapshot


def test_where_nothing_was_searched_nothing_is_said() -> None:
    assert screening_sentence(answer()) == losses_sentence(answer()) == ""
    assert list(searched_markdown(answer())) == []
    assert loss_lines(answer()) == []
    assert effect_rows(answer()) == []


def test_a_finding_says_by_what_it_was_suspected(snapshot: SnapshotAssertion) -> None:
    assert seen(answer(), explained()) == "10 of 10"
    assert [seen(SEARCHED, item) for item in SEARCHED.findings] == snapshot


def test_markdown_and_sentence_have_what_was_found(snapshot: SnapshotAssertion) -> None:
    text = plain(answers_markdown([SEARCHED]))
    assert text == snapshot
    assert sentence(SEARCHED) == snapshot


def test_hostile_text_stays_text() -> None:
    evil = "<script>|[x](y)"
    hostile = answer(
        screening=Screening("", 8, 2, 14, (), (evil,)),
        losses=LossSearch(evil),
        cell_id="evil",
        findings=answers.answer().findings,
    )
    text = answers_markdown([hostile])
    assert "<script" not in text
    assert "[x](y)" not in text
