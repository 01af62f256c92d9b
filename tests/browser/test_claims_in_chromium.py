"""The claims page as a reader has it: opened from disk in Chromium without network, filtered, and looked at."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from longlook.instruments.atlas.claims.run import survey_runs
from tests.data.claims import paper_run, write_run
from tests.data.report import paper_content
from tests.support.browser import Page, chromium

from .test_report_in_chromium import assert_quiet

pytestmark = pytest.mark.browser

SHOWN = "[...document.querySelectorAll('[data-result]')].filter((row) => !row.hidden)"
NOT_RUN_FOLDS = "document.querySelectorAll('#not-run details[open]').length"


@pytest.fixture(scope="module")
def claims(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("claims")
    runs = [
        paper_run(root / "sizes", "kakhki2017-fig6a"),
        paper_run(root / "counts", "kakhki2017-fig6b", ["rate=50Mbit"], report=False),
    ]
    return survey_runs(runs, root / "page")[1]


@pytest.fixture
def page() -> Iterator[Page]:
    with chromium() as tab:
        yield tab


def test_every_claim_is_there_and_the_charts_are_drawn(page: Page, claims: Path) -> None:
    page.open(claims.as_uri())
    rows = page.evaluate("document.querySelectorAll('[data-result]').length")
    assert page.evaluate(f"{SHOWN}.length") == rows > 150
    assert page.evaluate("document.querySelector('.filter output').innerText") == f"all {rows} claims"
    charts = page.evaluate("document.querySelectorAll('.dispute [data-chart]').length")
    assert page.evaluate("document.querySelectorAll('.dispute [data-chart] svg.marks').length") == charts >= 8
    text = page.evaluate("document.getElementById('dispute-many-small-objects').innerText")
    assert "5 controls decide nothing" in text
    assert "control, decides nothing: as all positions predict" in text
    assert "longlook run kakhki2017-fig6b" in text
    assert_quiet(page)


def test_claims_are_filtered_by_result_and_study(page: Page, claims: Path) -> None:
    page.open(claims.as_uri())
    page.click(".filter label:has([value='not run'])")
    page.wait_for(f"{SHOWN}.every((row) => row.dataset.result === 'not run') && {SHOWN}.length >= 12")
    assert page.evaluate("location.hash") == "#result=not%20run"
    page.click(".filter label:has([value='same size'])")
    page.wait_for(f"{SHOWN}.some((row) => row.dataset.result === 'same size')")
    page.evaluate(
        "(() => { const choice = document.querySelector('.filter select'); choice.value = 'kakhki2017-fig6a';"
        " choice.dispatchEvent(new Event('change', {bubbles: true})); })()"
    )
    page.wait_for(f"{SHOWN}.every((row) => row.dataset.study === 'kakhki2017-fig6a')")
    assert page.evaluate("[...document.querySelectorAll('.of-study')].filter((study) => !study.hidden).length") == 1
    assert_quiet(page)


def test_numbers_of_the_summary_lead_to_their_claims(page: Page, claims: Path) -> None:
    page.open(claims.as_uri())
    number = int(page.evaluate("document.querySelector('.summary tbody a[href*=\"same%20size\"]').innerText"))
    page.click(".summary tbody a[href*='same%20size']")
    page.wait_for(f"{SHOWN}.length === {number}")
    assert page.evaluate("document.querySelector('.filter select').value") == "kakhki2017-fig6a"
    page.open(f"{claims.as_uri()}#result=not%20run&study=kakhki2017-fig8a")
    page.wait_for(f"{SHOWN}.length === 21 && {NOT_RUN_FOLDS} === 1")
    page.wait_for("Math.abs(document.getElementById('claims').getBoundingClientRect().top) < 100")
    assert_quiet(page)


def test_a_claim_leads_to_its_cell_in_the_runs_report(page: Page, claims: Path) -> None:
    page.open(claims.as_uri())
    statement = page.evaluate("document.querySelector('tr:has(.where a) th').innerText")
    link = page.evaluate("document.querySelector('.where a').href")
    page.open(link)
    cell = page.evaluate("document.querySelector('.cell.is-selected h3').innerText").split()
    assert all(level in statement for level in cell)


@pytest.mark.parametrize("width", [400, 1280])
def test_the_page_never_scrolls_sideways(page: Page, claims: Path, width: int, tmp_path: Path) -> None:
    page.resize(width, 900)
    page.open(claims.as_uri())
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.screenshot(tmp_path / f"claims-{width}.png")
    assert (tmp_path / f"claims-{width}.png").stat().st_size > 50_000
    assert_quiet(page)


def test_hostile_text_harms_nothing(page: Page, tmp_path: Path) -> None:
    hostile = "</script><script>window.harmed = true</script><b>&\"'"
    content = paper_content("kakhki2017-fig6a", ["rate=50Mbit"])
    claims = [replace(item, reason=hostile, claim=replace(item.claim, source=hostile)) for item in content.claims]
    study = replace(content.study, title=hostile, question=hostile * 3, arms=content.study.arms)
    run = write_run(tmp_path / "run", replace(content, study=study, claims=claims), ["rate=50Mbit"], report=False)
    page.open(survey_runs([run], tmp_path / "page")[1].as_uri())
    assert page.evaluate("window.harmed") is None
    assert_quiet(page)
