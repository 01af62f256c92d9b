"""What holds for the ledger of every load."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from longlook.explain.ledger import LINK_CLASSES, LedgerClass, make_ledger
from longlook.timeline.timeline import Timeline
from tests.data.scenes import Scene, ledger_of, ns, window_limited

SCENES = st.builds(window_limited, st.integers(2, 30), st.integers(1, 15), st.integers(1, 50).map(lambda n: n * 10**6))


@settings(max_examples=30)
@given(SCENES, st.booleans())
def test_intervals_are_adjacent_and_add_up_to_the_load_exactly(scene: Scene, traced: bool) -> None:
    if not traced:
        scene.logged.clear()
    ledger = ledger_of(scene)
    starts, ends = ledger.table["start_ns"].to_numpy(), ledger.table["end_ns"].to_numpy()
    window = scene.timeline().load_window_ns()
    assert window is not None
    assert (starts[0], ends[-1]) == ledger.span_ns == window
    assert np.array_equal(starts[1:], ends[:-1])
    assert (ends > starts).all()
    assert sum(ledger.totals().values()) == window[1] - window[0]
    assert sum(ledger.details(LedgerClass.LINK_USEFUL).values()) == ledger.totals()[LedgerClass.LINK_USEFUL]


@settings(max_examples=20)
@given(SCENES, st.randoms(use_true_random=False))
def test_the_order_of_rows_does_not_matter(scene: Scene, random: object) -> None:
    timeline = scene.timeline()
    order = list(range(timeline.table.num_rows))
    random.shuffle(order)  # type: ignore[attr-defined]
    shuffled = Timeline(timeline.table.take(pa.array(order)), timeline.events)
    assert make_ledger(shuffled, scene.trial) == make_ledger(timeline, scene.trial)


@settings(max_examples=20)
@given(st.integers(45, 60), st.integers(1, 10), st.integers(1, 10))
def test_of_a_link_that_is_always_busy_another_rate_moves_the_classes_of_the_link_alone(
    packets: int, one: int, other: int
) -> None:
    totals = [ledger_of(window_limited(packets, packets, rate * 10**6)).totals() for rate in (one, other)]
    rest = [
        {name: total for name, total in each.items() if name not in LINK_CLASSES and name != LedgerClass.HANDSHAKE}
        for each in totals
    ]
    assert rest[0] == rest[1]
    served = [sum(each[name] for name in LINK_CLASSES & each.keys()) for each in totals]
    assert served[0] * one == pytest.approx(served[1] * other)


def test_the_scene_has_no_other_clock_than_its_rows() -> None:
    scene = window_limited(5, 2)
    later = replace(scene, rows=[row | {key: row[key] + ns(7.0) for key in ("time_ns",)} | (
        {key: row[key] + ns(7.0) for key in ("arrival_ns", "due_ns")} if "arrival_ns" in row else {}
    ) for row in scene.rows], logged=[row | {"time_ns": row["time_ns"] + ns(7.0)} for row in scene.logged])  # fmt: skip
    assert ledger_of(later).totals() == ledger_of(scene).totals()
