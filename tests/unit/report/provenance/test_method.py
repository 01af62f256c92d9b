"""The terms of the method say which procedure a study used."""

from dataclasses import replace

from syrupy.assertion import SnapshotAssertion

from longlook.core.model import Stopping
from longlook.report.provenance.method import method
from tests.data.samples import study


def test_a_number_of_rounds_and_as_many_as_decide_have_other_procedures(snapshot: SnapshotAssertion) -> None:
    fixed, deciding = dict(method(study())), dict(method(replace(study(), rounds=40, stopping=Stopping())))
    assert fixed["Round"] == snapshot
    assert deciding["Round"] == snapshot
    assert "Student" in fixed["Interval"] and "however often" in deciding["Interval"]
    assert "paired t-test" in fixed["Significance"] and "e-processes" in deciding["Significance"]
