"""A change of a plan is a change of trials' identities and seeds, and makes results on record those of another plan."""

import json

from tests.golden.plans import SNAPSHOT, take


def test_the_plans_of_all_studies_are_those_on_record() -> None:
    before, after = json.loads(SNAPSHOT.read_text()), take()
    moved = {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}
    assert not moved, f"if that is meant: .venv/bin/python -m tests.golden.plans (it moves {sorted(moved)})"
