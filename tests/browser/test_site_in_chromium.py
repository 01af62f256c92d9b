"""The atlas' site as a reader has it: from disk, without network, on a telephone, at night, and without scripts."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from longlook.engines.fake import FakeEngine
from longlook.instruments.atlas.run import AtlasFolder
from longlook.instruments.atlas.runs import AtlasOptions
from longlook.instruments.atlas.site.build import site_content
from longlook.instruments.atlas.site.model import AtlasSite, SiteOptions
from longlook.instruments.atlas.site.write import replace_site
from longlook.study.files import find_study
from tests.data.atlas import made_up_run
from tests.support.browser import Page, chromium

from .test_report_in_chromium import assert_quiet

pytestmark = pytest.mark.browser

HOSTILE = "</script><script>window.harmed = true</script><b>&\"'"
FOUND = "[...document.querySelectorAll('[data-address]:not([hidden])')].map((each) => each.dataset.address)"
WIDE = "[...document.querySelectorAll('.scroller')].filter((each) => each.scrollWidth > each.clientWidth + 1).length"
PAGES = (
    "index.html",
    "papers/kakhki2017.html",
    "studies/kakhki2017-fig10.html",
    "disputes/reordering.html",
    "about.html",
)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("atlas")
    for name in ("kakhki2017-fig10", "kakhki2017-tab4"):
        made_up_run(out / "runs" / name, replace(find_study(name), question=HOSTILE))
    atlas, found = AtlasFolder(AtlasOptions(out, FakeEngine)).content()
    options = SiteOptions(out / "site", contact=HOSTILE)
    replace_site(options.out, site_content(AtlasSite(atlas, found, (), options)))
    return options.out


@pytest.fixture
def page() -> Iterator[Page]:
    with chromium() as tab:
        yield tab


def go(page: Page, address: str) -> None:
    """Go to a page that has no script to say that it is ready."""
    for domain in ("Page", "Runtime", "Log", "Network"):
        page.call(f"{domain}.enable")
    page.call("Page.navigate", url=address)
    page.wait_for(f"location.href === {address!r} && document.readyState === 'complete'")


def test_the_search_finds_whole_words(page: Page, site: Path) -> None:
    address = (site / "a-z.html").as_uri()
    page.open(f"{address}?q=10+Mbit%2Fs")
    rates = set(page.evaluate(FOUND))
    page.open(f"{address}?q=10+MB")
    sizes = set(page.evaluate(FOUND))
    assert "studies/kakhki2017-fig6b.html" in rates - sizes  # 10 Mbit/s, and no object of 10 MB
    assert {"studies/kakhki2017-fig6a.html", "studies/kakhki2017-fig10.html"} <= rates & sizes
    page.open(f"{address}?q=10MB")
    assert set(page.evaluate(FOUND)) == sizes
    page.open(f"{address}?q=10MB+threshold+reordering")
    assert "studies/kakhki2017-fig10.html" in page.evaluate(FOUND)
    page.evaluate(
        "(() => { const box = document.querySelector('.search [name=q]'); box.value = 'nosuchword';"
        " box.dispatchEvent(new Event('input')); })()"
    )
    assert page.evaluate(FOUND) == []
    assert page.evaluate("document.querySelector('.search output').textContent").startswith("0 of ")
    assert page.evaluate("location.search") == "?q=nosuchword"
    assert_quiet(page)


def test_the_search_box_of_every_page_leads_there(page: Page, site: Path) -> None:
    go(page, (site / "studies" / "kakhki2017-fig10.html").as_uri())
    page.evaluate("document.querySelector('.search [name=q]').value = '10 MB'")
    page.evaluate("document.querySelector('.search').submit()")
    page.wait_for("document.documentElement?.dataset.ready === 'true'")
    assert "studies/kakhki2017-fig6a.html" in page.evaluate(FOUND)
    assert_quiet(page)


@pytest.mark.parametrize("width", [390, 1280])
def test_nothing_scrolls_sideways(page: Page, site: Path, width: int) -> None:
    page.resize(width, 900)
    for path in PAGES:
        go(page, (site / path).as_uri())
        page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
        assert page.evaluate("document.documentElement.scrollWidth") <= width, path
        assert page.evaluate(WIDE) == 0, path
    assert page.evaluate("window.harmed") is None
    assert_quiet(page)


def test_pages_follow_the_choice_of_a_dark_look(page: Page, site: Path) -> None:
    ground = "getComputedStyle(document.body).backgroundColor"
    go(page, (site / "index.html").as_uri())
    assert page.evaluate(ground) == "rgb(255, 255, 255)"
    page.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark"}])
    assert page.evaluate(ground) == "rgb(25, 24, 23)"


def test_pages_are_whole_without_scripts(page: Page, site: Path) -> None:
    page.call("Emulation.setScriptExecutionDisabled", value=True)
    go(page, (site / "a-z.html").as_uri())
    assert page.evaluate(f"{FOUND}.length") > 100
    go(page, f"{(site / 'studies' / 'kakhki2017-fig10.html').as_uri()}#c1-1")
    assert page.evaluate("document.querySelector(':target th').textContent").strip()
