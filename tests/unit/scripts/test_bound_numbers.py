"""Numbers of pages and the places of entries that they are bound to, on an entry with values made up here."""

from dataclasses import replace
from decimal import ROUND_HALF_EVEN, Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scripts import bound_numbers

from longlook.core import ArmLevel, Effect, Estimate, Verdict
from longlook.instruments.atlas.claims.entry import Entry
from longlook.instruments.atlas.claims.places import MINUS, PlaceError, place_of, rounded, shown

STUDY = "kakhki2017-fig7"
EFFECTS = {"5KB": (31.449999, 30.1, 32.55), "10KB": (-12.25, -14.5, -9.96), "100KB": (0.04, -0.5, 0.6)}
VERDICTS = {"5KB": Verdict.BETTER, "10KB": Verdict.WORSE, "100KB": Verdict.EQUIVALENT}


def estimate(rate: str, size: str) -> Estimate:
    effect, low, high = EFFECTS[size]
    return Estimate(
        *("0-RTT vs without", "page_load_time", "s", {"rate": rate, "size": size}, f"{rate}_{size}", "without", "with"),
        *(10, 10, 10, 0.1, 0.0825, effect, low, high, None, None, None, None, 0.00049, VERDICTS[size], None, {}),
    )


@pytest.fixture
def entry(monkeypatch: pytest.MonkeyPatch) -> Entry:
    """An entry of figure 7 in which each rate has the effects of EFFECTS, and TCP's arm a level."""
    real = bound_numbers.entry_named(STUDY)
    level = ArmLevel("with", {"rate": "10Mbit", "size": "5KB"}, "10Mbit_5KB", "loss", "%", 10, 1.25, 1.0, 1.75)
    made = replace(
        real,
        estimates=tuple(estimate(rate, size) for rate in ("10Mbit", "50Mbit") for size in EFFECTS),
        levels=(level,),
    )
    monkeypatch.setattr(bound_numbers, "entry_named", lambda _study: made)
    return made


@pytest.mark.parametrize(
    ("text", "words", "expected"),
    [
        ("30 %", "10Mbit | 5KB", "31 %"),  # once: not 31.45 → 31.5 → 32
        ("30.0 % (0 to 1.0)", "10Mbit | 5KB", "31.4 % (30 to 32.6)"),
        ("+30 %, 0 to 1", "10Mbit | 5KB", "+31 %, 30 to 33"),
        ("+1 %", "10Mbit | 10KB", f"{MINUS}12 %"),
        ("1.0 % longer, 1 to 2", "10Mbit | 10KB", "12.2 % longer, 10 to 14"),
        (f"{MINUS}9 to 1 %", "10Mbit | 10KB", f"{MINUS}14 to {MINUS}10 %"),
        ("+1 %", "10Mbit | 100KB", "0 %"),
        ("7.0 times", "10Mbit | 10KB", "1.1 times"),
        ("Two times", "10Mbit | 5KB", "One times"),
        ("9 and 9 %", "5KB", "31 and 31 %"),
        ("9 %", "5KB", "31 %"),
        (f"{MINUS}9 to +9.0 %", "10Mbit", f"{MINUS}12 to +31.4 %"),
        (f"{MINUS}9.0 to 9.0 %", "10Mbit | intervals", f"{MINUS}14.5 to 32.6 %"),
        ("9 %", "10Mbit | ..10KB | least", "12 %"),
        ("9 %", "10Mbit | most", "31 %"),
        ("90 instead of 9.0 ms", "10Mbit | 5KB | contender | baseline", "82 instead of 100.0 ms"),
        ("0.01 s", "10Mbit | 5KB | contender", "0.08 s"),
        ("p 0.0001", "10Mbit | 5KB | p", "p 0.0005"),
        ("9.0 % (1 to 2)", "with | loss", "1.2 % (1 to 2)"),
        ("none of 7", "better", "two of 6"),
        ("all 9", "decided", "all 4"),
        ("18 to 20 %", "5KB | published", "18 to 19 %"),
        ("9 ms", "10Mbit | 5KB | contender | baseline | difference", "18 ms"),
        ("9.0 points", "5KB..10KB | 10Mbit | difference", "43.7 points"),
        ("9.00 times", "10Mbit | 5KB | contender | baseline | ratio", "1.21 times"),
        ("9 % longer", "10Mbit | 5KB | contender | baseline | ratio", "21 % longer"),
    ],
)
def test_a_text_gets_the_values_of_its_place(entry: Entry, text: str, words: str, expected: str) -> None:
    assert shown(text, place_of(entry, words.split(" | "))) == expected


@pytest.mark.parametrize(
    ("text", "words", "reason"),
    [
        ("much", "10Mbit | 5KB", "no number"),
        ("1, 2 and 3 %", "5KB", "2 values for 3"),
        ("1 %", "10Mbit", "3 values for 1"),
        ("1 ms", "10Mbit | 5KB", "in %, not in ms"),
        ("1 %", "100Mbit", "nothing is there"),
        ("1 points", "10Mbit | difference", "3 values are no pairs"),
    ],
)
def test_a_text_that_cannot_show_its_place_is_an_error(entry: Entry, text: str, words: str, reason: str) -> None:
    with pytest.raises(PlaceError, match=reason):
        shown(text, place_of(entry, words.split(" | ")))


def test_an_effect_that_is_a_difference_has_its_unit_and_no_ratio(
    entry: Entry, monkeypatch: pytest.MonkeyPatch
) -> None:
    counted = replace(
        estimate("10Mbit", "5KB"), effect_pct=None, ci_low_pct=None, ci_high_pct=None,
        difference=Effect(-2.75, -3.5, -1.25, "stalls", 0.1),
    )  # fmt: skip
    stalls = replace(entry, estimates=(counted,))
    assert shown("9.0 stalls (1 to 2)", place_of(stalls, ["5KB"])) == "2.8 stalls (1 to 4)"
    assert shown(f"{MINUS}9.00 stalls", place_of(stalls, ["5KB"])) == f"{MINUS}2.75 stalls"
    for text, reason in (("9 %", "in stalls, not in %"), ("9 times", "no such number")):
        with pytest.raises(PlaceError, match=reason):
            shown(text, place_of(stalls, ["5KB"]))


def test_levels_are_means_if_losses_are_integrated(entry: Entry) -> None:
    mean = replace(estimate("10Mbit", "5KB"), unseen_pct=5.0, baseline_mean=0.125, contender_mean=0.1)
    place = place_of(replace(entry, estimates=(mean,), levels=()), ["5KB", "baseline", "contender"])
    assert shown("9 instead of 9 ms", place) == "125 instead of 100 ms"


def test_a_word_that_an_entry_does_not_know_is_an_error_with_the_nearest(entry: Entry) -> None:
    with pytest.raises(PlaceError, match="'10Kbit' is nothing of it; did you mean '10Mbit'"):
        place_of(entry, ["10Kbit"])


def test_a_word_with_two_meanings_needs_its_factor() -> None:
    corbel = bound_numbers.entry_named("corbel2019-emulation")
    with pytest.raises(PlaceError, match="connections= and tcp="):
        place_of(corbel, ["1"])
    assert place_of(corbel, ["tcp=1"]).levels == {"tcp": frozenset({"1"})}


@given(st.floats(-1e6, 1e6), st.integers(0, 4))
def test_rounding_is_once_to_the_nearest_and_ties_go_to_even(value: float, decimals: int) -> None:
    text = rounded(value, decimals).replace(",", "").replace(MINUS, "-")
    step = Decimal(1).scaleb(-decimals)
    assert abs(Decimal(text) - Decimal(repr(value))) <= step / 2
    assert Decimal(text) == round(Decimal(repr(value)) / step).__index__() * step
    assert Decimal(text) == Decimal(repr(value)).quantize(step, ROUND_HALF_EVEN)


@pytest.mark.parametrize(
    ("value", "decimals", "signed", "text"),
    [
        (2.5, 0, False, "2"),
        (3.5, 0, True, "+4"),
        (-71.49, 0, True, f"{MINUS}71"),
        (0.125, 2, False, "0.12"),
        (-0.4, 0, True, "0"),
        (-0.04, 1, False, "0.0"),
        (4542.4, 0, False, "4,542"),
    ],
)
def test_rounded_values_as_they_are_written(value: float, decimals: int, signed: bool, text: str) -> None:
    assert rounded(value, decimals, signed=signed) == text


SENTENCE = f"""# Fig. 7
The first saves 31 %, the second 31 % (30 to 33) and loses
12 % with 10 KB. <!--
from {STUDY}: 5KB; 31 % = 10Mbit; 31 % (30 to 33) = 50Mbit;
12 % = 10Mbit | 10KB -->
Not so here: 31 %.
"""
TABLE = f"""<!-- table {STUDY}: 10Mbit; rows: 5KB; –; 10KB; 100KB; columns: 0-RTT vs without; –; baseline -->
| size | gain | published | time |
|---|---:|---:|---:|
| 5 KB | **+31 %** (30 to 33) | 9 % | 100 ms |
| none | +77 % | | 7 ms |
| 10 KB | 82 ms, {MINUS}12 % | | 100 ms |
| 100 KB | 0 %, equivalent | | 100 ms |
"""


def test_a_page_with_the_right_numbers_has_no_fault(entry: Entry) -> None:
    for text, numbers in ((SENTENCE, 5), (TABLE, 9)):
        page = bound_numbers.checked("docs/results/a.md", text)
        assert (page.faults, page.bound, page.corrected) == ((), numbers, text)


def test_numbers_that_no_comment_binds_are_counted(entry: Entry) -> None:
    assert bound_numbers.checked("docs/results/a.md", SENTENCE).unbound == ["31 %"]
    assert bound_numbers.checked("docs/results/a.md", TABLE).unbound == ["9 %", "+77", "7 ms"]


@pytest.mark.parametrize(
    ("text", "wrong", "right", "line"),
    [
        (SENTENCE, ("31 % (30", "32 % (30"), "31 % (30 to 33)", 2),
        (SENTENCE, ("12 %", "13 %"), "12 %", 3),
        (TABLE, ("**+31 %**", "**+30 %**"), "**+31 %** (30 to 33)", 4),
        (TABLE, ("82 ms", "83 ms"), "82 ms", 6),
    ],
)
def test_a_wrong_number_is_named_with_the_right_one_and_corrected(
    entry: Entry, text: str, wrong: tuple[str, str], right: str, line: int
) -> None:
    page = bound_numbers.checked("a.md", text.replace(*wrong))  # also in the comment, which repeats the sentence
    assert [(fault.right, fault.line) for fault in page.faults] == [(right, line)]
    assert page.corrected == text


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("0 %, equivalent", "0 %", "verdict is equivalent"),
        ("**+31 %**", "+31 %, undecided", "verdict is better"),
        ("| none |", "| none | 1 |\n|", "4 places for 5 rows"),
        ("rows: 5KB", "rows: 6KB", "is nothing of it"),
    ],
)
def test_a_table_that_says_something_else_is_a_fault(entry: Entry, old: str, new: str, reason: str) -> None:
    (fault,) = bound_numbers.checked("a.md", TABLE.replace(old, new)).faults
    assert (fault.right, reason in fault.reason) == (None, True)


def test_a_text_that_a_comment_repeats_has_to_be_in_the_sentence(entry: Entry) -> None:
    (fault,) = bound_numbers.checked("a.md", SENTENCE.replace("12 % with", "13 % with")).faults
    assert (fault.text, fault.right) == ("12 %", None)
    assert "its place gives '12 %'" in fault.reason


@pytest.mark.parametrize("options", ["", " --rounds 1"])
def test_trials_of_a_study_that_is_run_whole_are_those_of_its_entry(entry: Entry, options: str) -> None:
    text = f"    longlook run {STUDY}{options}    # 41 trials\n"
    page = bound_numbers.checked("a.md", text)
    assert [fault.right for fault in page.faults] == ([] if options else ["420"])
    assert page.corrected == (text if options else text.replace("41", "420"))


@pytest.mark.parametrize(("said", "wrong"), [("equivalent", "better"), ("undecided", "better"), ("so", None)])
def test_a_verdict_in_a_bound_text_is_the_one_of_its_cells(entry: Entry, said: str, wrong: str | None) -> None:
    text = f"It gains 31 %, {said}. <!--\nfrom {STUDY}: 31 %, {said} = 10Mbit | 5KB -->\n"
    faults = bound_numbers.checked("a.md", text).faults
    assert [fault.reason.rpartition(" ")[2] for fault in faults] == ([] if wrong is None else [wrong])


def test_a_comment_that_nothing_reads_is_a_fault(entry: Entry) -> None:
    (fault,) = bound_numbers.checked("a.md", SENTENCE.replace("from ", "form ")).faults
    assert (fault.text, fault.line) == ("form", 3)


def test_what_readers_see_has_no_comments() -> None:
    assert bound_numbers.visible(SENTENCE).splitlines()[-2:] == ["12 % with 10 KB.", "Not so here: 31 %."]
