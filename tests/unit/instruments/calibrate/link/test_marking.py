"""Judging queues that mark: packets that obey pass, packets of another queue do not."""

import numpy as np
import pytest
from numpy.typing import NDArray

from longlook.instruments.calibrate.link.catalogue import CASES
from longlook.instruments.calibrate.link.check import Times
from longlook.instruments.calibrate.link.laws import Case, ObservedPackets
from longlook.instruments.calibrate.link.queues import Coupled, StepMarks

MS = 1e6
STEP = next(case for case in CASES if isinstance(case.law, StepMarks))
CLASSIC, BOTH = (case for case in CASES if isinstance(case.law, Coupled))


def sent(case: Case) -> Times:
    return np.array(case.schedule.offsets_ns(), dtype=float)


def observed(case: Case, received_ns: Times, marked: NDArray[np.bool_] | None) -> ObservedPackets:
    return ObservedPackets(sent(case), received_ns, np.ones(case.schedule.count, dtype=np.int64), marked)


def judged(case: Case, received_ns: Times, marked: NDArray[np.bool_] | None) -> dict[str, bool]:
    return {check.quantity: check.passed for check in case.checks(observed(case, received_ns, marked))}


@pytest.mark.parametrize(("unmarked", "passes"), [(11, True), (12, True), (9, False), (14, False)])
def test_a_step_marks_who_waits_for_longer_than_it(unmarked: int, passes: bool) -> None:
    number = np.arange(STEP.schedule.count)
    found = judged(STEP, sent(STEP) + (number + 1) * 1.2 * MS, number >= unmarked)
    assert found == {"packets marked": passes, "the first of them": passes}


def coupled(case: Case, classic: float, l4s: float, wait_ms: float) -> tuple[Times, NDArray[np.bool_]]:
    """Classic packets are dropped and L4S packets marked with these probabilities; Classic ones wait for so long."""
    random, scalable = np.random.default_rng(9), np.array([case.flow(number) == 1 for number in range(10_000)])
    draws = random.random(len(scalable))
    came = sent(case) + np.where(scalable, 1.2, wait_ms + 1.2) * MS
    return np.where(~scalable & (draws < classic), np.nan, came), scalable & (draws < l4s)


def test_the_law_of_the_coupled_queue_passes() -> None:
    assert all(judged(CLASSIC, *coupled(CLASSIC, 1 / 6, 0.0, 15.0)).values())
    found = judged(BOTH, *coupled(BOTH, 0.2, 2 * 0.2**0.5, 15.0))
    assert len(found) == 4
    assert all(found.values())


@pytest.mark.parametrize(
    ("classic", "l4s", "wait_ms", "wrong"),
    [
        (0.25, 0.894, 15.0, "share of Classic dropped"),
        (0.2, 0.894, 20.0, "mean delay of Classic"),
        (0.2, 0.447, 15.0, "share of L4S marked"),  # not coupled, or by 1
    ],
)
def test_another_law_fails_where_it_differs(classic: float, l4s: float, wait_ms: float, wrong: str) -> None:
    found = judged(BOTH, *coupled(BOTH, classic, l4s, wait_ms))
    assert [quantity for quantity, passed in found.items() if not passed] == [wrong]


def test_an_l4s_packet_that_is_lost_fails() -> None:
    came, marked = coupled(BOTH, 0.2, 0.894, 15.0)
    came[8_999] = np.nan  # the last of six is L4S
    assert BOTH.flow(8_999) == 1
    assert not judged(BOTH, came, marked)["L4S packets lost"]


def test_where_nobody_looked_for_marks_there_is_no_value() -> None:
    (found,) = [
        each
        for each in BOTH.checks(observed(BOTH, coupled(BOTH, 0.2, 0.9, 15.0)[0], None))
        if "marked" in each.quantity
    ]
    assert found.value is None
    assert not found.passed
