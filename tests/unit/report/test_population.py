"""The figure of a declared population: steps, a panel for each combination of the other factors, its shares below."""

from dataclasses import replace

import pandas as pd
import pytest
from syrupy.assertion import SnapshotAssertion

from longlook.core.model import POPULATION, Claim, ExpectedLevel, Figure, Population
from longlook.report import wording
from longlook.report.charts.theme import specification
from longlook.report.content import ReportContent
from longlook.report.page import render, sections
from longlook.report.population import make_population
from tests.data.report import small_content, small_study, with_tables

CURVE = pd.DataFrame(
    [
        {"arm": arm, "factor.notice": notice, "below": below, "share_pct": share, "rounds": 2}
        for notice in ("ICMP", "silent")
        for arm, shares in (("tcp", (5.0, 8.0)), ("quic", (5.0, 100.0)))
        for below, share in zip((1200.0, 1475.0), shares, strict=True)
    ]
)


@pytest.fixture
def content() -> ReportContent:
    study = small_study(
        figure=Figure("rate", (), POPULATION), population=Population("rate", {"10Mbit": 100.0}, "from nowhere")
    )
    return with_tables(small_content({("10Mbit",): {"tcp": [1.0, 1.1], "quic": [0.9, 1.0]}}, study), population=CURVE)


def test_there_is_a_panel_for_each_level_and_a_line_for_each_arm(content: ReportContent) -> None:
    (section,) = make_population(content)
    (figure,) = section.figures().values()
    panels = specification(figure)["concat"]
    assert [panel["title"]["text"] for panel in panels] == ["notice: ICMP", "notice: silent"]
    for panel in panels:
        values = panel["data"]["values"]
        assert [(row["below"], row["share"]) for row in values] == [(1200, 5), (1475, 8), (1200, 5), (1475, 100)]
        assert panel["encoding"]["y"]["scale"]["type"] == "log"


def test_a_population_that_is_the_only_factor_has_one_panel_without_a_title(content: ReportContent) -> None:
    only = CURVE[CURVE["factor.notice"] == "ICMP"].drop(columns="factor.notice")
    seconds = with_tables(content, population=only.assign(below=[0.2, 4.75] * 2))
    (section,) = make_population(seconds)
    (panel,) = specification(section.figures()["population"])["concat"]
    assert "title" not in panel
    axis = panel["encoding"]["x"]
    assert "format" not in axis["axis"]  # whole numbers alone would leave 0, 1, 2, 3 and 4 seconds
    assert axis["scale"]["domain"] == [0.2, 4.75]
    (whole,) = make_population(with_tables(content, population=only))
    assert specification(whole.figures()["population"])["concat"][0]["encoding"]["x"]["axis"]["format"] == "d"


def test_a_single_value_still_has_an_axis(content: ReportContent) -> None:
    (section,) = make_population(with_tables(content, population=CURVE.assign(below=4.0)))
    domain = specification(section.figures()["population"])["concat"][0]["encoding"]["x"]["scale"]["domain"]
    assert domain == [3.8, 4.2]


def test_a_share_of_nothing_has_a_plain_axis(content: ReportContent) -> None:
    some = with_tables(content, population=CURVE.assign(share_pct=[0.0, 8.0] * 4))
    (section,) = make_population(some)
    (figure,) = section.figures().values()
    assert specification(figure)["concat"][0]["encoding"]["y"]["scale"] == {"domain": [0, 100]}


def test_the_page_has_the_shares_and_where_they_come_from(content: ReportContent) -> None:
    page = render(content, sections(content)[0])
    assert "from nowhere" in page
    assert "The shares of the population are the study’s input" in page
    assert '<td>10Mbit</td><td class="number">100 %</td>' in page


def test_another_figure_and_a_study_that_did_not_run_whole_have_none(content: ReportContent) -> None:
    assert make_population(with_tables(content, population=None)) == []
    assert make_population(replace(content, study=small_study())) == []


def test_a_claim_about_a_population_says_so(content: ReportContent, snapshot: SnapshotAssertion) -> None:
    claim = Claim(
        "c", "s", "", {}, None, True, expected=ExpectedLevel("quic", "page_load_time", at_most=6.4, below=1350)
    )
    stated = wording.statement(claim, content.study, content.metrics)
    assert stated == snapshot
    assert wording.published(claim) == snapshot
