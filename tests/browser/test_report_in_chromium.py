"""The report as a reader has it: opened from disk in Chromium without network, clicked, and looked at."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from longlook.core.model import MATRIX, Arm, Factor, Figure, Level
from longlook.report.page import write_report
from tests.data.flows import competing_content, competing_study
from tests.data.patterns import made_up_run, packets
from tests.data.report import cliff_content, paper_content, small_content, small_study, trend_content
from tests.support.browser import Page, chromium

pytestmark = pytest.mark.browser

SELECTED = "document.querySelector('.cell.is-selected')"


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_report(tmp_path_factory.mktemp("run") / "report", paper_content())


@pytest.fixture
def page() -> Iterator[Page]:
    with chromium() as tab:
        yield tab


def assert_quiet(page: Page) -> None:
    """Nothing was complained about and nothing was asked of any network."""
    assert page.problems == []
    assert [url for url in page.requests if not url.startswith(("file:", "data:", "blob:", "about:"))] == []


def link(row: int, column: int) -> str:
    return f".contrast .heatmap tbody tr:nth-child({row}) td:nth-child({column + 1}) a"


def test_the_first_cell_is_open_with_its_charts(page: Page, report: Path) -> None:
    page.open(report.as_uri())
    assert "10Mbit" in page.evaluate(f"{SELECTED}.querySelector('h3').innerText")
    assert page.evaluate(f"{SELECTED}.querySelectorAll('[data-chart] svg.marks').length") == 3
    assert page.evaluate("document.querySelectorAll('[data-overview] svg.marks').length") == 2
    assert_quiet(page)


def test_clicking_a_cell_shows_every_sample_of_it(page: Page, report: Path, tmp_path: Path) -> None:
    page.open(report.as_uri())
    page.click(link(3, 4))  # 100Mbit, 200KB
    # The cell that was open has three charts too: wait for the other cell itself.
    page.wait_for(f"{SELECTED}.innerText.includes('100Mbit')")
    page.wait_for(f"{SELECTED}.querySelectorAll('[data-chart] svg.marks').length === 3")
    text = page.evaluate(f"{SELECTED}.innerText")
    assert "100Mbit" in text
    assert "200KB" in text
    assert "QUIC is better than TCP" in text
    for term in (
        "Effect",
        "95 % interval",
        "p, Welch",
        "p, paired",
        "p, Mann-Whitney",
        "p, equivalence",
        "p, adjusted",
    ):
        assert term.replace(" %", "\u00a0%") in text
    assert "same size" in text
    assert "Time to first byte" in text
    content = paper_content()
    chosen = content.samples
    expected = chosen[
        (chosen["metric"] == "page_load_time")
        & (chosen["factor.rate"] == "100Mbit")
        & (chosen["factor.size"] == "200KB")
        & (chosen["outcome"] == "ok")
    ]
    # The second layer holds the points: one path for each sample.
    points = f"{SELECTED}.querySelectorAll('[data-chart=samples] .mark-symbol.layer_1_marks path').length"
    assert page.evaluate(points) == len(expected) >= 18
    assert page.evaluate("document.querySelectorAll('.cell.is-selected').length") == 1
    assert page.evaluate("document.querySelectorAll('.contrast .heatmap a[aria-current]').length") == 1
    page.screenshot(tmp_path / "cell.png")
    assert (tmp_path / "cell.png").stat().st_size > 50_000
    assert_quiet(page)


def test_a_cell_on_a_cliff_has_its_mark_and_a_plot_of_every_drawn_setting(page: Page, tmp_path: Path) -> None:
    page.open(write_report(tmp_path / "report", cliff_content()).as_uri())
    assert page.evaluate("[...document.querySelectorAll('.square .cliff')].map((mark) => mark.innerText)") == ["↕"]
    assert "depends on a setting near the cell" in page.evaluate("document.querySelector('.legend').innerText")
    plots = f"{SELECTED}.querySelectorAll('.drawn [data-chart] svg.marks')"
    assert page.evaluate(f"{plots}.length") == 5
    dots = "[...plot.querySelectorAll('.mark-symbol path')].filter((dot) => dot.getAttribute('d')).length"
    assert page.evaluate(f"[...{plots}].map((plot) => {dots})") == [20] * 5
    assert page.evaluate(f"[...{plots}].map((plot) => plot.querySelectorAll('.mark-line path').length)") == [
        1,
        0,
        0,
        0,
        0,
    ]
    assert page.evaluate(f"{SELECTED}.querySelector('.drawn p').innerText").startswith("↕ object's size")
    page.click(link(1, 2))
    page.wait_for(f"{SELECTED}.innerText.includes('50Mbit')")
    page.wait_for(f"{plots}.length === 5")
    assert "not distinguishable from noise" in page.evaluate(f"{SELECTED}.querySelector('.drawn p').innerText")
    page.resize(390, 844)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert_quiet(page)


def test_resting_on_a_cell_shows_its_interval_and_p(page: Page, report: Path) -> None:
    page.open(report.as_uri())
    tip = f"document.querySelector('{link(2, 3)} .tip')"
    assert page.evaluate(f"getComputedStyle({tip}).display") == "none"
    page.hover(link(2, 3))
    page.wait_for(f"getComputedStyle({tip}).display === 'block'")
    assert "interval" in page.evaluate(f"{tip}.innerText")
    assert "adjusted p" in page.evaluate(f"{tip}.innerText")
    assert page.evaluate(f"{SELECTED}.id") == "c1-1"
    assert_quiet(page)


def test_the_back_button_and_the_address_select_cells(page: Page, report: Path) -> None:
    page.open(f"{report.as_uri()}#c1-9")
    assert page.evaluate(f"{SELECTED}.id") == "c1-9"
    page.click(link(1, 2))
    page.wait_for(f"{SELECTED}.id === 'c1-2'")
    page.evaluate("history.back()")
    page.wait_for(f"{SELECTED}.id === 'c1-9'")
    assert_quiet(page)


def test_cells_are_reached_and_chosen_with_the_keyboard(page: Page, report: Path) -> None:
    page.open(report.as_uri())
    page.evaluate(f"document.querySelector('{link(1, 1)}').focus()")
    page.press("ArrowRight")
    page.press("ArrowDown")
    page.press("Enter")
    page.wait_for(f"{SELECTED}.id === 'c1-9'")
    assert "50Mbit" in page.evaluate(f"{SELECTED}.querySelector('h3').innerText")
    assert_quiet(page)


@pytest.mark.parametrize("width", [400, 1280])
def test_the_page_never_scrolls_sideways(page: Page, report: Path, width: int, tmp_path: Path) -> None:
    page.resize(width, 900)
    page.open(report.as_uri())
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.screenshot(tmp_path / f"page-{width}.png")
    assert_quiet(page)


def test_hostile_and_missing_data_harm_nothing(page: Page, tmp_path: Path) -> None:
    hostile = "</script><script>window.harmed = true</script><b>&\"'a.b[0]:Q{{7*7}}${harm}\\u0041\u202e\x1b[31m"
    study = small_study(
        title=hostile,
        question=hostile * 3,
        arms=(Arm("tcp", hostile, {}), Arm("quic", "QUIC", {})),
        factors=(Factor("rate", tuple(Level(label, {}) for label in (hostile, "none", "one", "not run"))),),
    )
    content = small_content(
        {
            (hostile,): {"tcp": [0.5] * 10, "quic": [12.0 + index / 10 for index in range(10)]},
            ("none",): {"tcp": [None] * 10, "quic": [None] * 10},
            ("one",): {"tcp": [0.5], "quic": [0.4]},
        },
        study,
    )
    page.open(write_report(tmp_path / "report", replace(content, manifest={hostile: hostile})).as_uri())
    assert page.evaluate("window.harmed") is None
    assert "a.b[0]:Q{{7*7}}${harm}" in page.evaluate("document.body.innerText")
    labels = "[...document.querySelectorAll('svg.marks text')].map(text => text.textContent).join(' ')"
    assert "<b>&\"'a.b[" in page.evaluate(labels)
    assert page.evaluate("document.querySelectorAll('b').length") == page.evaluate(
        "document.querySelectorAll('.tally b, .counts b').length"
    )
    for column, charts in ((1, 2), (2, 0), (3, 2)):
        page.click(link(1, column))
        page.wait_for(f"{SELECTED}.id === 'c1-{column}'")
        page.wait_for(f"{SELECTED}.querySelectorAll('[data-chart] svg.marks').length === {charts}")
    assert "1 cell of rows and columns that were not run is left out." in page.evaluate("document.body.innerText")
    assert_quiet(page)


@pytest.mark.parametrize("width", [400, 1280])
def test_a_trend_shows_every_release_in_every_cell(page: Page, tmp_path: Path, width: int) -> None:
    page.resize(width, 900)
    page.open(write_report(tmp_path / "report", trend_content()).as_uri())
    panels = "document.querySelectorAll('.trend .panels [data-overview] svg.marks')"
    assert page.evaluate(f"{panels}.length") == 6
    points = "document.querySelectorAll('.trend .panels .mark-symbol path').length"
    assert page.evaluate(points) == 6 * 5
    text = page.evaluate("document.querySelector('.trend').innerText")
    assert "quic-go@0.31.1 → quic-go@0.40.1" in text
    assert "quic-go@0.20.1 → quic-go@0.31.1" not in text
    assert "24 comparisons of neighbours" in text
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.screenshot(tmp_path / f"trend-{width}.png")
    assert_quiet(page)


@pytest.mark.parametrize("width", [400, 1280])
def test_competing_flows_are_drawn_cell_by_cell(page: Page, tmp_path: Path, width: int) -> None:
    study = competing_study(("1", "4"), figure=Figure("against", ("queue",), MATRIX))
    content = competing_content({"tcp": {"subject": 1, "tcp": 4}, "quic": {"quic": 1, "tcp": 1}}, study, rounds=8)
    page.resize(width, 900)
    page.open(write_report(tmp_path / "report", content).as_uri())
    assert page.evaluate("document.querySelectorAll('#shares [data-overview] svg.marks').length") == 1
    assert page.evaluate("document.querySelectorAll('#matrix td.square').length") == 4
    cell = "document.querySelector('#flows .cell.is-selected')"
    assert page.evaluate(f"{cell}.id") == "flows-1"
    assert page.evaluate(f"{cell}.querySelectorAll('[data-chart] svg.marks').length") == 5  # one phase plot
    for name in ("subject 1.", "tcp-4 0.", "link 5 Mbit/s", "equal parts", "tcp, each of 4 0."):
        assert name in page.evaluate(f"{cell}.textContent")
    page.click("#flows .choices a:nth-child(2)")
    page.wait_for(f"{cell}.id === 'flows-2'")
    page.wait_for(f"{cell}.querySelectorAll('[data-chart] svg.marks').length === 5")
    assert page.evaluate("document.querySelectorAll('#flows .choices a[aria-current]').length") == 1
    page.click("#matrix tbody td:nth-child(2) a")
    page.wait_for(f"{cell}.id === 'flows-1'")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.screenshot(tmp_path / f"flows-{width}.png")
    assert_quiet(page)


@pytest.mark.parametrize("width", [390, 1280])
def test_losses_have_a_chart_for_each_direction_and_a_table_that_fits(page: Page, tmp_path: Path, width: int) -> None:
    loads = {"tcp": packets(12, 24), "quic": packets(10, 25)}
    made = made_up_run(lambda arm, lost, _: (0.2 if arm == "tcp" else 0.15) + 0.04 * len(lost), loads, lost=0.01)
    page.resize(width, 900)
    page.open(write_report(tmp_path / "report", made.content).as_uri())
    assert page.evaluate("document.querySelectorAll('#strata [data-overview] svg.marks').length") == 2
    points = "document.querySelectorAll('#strata .mark-symbol.layer_1_marks path').length"
    assert page.evaluate(points) == len(made.effects.singles) == 71
    text = page.evaluate("document.querySelector('#strata').innerText")
    assert "of the effect is from loads without loss" in text.replace("\u00a0", " ")
    table = "document.querySelector('#strata .scroller')"
    assert page.evaluate(f"{table}.scrollWidth <= {table}.clientWidth")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.screenshot(tmp_path / f"losses-{width}.png")
    assert_quiet(page)
