"""The rules against a stack that logs its own states: quic-go's server, in virtual time (tests/fixtures/states)."""

from pathlib import Path

import numpy as np
import pytest

from longlook.timeline.decode import decode_trace
from longlook.timeline.normalise.rows import Rows
from longlook.timeline.normalise.sender import COLUMNS
from longlook.timeline.normalise.states import OWN, StateRows, derive_states, find_states
from longlook.timeline.states import State

FIXTURES = Path(__file__).parents[3] / "fixtures" / "states"
MS = 1_000_000
RECOVERY, LIMITED = State.RECOVERY, State.APPLICATION_LIMITED


def both(name: str) -> tuple[StateRows, StateRows]:
    """The states by log and rules, and by rules alone."""
    table, _ = decode_trace(FIXTURES / f"{name}.qlog.gz", "server")
    rows = Rows.of(table, COLUMNS)
    return find_states(rows, "qlog"), derive_states(rows, "qlog")


def disagreement_ns(logged: StateRows, derived: StateRows) -> tuple[dict[tuple[State, State], int], int]:
    """The time in which log and rules have different states, and the time in which the log has any; in ns."""
    times = np.unique([*logged.times_ns, *derived.times_ns])
    lasted = np.diff(times, append=logged.end_ns).tolist()
    places = (np.searchsorted(found.times_ns, times, side="right") - 1 for found in (logged, derived))
    found: dict[tuple[State, State], int] = {}
    total = 0
    for time_ns, one, other in zip(lasted, *places, strict=True):
        if logged.details[one] != OWN:
            continue
        total += time_ns
        pair = logged.states[one], derived.states[other]
        if pair[0] != pair[1]:
            found[pair] = found.get(pair, 0) + time_ns
    return found, total


def recoveries(found: StateRows) -> tuple[np.ndarray, np.ndarray]:
    """Begins and ends in ns."""
    entered = [index for index, state in enumerate(found.states) if state is RECOVERY]
    ends = [*found.times_ns, found.end_ns]
    return np.array([found.times_ns[index] for index in entered]), np.array([ends[index + 1] for index in entered])


@pytest.mark.parametrize(
    ("name", "agreement", "limited_ms"),
    [("quic-go-0.65.0-loss-2pct", 0.9599, 90.3), ("quic-go-0.65.0-loss-0pct", 0.7991, 100.5)],
)
def test_rules_and_log_differ_in_who_limits_the_sender_and_in_nothing_else(
    name: str, agreement: float, limited_ms: float
) -> None:
    different, total = disagreement_ns(*both(name))
    assert 1 - sum(different.values()) / total == pytest.approx(agreement, abs=5e-5)
    limited = sum(time_ns for pair, time_ns in different.items() if LIMITED in pair and RECOVERY not in pair)
    assert limited / MS == pytest.approx(limited_ms, abs=0.1)  # the first and the last round trips of the download
    rest = {pair: time_ns for pair, time_ns in different.items() if LIMITED not in pair or RECOVERY in pair}
    assert sum(rest.values()) < 0.03 * MS, rest


def test_every_recovery_of_the_log_is_found_where_it_was() -> None:
    logged, derived = both("quic-go-0.65.0-loss-2pct")
    (begins, ends), (found_begins, found_ends) = recoveries(logged), recoveries(derived)
    assert len(begins) == len(found_begins) == 12
    assert np.abs(begins - found_begins).max() <= 2_000  # ns: the log of the loss stands before that of the state
    assert np.abs(ends - found_ends).max() <= 2_000
