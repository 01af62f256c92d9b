from dataclasses import replace

from longlook.analysis.fingerprint import fingerprint
from longlook.core.model import Outcome
from tests.data.trials import RUN

EXACT = replace(RUN, exact=True)


def test_none_where_nothing_is_exact() -> None:
    assert fingerprint([(RUN, {"x": 1.0})]) is None


def test_order_does_not_matter_and_inexact_trials_do_not_count() -> None:
    one, other = (EXACT, {"x": 0.1}), (replace(EXACT, trial_id="other"), {"x": 0.2})
    found = fingerprint([one, other])
    assert found is not None
    assert found.trials == 2
    assert fingerprint([other, (RUN, {"x": 9.0}), one]) == found


def test_the_last_bit_and_the_outcome_matter() -> None:
    found = fingerprint([(EXACT, {"x": 0.1})])
    assert fingerprint([(EXACT, {"x": 0.1 + 2**-56})]) != found
    assert fingerprint([(replace(EXACT, outcome=Outcome.FAILED), {"x": 0.1})]) != found
    assert fingerprint([(EXACT, {"x": None})]) != found
