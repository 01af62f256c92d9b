"""Theory of queues that mark instead of dropping: a step, and the coupled dual queue of RFC 9332."""

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from longlook.instruments.calibrate.link.cases import Case, Coupled, StepMarks
from longlook.instruments.calibrate.link.check import QuantityCheck, Times

MARKING = (StepMarks, Coupled)
"""The laws of this module."""

_SETTLED_NS = 4_000_000_000
_DROPPED_TOLERANCE, _MARKED_TOLERANCE, _DELAY_SHARE = 0.01, 0.04, 0.1


def judged(case: Case, sent_ns: Times, received_ns: Times, marked: NDArray[np.bool_] | None) -> Iterator[QuantityCheck]:
    """Yield the checks of a law of this module; those of marks have no value where nobody looked for them."""
    match case.law:
        case StepMarks() as law:
            return _step(law, case, marked)
        case Coupled() as law:
            return _coupled(law, case, sent_ns, received_ns, marked)
        case other:
            raise TypeError(f"no theory of {other}")


def _step(law: StepMarks, case: Case, marked: NDArray[np.bool_] | None) -> Iterator[QuantityCheck]:
    """The k-th packet, from 0, waits for k packets' times."""
    packet_ns = case.size_bytes * 8e9 / law.rate_bps
    unmarked = math.floor(law.threshold_ns / packet_ns) + 1
    reason = "one may come as another leaves"
    found = None if marked is None else float(np.sum(marked))
    yield QuantityCheck("packets marked", "", float(case.schedule.count - unmarked), 1.0, reason, found)
    first = None if marked is None or not marked.any() else float(np.argmax(marked))
    yield QuantityCheck("the first of them", "", float(unmarked), 1.0, reason, first)


def _coupled(
    law: Coupled, case: Case, sent_ns: Times, received_ns: Times, marked: NDArray[np.bool_] | None
) -> Iterator[QuantityCheck]:
    """L4S packets are served first and not dropped, and Classic ones get the rest of the rate.

    With Classic at c times the rate and L4S at l, a share d = 1 − (1 − l)/c of Classic is dropped. That is p'², and L4S
    packets are marked with the coupling times p'. The controller holds the Classic wait at its target.
    """
    packet_ns = case.size_bytes * 8e9 / law.rate_bps
    load = packet_ns / case.schedule.period_ns
    light = load / case.one_in if case.one_in else 0.0
    dropped = 1 - (1 - light) / (load - light)
    settled = sent_ns - sent_ns[0] > _SETTLED_NS
    scalable = np.array([case.flow(sequence) == 1 for sequence in range(len(sent_ns))])
    classic, l4s = settled & ~scalable, settled & scalable
    share = float(np.mean(np.isnan(received_ns[classic])))
    yield QuantityCheck(
        "share of Classic dropped", "", dropped, _DROPPED_TOLERANCE, "1 %: the queue's own swing", share
    )
    delay_ms = (law.target_ns + packet_ns) / 1e6
    found_ms = float(np.nanmean((received_ns - sent_ns)[classic])) / 1e6
    swing = "10 %: the controller swings about its target"
    yield QuantityCheck("mean delay of Classic", "ms", delay_ms, delay_ms * _DELAY_SHARE, swing, found_ms)
    if case.one_in:
        expected = law.coupling * math.sqrt(dropped)
        found = None if marked is None else float(np.mean(marked[l4s]))
        reason = "4 %: 99.9 % of such draws are within 3 %, and p' swings"
        yield QuantityCheck("share of L4S marked", "", expected, _MARKED_TOLERANCE, reason, found)
        lost = float(np.sum(np.isnan(received_ns[l4s])))
        yield QuantityCheck("L4S packets lost", "", 0.0, 0.0, "none: they are marked instead", lost)
