"""The page of explanations as a reader has it: opened from disk in Chromium without network, wide and narrow."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from longlook.report.causes.page import write_explanation
from tests.data import answers
from tests.support.browser import Page, chromium
from tests.unit.report.causes.test_page import hostile

from .test_report_in_chromium import assert_quiet

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def explanation(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_explanation(tmp_path_factory.mktemp("run") / "explain", (*answers.ALL, hostile()))


@pytest.fixture
def page() -> Iterator[Page]:
    with chromium() as tab:
        yield tab


def test_every_chart_is_drawn_and_hostile_text_does_nothing(page: Page, explanation: Path) -> None:
    page.open(explanation.as_uri())
    charts = page.evaluate("document.querySelectorAll('[data-overview]').length")
    assert page.evaluate("document.querySelectorAll('[data-overview] svg.marks').length") == charts > 15
    sentence = page.evaluate("document.querySelector('#a1 .sentence').innerText")
    assert sentence.startswith("Because: larger cut at a loss (71\N{NO-BREAK SPACE}% of the gap); ")
    headings = page.evaluate("[...document.querySelectorAll('h4')].map(h => h.innerText).join()")
    assert "</script><script>alert('x')</script>" in headings
    assert_quiet(page)


def test_the_bars_of_both_arms_are_as_long_as_their_loads(page: Page, explanation: Path) -> None:
    page.open(explanation.as_uri())
    widths = page.evaluate(
        "Object.values(Object.groupBy([...document.querySelectorAll('#a1 [data-overview=ledger] .mark-rect path')]"
        ".map((bar) => bar.getBoundingClientRect()), (box) => Math.round(box.y)))"
        ".map((row) => Math.max(...row.map((box) => box.right)) - Math.min(...row.map((box) => box.left)))"
    )
    winner, loser = (sum(answers.LEDGER_MS[arm].values()) for arm in ("tcp", "quic"))
    assert len(widths) == 2
    assert widths[1] / widths[0] == pytest.approx(loser / winner, rel=0.01)


@pytest.mark.parametrize("width", [360, 768, 1600])
def test_the_page_never_scrolls_sideways(page: Page, explanation: Path, width: int) -> None:
    page.resize(width, 900)
    page.open(explanation.as_uri())
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert_quiet(page)
