"""The page about the inside of a cell as a reader has it: opened from disk, zoomed, moved, and arms taken away."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from longlook.core.model import Outcome, Run
from longlook.explain.inside import look_inside
from longlook.explain.ledger import LedgerClass
from longlook.explain.rounds import Round
from longlook.report.inside import InsideContent, write_inside
from tests.data.report import small_content
from tests.data.sides import ledger
from tests.data.traces import TCP_FLOW, traced
from tests.support.browser import Page, chromium

pytestmark = pytest.mark.browser

FIGURE = "document.querySelector('.timeline')"
PLOT = '[data-panel="throughput"] canvas'
GUTTER_PX, RIGHT_PX = 62, 10


def stretches(seconds: int) -> list[tuple[LedgerClass, float]]:
    """A handshake, then a window that is full half of the time."""
    turns = [(LedgerClass.LINK_USEFUL, 25.0), (LedgerClass.CONGESTION_WINDOW, 25.0)] * (seconds * 20 - 1)
    return [(LedgerClass.HANDSHAKE, 50.0), *turns]


def content(name: str = "tcp") -> InsideContent:
    report = small_content({("10Mbit",): {"tcp": [0.5] * 3, "quic": [0.4] * 3}})
    times = {seconds: ledger(stretches(seconds), start_ms=5.0) for seconds in (3, 4)}
    arms = {
        name: look_inside(*traced(4.0, flow=TCP_FLOW, beta=0.7), ledger=times[4]),
        "quic": look_inside(*traced(3.0, beta=0.8, seed=2), ledger=times[3]),
    }
    run = Run("0123456789abcdef", Outcome.OK, None, None, 1, "virtual", 0, 0.2, 4.0, 0.1, {}, {}, {}, {}, {})
    chosen = Round(1, 3, report.study.contrasts[0], 20.0)
    return InsideContent(report, "10Mbit", {"rate": "10Mbit"}, chosen, arms, dict.fromkeys(arms, run))


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_inside(tmp_path_factory.mktemp("run") / "report", content())


@pytest.fixture(scope="module")
def tab() -> Iterator[Page]:
    with chromium() as tab:
        yield tab


@pytest.fixture
def page(tab: Page, report: Path) -> Page:
    tab.resize(1280, 1000)
    tab.call("Page.navigate", url="about:blank")
    tab.open(report.as_uri())
    return tab


def assert_quiet(page: Page) -> None:
    assert page.problems == []
    assert [url for url in page.requests if not url.startswith(("file:", "data:", "blob:", "about:"))] == []


def span(page: Page) -> tuple[float, float]:
    found = page.evaluate(f"[{FIGURE}.dataset.from, {FIGURE}.dataset.to]")
    return float(found[0]), float(found[1])


def ink(page: Page, panel: str) -> int:
    """How many pixels of a panel are painted."""
    copied = """((c) => {
      const copy = new OffscreenCanvas(c.width, c.height).getContext('2d', {willReadFrequently: true});
      copy.drawImage(c, 0, 0);
      return copy.getImageData(0, 0, c.width, c.height).data.filter((v, i) => i % 4 === 3 && v).length;
    })"""
    return int(page.evaluate(f"{copied}(document.querySelector('[data-panel={panel}] canvas'))"))


def drag(page: Page, start: float, end: float, modifiers: int = 0) -> None:
    """Drag over the plot from one share of its width to another."""
    middle, y = page.hover(PLOT)
    box = page.evaluate(f"(({{x, width}}) => [x, width])(document.querySelector('{PLOT}').getBoundingClientRect())")
    places = [box[0] + GUTTER_PX + share * (box[1] - GUTTER_PX - RIGHT_PX) for share in (start, (start + end) / 2, end)]
    assert box[0] <= middle <= box[0] + box[1]
    kinds = ("mousePressed", "mouseMoved", "mouseMoved", "mouseReleased")
    for kind, x in zip(kinds, [places[0], *places[1:], places[2]], strict=True):
        page.call(
            "Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", buttons=1, clickCount=1, modifiers=modifiers
        )


def test_all_panels_are_drawn_for_all_arms(page: Page, tmp_path: Path) -> None:
    for panel in ("window", "flight", "rtt", "throughput", "bytes", "queue"):
        assert ink(page, panel) > 2_000, panel
    assert page.evaluate("document.querySelectorAll('.tracks').length") == 2
    text = page.evaluate("document.body.innerText")
    assert "Round 2: its effect of +20" in text
    assert "is the median of 3 rounds" in text
    page.screenshot(tmp_path / "inside.png")
    assert (tmp_path / "inside.png").stat().st_size > 50_000
    assert_quiet(page)


def test_dragging_zooms_every_panel_and_a_double_click_shows_all(page: Page) -> None:
    whole = span(page)
    before = page.evaluate(f"document.querySelector('{PLOT}').toDataURL()")
    drag(page, 0.25, 0.5)
    page.wait_for(f"Number({FIGURE}.dataset.from) > 0")
    start, end = span(page)
    assert start == pytest.approx(0.25 * whole[1], abs=0.02)
    assert end == pytest.approx(0.5 * whole[1], abs=0.02)
    assert page.evaluate(f"document.querySelector('{PLOT}').toDataURL()") != before
    page.wait_for("location.hash.startsWith('#t=')")
    x, y = page.hover(PLOT)
    for clicks in (1, 2):
        for kind in ("mousePressed", "mouseReleased"):
            page.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=clicks)
    page.wait_for(f"Number({FIGURE}.dataset.from) === 0")
    assert span(page) == whole
    assert_quiet(page)


def test_keys_zoom_and_move(page: Page) -> None:
    whole = span(page)
    page.evaluate(f"{FIGURE}.focus()")
    for key, holds in (
        ("+", lambda: span(page)[1] - span(page)[0] < 0.6 * whole[1]),
        ("ArrowRight", lambda: span(page)[0] > 0.3 * whole[1]),
        ("0", lambda: span(page) == whole),
    ):
        page.call("Input.dispatchKeyEvent", type="keyDown", key=key)
        page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
        assert holds(), key
    assert_quiet(page)


def test_the_cursor_reads_values_and_states(page: Page) -> None:
    page.hover(PLOT)
    page.wait_for("!document.querySelector('.cursor').hidden")
    shown = page.evaluate(
        "[...document.querySelectorAll('[data-panel=window] [data-read] b')].map((b) => b.textContent)"
    )
    assert all("KB" in text for text in shown)
    states = page.evaluate("[...document.querySelectorAll('.tracks .now')].map((b) => b.textContent)")
    assert all(text.endswith(("(logged)", "(derived)")) for text in states)
    assert all(text.startswith(("link useful · ", "congestion window · ")) for text in states)
    legend = page.evaluate("document.querySelector('.legend-states').innerText")
    assert [name for name in ("handshake", "congestion window", "link useful", "pacing") if name in legend] == [
        "handshake", "congestion window", "link useful",
    ]  # fmt: skip
    assert_quiet(page)


def test_an_arm_can_be_taken_away(page: Page) -> None:
    before = ink(page, "window")
    page.click("[data-toggle=quic]")
    page.wait_for("document.querySelector('.tracks[data-arm=quic]').hidden")
    assert ink(page, "window") < before
    assert_quiet(page)


def test_a_narrow_page_never_scrolls_sideways(page: Page, tmp_path: Path) -> None:
    page.resize(400, 900)
    page.evaluate("new Promise((done) => setTimeout(done, 100))")
    assert page.evaluate("document.documentElement.scrollWidth") <= 400
    assert ink(page, "window") > 1_000
    page.screenshot(tmp_path / "narrow.png")
    assert_quiet(page)


def test_names_from_outside_harm_nothing(tab: Page, tmp_path: Path) -> None:
    hostile = "</script><script>window.harmed = true</script>\"'"
    tab.open(write_inside(tmp_path / "report", content(hostile)).as_uri())
    assert tab.evaluate("window.harmed") is None
    assert tab.evaluate("document.querySelectorAll('.tracks').length") == 2
    assert_quiet(tab)
