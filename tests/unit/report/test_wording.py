"""Numbers, claims and answers in words."""

import math
from dataclasses import replace

import pytest
from syrupy.assertion import SnapshotAssertion

from longlook.core.model import Claim
from longlook.core.results import ArmLevel
from longlook.report import text, wording
from longlook.report.content import ReportContent
from longlook.study import laws
from tests.data.report import cliff_content, paper_content, small_content

TEN = [0.5, 0.51, 0.49, 0.5, 0.52, 0.48, 0.5, 0.51, 0.49, 0.5]
FASTER = [value * 0.8 for value in TEN]


@pytest.fixture(scope="module")
def paper() -> ReportContent:
    return paper_content()


def test_answer_counts_verdicts_and_claims(paper: ReportContent, snapshot: SnapshotAssertion) -> None:
    both = small_content(
        {("10Mbit",): {"tcp": TEN, "quic": FASTER}, ("50Mbit",): {"tcp": TEN, "quic": TEN}},
        claims=[Claim("a", "source", "quic vs tcp", {"rate": "10Mbit"}, 20.0, True)],
    )
    assert [sentence.replace("\u00a0", " ") for sentence in wording.answer(both)] == snapshot
    assert wording.answer(paper)[-1].startswith("Of 21 published claims: 18 same size, ")


def test_claims_about_cells_that_were_left_out_are_counted_apart(snapshot: SnapshotAssertion) -> None:
    claims = [
        Claim("here", "source", "quic vs tcp", {"rate": "10Mbit"}, 20.0, True),
        *(Claim(rate, "source", "quic vs tcp", {"rate": rate}, 20.0, True) for rate in ("50Mbit", "100Mbit")),
    ]
    cut = small_content({("10Mbit",): {"tcp": TEN, "quic": FASTER}}, claims=claims)
    told = "The one published claim about a cell that was run: same size. "
    assert wording.answer(cut)[-1] == f"{told}2 published claims are about cells that were left out."
    assert text.claims_in_short(cut.claims) == snapshot
    elsewhere = small_content({("10Mbit",): {"tcp": TEN, "quic": FASTER}}, claims=claims[1:2])
    lone = "One published claim is about a cell that was left out, so none is judged."
    assert wording.answer(elsewhere)[-1] == lone
    assert text.claims_in_short(elsewhere.claims) == snapshot


def test_the_answer_names_the_neighbourhood_that_verdicts_speak_of(snapshot: SnapshotAssertion) -> None:
    around = {**laws.STANDARD_LAWS, "network.loss": "uniform 20%"}
    assert wording.scope(around).replace("\u00a0", " ") == snapshot


def test_the_answer_names_only_what_a_round_drew(snapshot: SnapshotAssertion) -> None:
    content = cliff_content()
    order = {"workload.object": "uniform 5%", "order": "uniform"}
    drew = replace(
        content, study=replace(content.study, around=order), samples=content.samples.assign(**{"drawn.order": math.nan})
    )
    sentences = [sentence.replace("\u00a0", " ") for sentence in wording.answer(drew)]
    assert sentences == snapshot


def test_the_answer_counts_the_cells_on_a_cliff(snapshot: SnapshotAssertion) -> None:
    sentences = [sentence.replace("\u00a0", " ") for sentence in wording.answer(cliff_content())]
    assert sentences[-1] == snapshot


@pytest.mark.parametrize(
    ("claim", "shown"),
    [
        (Claim("", "", "", {}, 45.0, True), "+45 %"),
        (Claim("", "", "", {}, -99.0, True, 2.0, 99.0), "≤ −99 %"),
        (Claim("", "", "", {}, None, False), "n.s."),
        (Claim("", "", "", {}, None, True), "significant"),
        (Claim("", "", "", {}, 1.0, False), "+1.0 % n.s."),
    ],
)
def test_published_values_are_written_as_their_source_meant_them(claim: Claim, shown: str) -> None:
    assert wording.published(claim).replace("\u00a0", " ") == shown


@pytest.mark.parametrize(
    ("value", "shown"),
    [(45.2, "+45 %"), (2.34, "+2.3 %"), (-0.04, "0 %"), (9.96, "+10 %"), (-2300.0, "−2,300 %"), (-math.inf, "−∞ %")],
)
def test_effects_in_words(value: float, shown: str) -> None:
    assert wording.effect(value).replace("\u00a0", " ") == shown


@pytest.mark.parametrize(
    ("value", "unit", "shown"),
    [
        (0.4567, "s", "457 ms"),
        (12.34, "s", "12.3 s"),
        (0.0, "s", "0.00 s"),
        (0.00042, "s", "420 µs"),
        (9.612e6, "bit/s", "9.61 Mbit/s"),
        (1234567.0, "", "1,234,567"),
        (math.nan, "s", "–"),
    ],
)
def test_quantities_in_words(value: float, unit: str, shown: str) -> None:
    assert wording.quantity(value, unit).replace("\u00a0", " ") == shown


def test_bounds_of_a_level_are_in_one_unit() -> None:
    level = ArmLevel("a", {}, "c", "page_load_time", "s", 10, 0.95, 0.9, 1.2)
    assert wording.level_interval(level) == "0.900 … 1.20\u00a0s"
    assert wording.level_bounds(replace(level, low=0.035, high=0.041)) == "35.0\u00a0to\u00a041.0"
    assert wording.level_bounds(replace(level, low=None)) == ""
