"""The digest of a run's results."""

from dataclasses import replace

from longlook.analysis.results_digest import digest_of_results
from longlook.core.model import Outcome
from tests.data.trials import RUN

EXACT = replace(RUN, exact=True)


def test_without_an_exact_trial_there_is_none() -> None:
    assert digest_of_results([(RUN, {"x": 1.0})]) is None


def test_order_does_not_matter_and_inexact_trials_do_not_count() -> None:
    one, other = (EXACT, {"x": 0.1}), (replace(EXACT, trial_id="other"), {"x": 0.2})
    found = digest_of_results([one, other])
    assert found is not None
    assert found.trials == 2
    assert digest_of_results([other, (RUN, {"x": 9.0}), one]) == found


def test_the_last_bit_and_the_outcome_matter() -> None:
    found = digest_of_results([(EXACT, {"x": 0.1})])
    assert digest_of_results([(EXACT, {"x": 0.1 + 2**-56})]) != found
    assert digest_of_results([(replace(EXACT, outcome=Outcome.FAILED), {"x": 0.1})]) != found
    assert digest_of_results([(EXACT, {"x": None})]) != found
