"""From one mean load to the other: the steps sum to their difference, whatever the ledgers hold."""

import math
from collections.abc import Mapping
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion

from longlook.explain.ledger import LedgerClass
from longlook.report.causes.waterfall import differences, load_ms, ordered_classes, parts, steps
from longlook.report.charts.colours import LEDGER_COLOURS, contrast_ratio, text_colour
from tests.data.answers import LEDGER_MS, answer

LEDGERS = st.dictionaries(st.sampled_from([str(name) for name in LedgerClass]), st.floats(0, 1e5), min_size=1)


def test_every_class_has_a_colour_of_its_own_and_legible_text() -> None:
    assert set(LEDGER_COLOURS) == {str(name) for name in LedgerClass}
    assert len(set(LEDGER_COLOURS.values())) == len(LEDGER_COLOURS)
    assert all(contrast_ratio(colour, text_colour(colour)) >= 4.5 for colour in LEDGER_COLOURS.values())


@given(LEDGERS, LEDGERS)
def test_steps_lead_from_the_load_that_won_to_the_one_that_lost(
    loser: Mapping[str, float], winner: Mapping[str, float]
) -> None:
    found = steps(answer(ledger_ms={"quic": loser, "tcp": winner}))
    difference = load_ms(loser) - load_ms(winner)
    largest = max(load_ms(loser), load_ms(winner), 1.0)
    assert math.fsum(step.change_ms for step in found) == pytest.approx(difference, abs=1e-9 * largest)
    for before, after in pairwise(found):
        assert before.end_ms == after.start_ms
    if found:
        assert found[0].start_ms == load_ms(winner)
        assert found[-1].end_ms == pytest.approx(load_ms(loser), abs=1e-9 * largest)


@given(LEDGERS)
def test_the_parts_of_a_bar_are_gapless_and_end_with_the_load(classes: Mapping[str, float]) -> None:
    found = parts(classes)
    ends = [0.0, *(part.end_ms for part in found)]
    assert [part.start_ms for part in found] == ends[:-1]
    assert ends[-1] == pytest.approx(load_ms(classes))


def test_what_is_longer_comes_first_and_small_differences_are_one_step(snapshot: SnapshotAssertion) -> None:
    found = steps(answer())
    assert [step.name for step in found] == [
        "congestion_window", "timer", "loss_detection", "link_waste", "handshake", "",
    ]  # fmt: skip
    assert found[-1].label == snapshot
    small = ("link_overhead", "unexplained", "server_think", "pacing")
    assert found[-1].change_ms == pytest.approx(sum(differences(answer())[name] for name in small))


def test_equal_ledgers_have_no_steps() -> None:
    assert steps(answer(ledger_ms={"quic": LEDGER_MS["tcp"], "tcp": LEDGER_MS["tcp"]})) == []
    assert steps(answer(ledger_ms=None)) == []


def test_a_class_without_time_is_not_drawn() -> None:
    assert ordered_classes({"a": {"timer": 0.0, "pacing": 1.0}, "b": {"request": 2.0}}) == ["request", "pacing"]
