"""The outcomes of all attempts."""

from dataclasses import replace

import pytest

from longlook.report.content import ReportContent
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


def test_what_could_not_be_measured_in_an_ok_trial_is_counted(paper: ReportContent) -> None:
    samples = paper.samples.copy()
    metric = str(samples["metric"].iloc[0])
    rows = samples.index[(samples["outcome"] == "ok") & (samples["metric"] == metric)][:3]
    samples.loc[rows, "value"] = None
    samples.loc[rows, "reason"] = "not measured: no usable page_loaded in the timeline"
    facts = make_validity(replace(paper, samples=samples))
    assert ("ok", f"{metric}: not measured: no usable page_loaded in the timeline", 3) in facts.reasons
    assert facts.counts == make_validity(paper).counts
