"""The outcomes of all attempts."""

import pytest

from longlook.report import ReportContent
from longlook.report.provenance.validity import make_validity
from tests.data.report import paper_content


@pytest.fixture(scope="module")
def paper() -> ReportContent:
    return paper_content()


def test_validity_counts_every_attempt(paper: ReportContent) -> None:
    facts = make_validity(paper)
    assert facts.trials == 420
    assert facts.attempts == sum(facts.counts.values()) == facts.trials + facts.retried
    assert facts.counts["invalid"] == facts.retried > 0
    assert ("timed_out", "the client was not done after 60 s", facts.counts["timed_out"]) in facts.reasons
