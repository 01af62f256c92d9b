"""What was searched beyond what traces show, in words."""

from dataclasses import replace

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


def test_a_screening_says_what_was_varied_and_what_moved_the_gap() -> None:
    assert screening_sentence(SEARCHED) == (
        "2 settings varied in 20 combinations, each in 3 rounds (114 trials): "
        "the gap moves with max_window 10000 packets of the server."
    )
    assert SEARCHED.screening is not None
    nothing = replace(SEARCHED.screening, effects=SEARCHED.screening.effects[1:])
    assert screening_sentence(replace(SEARCHED, screening=nothing)).endswith(": none of them moves the gap.")


def test_every_setting_has_a_row() -> None:
    assert [(row[1], plain(row[2]), row[4]) for row in effect_rows(SEARCHED)] == [
        ("both arms", "+69 %", "suspected"),
        ("both arms", "−1.2 %", ""),
    ]


def test_losses_are_listed_by_round_and_a_search_that_ended_early_says_so() -> None:
    assert losses_sentence(SEARCHED) == "In 2 of 10 rounds the gap hangs on a few losses (60 trials):"
    first, second = (plain(line) for line in loss_lines(SEARCHED))
    assert first == (
        "round 1: 2 packets of 59 that are lost, forgiven, close 82 % of its gap: "
        "packet 9 to the client, dropped; packet 12 to the client, dropped"
    )
    assert second.startswith("round 5: 12 packets of 61")
    assert second.endswith("and 11 more; there may be fewer, the trials were spent")


def test_what_could_not_be_searched_has_its_reason() -> None:
    assert screening_sentence(NOT_SEARCHED).startswith(
        "Settings were not screened: a screening of 16 settings takes 114"
    )
    assert losses_sentence(NOT_SEARCHED) == (
        "No single losses stand out: the link drops no packet of the loser's loads."
    )
    assert any("window_after_loss 0.85 of the server fail" in line for line in not_seen(SEARCHED))


def test_where_nothing_was_searched_nothing_is_said() -> None:
    assert screening_sentence(answer()) == losses_sentence(answer()) == ""
    assert list(searched_markdown(answer())) == []
    assert loss_lines(answer()) == []
    assert effect_rows(answer()) == []


def test_a_finding_says_by_what_it_was_suspected() -> None:
    assert seen(answer(), explained()) == "10 of 10"
    assert [seen(SEARCHED, item) for item in SEARCHED.findings] == [
        "by screening, 3 of 10",
        "by delta debugging, 2 of 10",
    ]


def test_markdown_and_sentence_have_what_was_found() -> None:
    text = plain(answers_markdown([SEARCHED]))
    assert "| Setting max_window of the server | confirmed |" in text
    assert "| max_window 10000 packets of the server | both arms | +69 % |" in text
    assert "- round 1: 2 packets of 59 that are lost" in text
    assert "Max_window of its server is 20 packets: confirmed." in sentence(SEARCHED)


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
