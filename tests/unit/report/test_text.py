"""Verdicts and claims as rows of text and as Markdown."""

from dataclasses import replace

import pytest

from longlook.core.model import Contrast, Factor, Level, Stopping
from longlook.report import text
from longlook.report.content import ReportContent
from tests.data.patterns import made_up_run, packets
from tests.data.report import paper_content, small_content, small_study

TEN = [0.5, 0.51, 0.49, 0.5, 0.52, 0.48, 0.5, 0.51, 0.49, 0.5]
LOADS = {"tcp": packets(1, 2), "quic": packets(1, 2)}
FASTER = [value * 0.8 for value in TEN]


@pytest.fixture(scope="module")
def paper() -> ReportContent:
    return paper_content()


def test_plain_rows_name_contrasts_only_where_there_are_several() -> None:
    content = small_content({("10Mbit",): {"tcp": TEN, "quic": FASTER}})
    header, row = text.plain_rows(content.study, content.estimates)
    assert header[:3] == ("rate", "TCP median", "QUIC median")
    assert row[:4] == ("10Mbit", "500\u00a0ms", "400\u00a0ms", "+20\u00a0%")
    assert row[-1] == "▲ better"
    several = small_study(
        contrasts=(
            Contrast("one", "tcp", "quic", "page_load_time"),
            Contrast("other", "quic", "tcp", "page_load_time"),
        )
    )
    content = small_content({("10Mbit",): {"tcp": TEN, "quic": FASTER}}, several)
    header, *rows = text.plain_rows(content.study, content.estimates)
    assert header[:3] == ("contrast", "metric", "rate")
    assert [row[0] for row in rows] == ["one", "other"]
    assert [row[-1] for row in rows] == ["▲ better", "▼ worse"]


def test_rounds_are_named_where_they_decided() -> None:
    content = small_content({("10Mbit",): {"tcp": TEN, "quic": FASTER}}, small_study(stopping=Stopping()))
    header, row = text.plain_rows(content.study, content.estimates)
    assert dict(zip(header, row, strict=True))["rounds"] == "10"
    rule = text.markdown_table(content.study, content.estimates).splitlines()[1]
    assert rule == "| --- |" + " ---: |" * 6 + " --- |"


def test_levels_are_means_if_losses_are_integrated() -> None:
    made = made_up_run(lambda arm, lost, number: (0.2 if arm == "tcp" else 0.1) * (1 + len(lost)), LOADS)
    (estimate,) = made.estimates
    header, row = text.plain_rows(made.study, made.estimates)
    assert header[1:3] == ("TCP mean", "QUIC mean")
    assert estimate.baseline_mean is not None and estimate.contender_mean is not None
    assert row[1] == f"{1000 * estimate.baseline_mean:.0f}\u00a0ms"
    assert estimate.effect_pct == pytest.approx(100 * (1 - estimate.contender_mean / estimate.baseline_mean))
    sampled = replace(estimate, unseen_pct=None, cell={"rate": "b"})
    header, *rows = text.plain_rows(made.study, [estimate, sampled])
    assert header[1:3] == ("TCP median or mean", "QUIC median or mean")
    assert [row[1].endswith(" (mean)") for row in rows] == [True, False]


def test_markdown_escapes_what_would_break_the_table() -> None:
    study = small_study(factors=(Factor("rate", (Level("a|b<c>", {}),)),))
    content = small_content({("a|b<c>",): {"tcp": TEN, "quic": FASTER}}, study)
    line = text.markdown_table(content.study, content.estimates).splitlines()[2]
    assert line.startswith("| a\\|b&lt;c> |")


def test_claims_in_markdown(paper: ReportContent) -> None:
    lines = text.claims_markdown(paper.claims).splitlines()
    assert len(lines) == 2 + len(paper.claims)
    assert lines[2].startswith("| 10Mbit · 5KB | +45\u00a0% | ")
    assert "| Welch | result |" in lines[0] and "| better, p\u00a0&lt;\u00a00.0001 |" in lines[2]


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("a | b", r"a \| b"),
        ("<script>alert(1)</script>", "&lt;script>alert(1)&lt;/script>"),
        ("&lt;b>", "&amp;lt;b>"),
        ("[x](javascript:y)", r"\[x\](javascript:y)"),
        ("_very_ **much** ~~so~~ page_load_time", r"\_very\_ \*\*much\*\* \~\~so\~\~ page_load_time"),
        ("ask @octocat", "ask @&#8203;octocat"),
        ("quic-go@0.48.2 and a@b.org, #12", "quic-go@0.48.2 and a@&#8203;b.org, #&#8203;12"),
        ("https://a.org, WWW.b.org", "https:&#8203;//a.org, WWW&#8203;.b.org"),
        ("two\nlines \x1b]0;x", "two lines \\\\x1b\\]0;x"),
    ],
)
def test_markdown_shows_text_as_it_was_written(written: str, shown: str) -> None:
    assert text.escaped(written) == shown
