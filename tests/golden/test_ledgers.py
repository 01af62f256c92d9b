"""Ledgers of real programs in virtual time: nothing is left over, nothing unexplained, and no class moves unseen."""

import json
import os

import pytest

from longlook.explain.ledger import Ledger, LedgerClass
from longlook.timeline.timeline import Timeline
from tests.golden.ledgers import SNAPSHOT, STUDIES, ledgers, totals

pytestmark = [pytest.mark.lab, pytest.mark.slow, pytest.mark.timeout(1800)]

MOST_UNEXPLAINED = 0.001


@pytest.fixture(scope="module", params=STUDIES, ids=lambda study: study.stem)
def made(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, tuple[Timeline, Ledger]]:
    out = tmp_path_factory.mktemp("ledgers") / "run"
    return ledgers(request.param, out, jobs=os.cpu_count() or 1)


def test_the_classes_add_up_to_the_load_and_leave_almost_nothing_unexplained(
    made: dict[str, tuple[Timeline, Ledger]],
) -> None:
    for name, (timeline, ledger) in made.items():
        window = timeline.load_window_ns()
        assert window == ledger.span_ns, name
        sums = ledger.totals()
        assert sum(sums.values()) == window[1] - window[0], name
        assert sums.get(LedgerClass.UNEXPLAINED, 0) <= MOST_UNEXPLAINED * (window[1] - window[0]), name


def test_the_link_was_useful_for_as_long_as_the_objects_take_at_its_rate(
    made: dict[str, tuple[Timeline, Ledger]],
) -> None:
    for name, (_, ledger) in made.items():
        size = sum(each["size_bytes"] for each in ledger.objects)
        at_rate_ns = size * 8 * 100  # 10 Mbit/s
        assert at_rate_ns <= ledger.totals()[LedgerClass.LINK_USEFUL] <= 1.01 * at_rate_ns, name


def test_the_ledgers_are_those_on_record(made: dict[str, tuple[Timeline, Ledger]]) -> None:
    before = json.loads(SNAPSHOT.read_text())
    after = totals(made)
    assert {name: before.get(name) for name in after} == after, (
        "if that is meant: .venv/bin/python -m tests.golden.ledgers, and let the diff be reviewed"
    )
