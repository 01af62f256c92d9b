"""The atlas as a reader has it: opened from disk in Chromium without network, searched, and looked at."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from longlook.engines.fake import FakeEngine
from longlook.instruments.atlas.run import AtlasFolder
from longlook.instruments.atlas.runs import AtlasOptions
from longlook.study.files import find_study
from tests.data.atlas import made_up_run
from tests.support.browser import Page, chromium

from .test_report_in_chromium import assert_quiet

pytestmark = pytest.mark.browser

STUDIES = "[...document.querySelectorAll('article.study')].filter((study) => !study.hidden).map((study) => study.id)"
OUTPUT = "document.querySelector('.finder output').textContent"
HOSTILE = "</script><script>window.harmed = true</script><b>&\"'"


@pytest.fixture(scope="module")
def atlas(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("atlas")
    for name in ("kakhki2017-fig10", "kakhki2017-tab4"):
        made_up_run(out / "runs" / name, replace(find_study(name), question=HOSTILE))
    return AtlasFolder(AtlasOptions(out, FakeEngine)).build().page


@pytest.fixture
def page() -> Iterator[Page]:
    with chromium() as tab:
        yield tab


def search(page: Page, words: str) -> None:
    page.evaluate(
        f"(() => {{ const box = document.querySelector('.finder [name=q]'); box.value = {words!r};"
        " box.dispatchEvent(new Event('input', {bubbles: true})); })()"
    )


def test_words_and_results_choose_studies_and_stay_in_the_address(page: Page, atlas: Path) -> None:
    page.open(atlas.as_uri())
    every = page.evaluate(f"{STUDIES}.length")
    assert every > 40
    search(page, "threshold 10MB 50mbit")
    page.wait_for("document.querySelectorAll('#kakhki2017-fig10 tr[data-result]:not([hidden])').length === 6")
    shown = page.evaluate("document.querySelectorAll('.study tr[data-result]:not([hidden])').length")
    studies = page.evaluate(STUDIES)
    assert "kakhki2017-fig10" in studies
    assert len(studies) < every
    assert page.evaluate(OUTPUT).startswith(f"{shown} claims in {len(studies)} stud")
    assert page.evaluate("document.querySelectorAll('#kakhki2017-fig10 .grid .faded').length") > 0
    address = page.evaluate("location.hash")
    assert address == "#q=threshold%2010MB%2050mbit"
    page.open(f"{atlas.as_uri()}#q=langley2017&result=not%20run")
    page.wait_for(f"{STUDIES}.length > 2 && {STUDIES}.every((name) => name.startsWith('langley2017'))")
    search(page, "")
    page.click(".finder label:has([value='not run'])")
    page.wait_for(f"{STUDIES}.length === {every} && {OUTPUT} === ''")
    assert_quiet(page)


def test_an_address_leads_to_its_study_though_heights_are_guessed(page: Page, atlas: Path) -> None:
    page.open(f"{atlas.as_uri()}#kakhki2017-tab4")
    place = "document.getElementById('kakhki2017-tab4').getBoundingClientRect().top"
    page.wait_for(f"Math.abs({place}) < 120")
    page.evaluate("location.hash = '#dispute-reordering'")
    page.wait_for("Math.abs(document.getElementById('dispute-reordering').getBoundingClientRect().top) < 120")
    assert page.evaluate("window.harmed") is None
    assert_quiet(page)


@pytest.mark.parametrize("width", [400, 1280])
def test_the_page_never_scrolls_sideways(page: Page, atlas: Path, width: int) -> None:
    page.resize(width, 900)
    page.open(atlas.as_uri())
    page.evaluate(
        "document.querySelectorAll('.entry').forEach((each) => { each.style.contentVisibility = 'visible'; })"
    )
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert_quiet(page)
