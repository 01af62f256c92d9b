"""The details of a cell."""

from dataclasses import replace

import pytest

from longlook.analysis.stats.tails import rounds_won, tail_effects
from longlook.core.model import Arm
from longlook.report import wording
from longlook.report.content import ReportContent
from longlook.report.contrasts.section import make_contrasts
from tests.data.report import paper_content, small_content, small_study

TEN = [0.5, 0.51, 0.49, 0.5, 0.52, 0.48, 0.5, 0.51, 0.49, 0.5]
FASTER = [value * 0.8 for value in TEN]


@pytest.fixture(scope="module")
def paper() -> ReportContent:
    return paper_content()


def test_medians_are_shown_of_every_arm_also_of_one_that_no_contrast_names() -> None:
    study = small_study(arms=(Arm("tcp", "TCP", {}), Arm("quic", "QUIC", {}), Arm("bbr", "BBR", {}), Arm("x", "X", {})))
    content = small_content({("10Mbit",): {"tcp": TEN, "quic": FASTER, "bbr": [0.7, 0.9, None]}}, study)
    (section,) = make_contrasts(content, {})
    (detail,) = section.details.values()
    assert detail.arms == ("TCP", "QUIC", "BBR", "X")
    assert [(median.replace("\u00a0", " "), n) for median, n in detail.medians] == [
        ("500 ms", "10"), ("400 ms", "10"), ("800 ms", "2"), ("–", ""),
    ]  # fmt: skip


def test_a_round_counts_in_a_median_with_its_last_attempt_as_in_the_estimate(paper: ReportContent) -> None:
    (section,) = make_contrasts(paper, {})
    unit = paper.facts("page_load_time").unit
    details = {detail.place.cell_id: detail for detail in section.details.values()}
    assert paper.samples["attempt"].max() == 2
    for estimate in paper.estimates_of(section.contrast):
        assert details[estimate.cell_id].medians == (
            (wording.quantity(estimate.baseline_median, unit), str(estimate.n_baseline)),
            (wording.quantity(estimate.contender_median, unit), str(estimate.n_contender)),
        )


def test_a_cell_says_how_many_rounds_were_won_and_with_rounds_enough_how_the_worst_compare() -> None:
    content = small_content({("10Mbit",): {"tcp": TEN * 9, "quic": FASTER * 9}}, small_study())
    content = replace(
        content,
        wins=rounds_won(content.samples, content.study),
        tails=tail_effects(content.samples, content.study),
    )
    (section,) = make_contrasts(content, {})
    facts = {term: text.replace("\u00a0", " ") for term, text in next(iter(section.details.values())).facts}
    assert facts["Rounds won by QUIC"] == "90 of 90 (96 to 100 %)"
    assert facts["Effect on the worst 5 %"].startswith("+20 %")
    assert "Effect on the worst 1 %" not in facts
