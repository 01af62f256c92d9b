"""Answers in words: who lost how much, why, how it was proven; nothing unconfirmed is a cause."""

from dataclasses import replace

import pytest
from syrupy.assertion import SnapshotAssertion

from longlook.explain.answer import Answer, IntegratedLosses, LossPart, SingleLoss, Together
from longlook.explain.attribution import Conclusion, Share
from longlook.report.causes.text import (
    answers_markdown,
    details,
    dose_text,
    heading,
    line,
    not_seen,
    sentence,
    share_text,
    single_losses,
)
from tests.data import answers
from tests.data.answers import (
    ALIKE,
    INITIAL_WINDOW,
    PLACED,
    REFUTED,
    UNTESTABLE,
    WHICH_END,
    answer,
    explained,
    judged,
)


def plain(text: str) -> str:
    return text.replace("\u00a0", " ")


def test_the_first_line_is_short_and_has_each_cause_with_its_share(snapshot: SnapshotAssertion) -> None:
    assert plain(line(answer(findings=(explained(),)))) == snapshot
    two = line(answer(findings=(explained(), INITIAL_WINDOW, REFUTED)))
    assert plain(two) == snapshot


def test_the_sentences_say_who_lost_how_much_why_and_how_it_was_proven(snapshot: SnapshotAssertion) -> None:
    told = [plain(text) for text in details(answer(findings=(explained(),), together=None))]
    assert told == snapshot


def test_no_sentence_is_longer_than_a_reader_can_hold() -> None:
    for found in answers.ALL:
        assert all(len(text.split()) <= 45 for text in details(found)), details(found)
        assert len(line(found).split()) <= 30


def test_what_removes_the_occasion_says_where_and_never_because(snapshot: SnapshotAssertion) -> None:
    found = answer(findings=(PLACED,), together=None)
    assert line(found) == snapshot
    told = [plain(text) for text in details(found)]
    assert told[1:] == snapshot
    assert "because" not in sentence(found)


def test_an_end_that_both_arms_have_alike_is_not_what_differs(snapshot: SnapshotAssertion) -> None:
    found = answer(findings=(ALIKE,), together=None)
    assert "because" not in sentence(found)
    assert details(found)[-1] == snapshot


def test_a_consequence_is_told_below_and_is_no_because(snapshot: SnapshotAssertion) -> None:
    kept = explained(cause="kept", title="Reductions kept", follows="Spurious losses")
    found = answer(findings=(INITIAL_WINDOW, kept), together=None)
    assert "reductions kept" not in line(found)
    assert details(found) == snapshot


def test_a_swap_of_programs_says_which_end(snapshot: SnapshotAssertion) -> None:
    found = answer(findings=(WHICH_END,), together=None)
    assert line(found) == snapshot
    assert details(found) == snapshot


def test_a_change_that_does_more_than_undo_says_so(snapshot: SnapshotAssertion) -> None:
    wild = explained(cures=(judged("early data", 240.0),))
    text = plain(sentence(answer(findings=(wild,), together=None)))
    assert text == snapshot


def test_an_arm_that_fails_is_told_by_what_its_trials_share(snapshot: SnapshotAssertion) -> None:
    told = sentence(answers.FAILING)
    assert told == snapshot
    assert "every object arrived" not in told


def test_several_causes_stand_one_after_the_other_and_what_remains_is_said(snapshot: SnapshotAssertion) -> None:
    text = plain(sentence(answer()))
    assert text.count("Because") == 1
    assert text == snapshot
    assert text.endswith(" Not explained: 9.0 % of the gap, interval 4.0 to 14 %.")


def test_causes_beyond_three_are_counted() -> None:
    many = tuple(explained(cause=f"cause{number}") for number in range(5))
    assert line(answer(findings=many, together=None)).endswith("; and 2 more")
    assert "more" not in line(answer(findings=many[:3], together=None))


@pytest.mark.parametrize(
    "conclusion",
    [Conclusion.REFUTED, Conclusion.INCONCLUSIVE, Conclusion.UNTESTABLE, Conclusion.NO_CHANGE, Conclusion.UNTOUCHED],
)
def test_nothing_unconfirmed_is_a_because(conclusion: Conclusion) -> None:
    text = sentence(answer(findings=(explained(conclusion=conclusion),), together=None))
    assert "because" not in text
    assert text.endswith(f" None of the suspected causes is confirmed: larger cut at a loss ({conclusion}).")
    beside = sentence(answer(findings=(explained(conclusion=conclusion), INITIAL_WINDOW), together=None))
    assert "cut at a loss" not in beside


def test_the_change_that_proves_is_one_that_was_confirmed() -> None:
    doubtful = judged("a larger doubtful change", 90.0, conclusion=Conclusion.INCONCLUSIVE)
    text = sentence(answer(findings=(explained(cures=(doubtful, judged("a small sure change", 60.0))),), together=None))
    assert "a small sure change" in text
    assert "doubtful" not in text


def test_an_advantage_of_the_winner_is_told_and_is_no_cause_of_the_loss() -> None:
    cure = judged("no reordering", 60.0, target="both", conclusion=Conclusion.ADVANTAGE, winners_pct=58.0)
    item = explained(conclusion=Conclusion.ADVANTAGE, cures=(cure,))
    told = (
        " No reordering for both arms closes 60 % (56 to 64 %) of the gap by making TCP (Linux, Cubic) worse: "
        "that is an advantage of TCP (Linux, Cubic), not what QUIC (quic-go 0.65.0, Cubic) loses by."
    )
    alone = plain(sentence(answer(findings=(item,), together=None)))
    assert "because" not in alone
    assert alone.endswith(f"larger cut at a loss (advantage of the winner).{told}")
    beside = plain(sentence(answer(findings=(INITIAL_WINDOW, item), together=None)))
    assert beside.count("ecause") == 1
    assert beside.endswith(told)


def test_a_share_from_fewer_rounds_says_so(snapshot: SnapshotAssertion) -> None:
    found = replace(answer(findings=(INITIAL_WINDOW,), together=None), rounds=20)
    cure, given = replace(INITIAL_WINDOW.cures[0], rounds=13), replace(INITIAL_WINDOW.transplants[0], rounds=20)
    item = replace(INITIAL_WINDOW, cures=(cure,), transplants=(given,))
    text = plain(sentence(replace(found, findings=(item,))))
    assert text == snapshot
    assert ", from 13 of 20 rounds" in plain(answers_markdown([replace(found, findings=(item,))]))


def test_a_transplant_alone_confirms_what_no_cure_could(snapshot: SnapshotAssertion) -> None:
    given = judged("an initial window of 10 packets", 80.0, target="winner")
    text = sentence(answer(findings=(explained(cures=(), transplants=(given,)),), together=None))
    assert text == snapshot


def test_a_small_share_is_a_part_of_why() -> None:
    found = explained(cures=(judged("a little", 12.0),))
    assert line(answer(findings=(found,), together=None)).startswith("in part because: larger cut at a loss")
    together = Together(("a", "b"), Share(80.0, 70.0, 90.0), 40.0)
    assert "in part" not in sentence(answer(findings=(found, INITIAL_WINDOW), together=together))


def test_a_gap_that_turns_round_has_nothing_left(snapshot: SnapshotAssertion) -> None:
    found = explained(cures=(judged("0.7 of the window left", 130.0),))
    more = Together(("0.7 of the window left", "more"), Share(131.0, 120.0, 142.0), 60.0)
    text = plain(sentence(answer(findings=(found, INITIAL_WINDOW), together=more)))
    assert text == snapshot
    assert text.endswith(" Together these changes close the whole gap.")
    assert "Not explained" not in text
    whole = explained(cures=(judged("0.7 of the window left", 102.0),))
    assert sentence(answer(findings=(whole,), together=None)) == snapshot


def test_an_interval_without_bounds_is_left_out() -> None:
    found = explained(cures=(replace(judged("0.7 of the window left"), share=Share(71.0, None, None)),))
    assert plain(sentence(answer(findings=(found,), together=None))).endswith("the gap closes by 71 %.")


def test_what_several_changes_close_together_may_be_unknown() -> None:
    text = sentence(answer(together=None))
    assert text.endswith(" What these changes close together is not known.")


def test_where_higher_is_better_less_is_lost(snapshot: SnapshotAssertion) -> None:
    text = plain(sentence(answers.HIGHER_IS_BETTER))
    assert text == snapshot


def test_shares_differ_by_points_and_medians_may_contradict_the_mean(snapshot: SnapshotAssertion) -> None:
    points = answer(metric="packet_loss", unit="%", loser_level=4.0, winner_level=1.0, gap_pct=None)
    assert plain(sentence(points)) == snapshot
    skewed = plain(sentence(answer(loser_level=1.2, winner_level=1.3)))
    assert skewed == snapshot
    assert sentence(answer(loser_level=None)) == snapshot


@pytest.mark.parametrize("found", [answers.NO_GAP, answers.UNDECIDED, answers.FAILED], ids=lambda item: item.status)
def test_without_a_gap_the_reason_is_the_sentence(found: Answer) -> None:
    text = sentence(found)
    assert text.lower().startswith(found.reason.lower())
    assert "because" not in text
    assert "loses" not in text
    assert found.winner_label in text


def test_a_gap_that_no_detector_explains_is_said() -> None:
    assert sentence(answers.UNEXPLAINED).endswith(". No cause is suspected: no detector saw a cause.")


def test_what_was_not_seen_has_its_reason(snapshot: SnapshotAssertion) -> None:
    found = not_seen(answer())
    assert found == snapshot
    assert any(plain(line).endswith("no rule says what 3.50 ms of the load went to") for line in found)
    assert not_seen(answer(ledger_ms=None)) == snapshot
    assert not_seen(answers.NO_GAP) == []


def test_markdown_has_every_change_every_dose_and_the_command(snapshot: SnapshotAssertion) -> None:
    text = plain(answers_markdown([answer()]))
    lines = text.splitlines()
    assert lines[0] == f"### {heading(answer())}"
    rows = [line for line in lines if line.startswith("| ")][2:]
    assert len(rows) == 6
    assert rows[0].startswith(
        "| Larger cut at a loss | confirmed | 0.7 of the window left | QUIC (quic-go 0.65.0, Cubic) | "
        "71 % (67 to 75 %) |"
    )
    assert rows[2].startswith("|  |  | an initial window of 10 packets | TCP (Linux, Cubic) |")
    assert rows[-1].startswith("| Timer too long | untestable | – |")
    assert text == snapshot


def test_markdown_states_every_outcome() -> None:
    text = answers_markdown(answers.ALL)
    assert text.count("### ") == len(answers.ALL)
    assert "Nothing to explain: equivalent" in text
    assert "there is nothing to explain" in answers_markdown([])


def test_hostile_text_stays_text_in_markdown() -> None:
    label = "a|b</td><script>[x](y)`\n# big"
    hostile = answer(
        loser_label=label,
        cell={"rate": "<img>"},
        command="longlook explain\n\n# evil",
        findings=(explained(title=label, cures=(judged(label),)), REFUTED, UNTESTABLE),
    )
    text = answers_markdown([hostile])
    assert "<script" not in text
    assert "<img" not in text
    assert "[x](y)" not in text.replace("\\[x\\](y)", "")
    assert not [line for line in text.splitlines() if line.startswith("# ")]
    table = [line for line in text.splitlines() if line.startswith("| ")]
    assert {line.replace("\\|", "").count("|") for line in table} == {9}


def test_an_answer_without_arms_has_its_reason_alone(snapshot: SnapshotAssertion) -> None:
    bare = replace(answers.FAILED, loser_label="", winner_label="", cell={})
    assert sentence(bare) == snapshot


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (Share(97.1, 96.9, 97.3), "97.1 % (96.9 to 97.3 %)"),
        (Share(97.1, 97.12, 97.13), "97.1 %"),
        (Share(-0.02, -0.3, 0.26), "0.0 % (−0.3 to 0.3 %)"),
        (Share(71.4, 60.0, 80.0), "71 % (60 to 80 %)"),
        (Share(71.4, None, None), "71 %"),
        (None, "–"),
    ],
)
def test_a_narrow_interval_has_a_decimal_more(share: Share | None, text: str) -> None:
    assert plain(share_text(share)) == text


def test_too_few_doses_say_nothing_about_what_follows(snapshot: SnapshotAssertion) -> None:
    two = explained(doses=INITIAL_WINDOW.doses[:2], monotone=False)
    assert dose_text(two) == snapshot
    assert dose_text(replace(INITIAL_WINDOW, monotone=False)) == snapshot


INTEGRATED = IntegratedLosses(
    42,
    (LossPart("none", 0.62, 80.0), LossPart("one", 0.3, 15.0), LossPart("more", 0.08, 5.0)),
    (
        SingleLoss("packet 31 to the client, with 900 bytes of data, dropped at random", 0.0061, 0.285, 0.036, 9.25),
        SingleLoss("up 3", 0.0061, None, 0.0, None),
    ),
)


def test_integrated_losses_are_means_over_all_loads_and_single_ones_have_their_cost() -> None:
    found = answer(integrated=INTEGRATED, findings=(explained(seen_in=7, seen_pct=12.4),))
    text = plain(sentence(found))
    assert "; means over all loads, 10 rounds" in text
    assert "Of the gap, loads without loss make 80 % (62 % of loads), loads with one loss 15 % (30 % of loads)" in text
    assert [tuple(map(plain, row)) for row in single_losses(found)] == [
        (INTEGRATED.singles[0].packet, "0.61 %", "+285 ms", "+36.0 ms", "9.2 %"),
        ("up 3", "0.61 %", "–", "0.00 s", "–"),
    ]
    markdown = plain(answers_markdown([found]))
    assert "packet 31 to the client" in markdown
    assert "7 of 42 traced loads (12 % of loads)" in markdown


def test_losses_that_are_drawn_say_why() -> None:
    text = sentence(answer(why_sampled="only trials in virtual time repeat"))
    assert "Losses are drawn at random in each round: only trials in virtual time repeat." in text
    assert single_losses(answer()) == []


def test_doses_of_a_count_have_its_unit() -> None:
    doses = tuple(replace(dose, unit="stalls") for dose in INITIAL_WINDOW.doses)
    text = plain(answers_markdown([answer(findings=(replace(INITIAL_WINDOW, doses=doses),))]))
    assert doses and "stalls" in text
